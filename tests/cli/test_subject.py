from dglkgmix.cli.subject import find_subject
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.runs.run import Run

NOTHING = dict.fromkeys(
    (
        *("ranks", "baseline", "data", "false_triples", "fit_false_triples", "block"),
        *("candidates", "types"),
        *("columns", "header", "delimiter", "format", "strip", "normalize"),
        *("shares", "split_seed", "split_mirrors"),
    )
) | {"split": "test"}


def test_a_run_brings_its_model_and_its_stored_scaling(run):
    subject = find_subject(run, NOTHING)
    assert subject.platt() == Run.open(run).calibration()
    assert subject.sigmoid_is_probability
    assert subject.table.table.equals(Run.open(run).rank_table().table)


def test_softmax_and_distances_make_no_probabilities(other, make_run):
    assert not find_subject(other, NOTHING).sigmoid_is_probability
    transe = make_run("transe", "model.decoder=transe")
    assert not find_subject(transe, NOTHING).sigmoid_is_probability


def test_a_baseline_fits_its_scaling_to_validation(ring_folder):
    options = NOTHING | {"baseline": "popularity", "data": str(ring_folder)}
    subject = find_subject(None, options)
    found = subject.calibration(DegreeBins())
    platt = subject.platt()
    assert (found["scale"], found["offset"]) == (platt.scale, platt.offset)
    assert subject.title == f"popularity on {ring_folder}"


def test_one_file_is_split_by_the_given_shares(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_text("".join(f"a{i % 5}\tr\tb{i // 5}\n" for i in range(20)))
    options = NOTHING | {
        "baseline": "popularity",
        "data": str(path),
        "shares": (0.5, 0.25, 0.25),
        "split_seed": 1,
    }
    kg = find_subject(None, options).kg
    assert [len(kg.split(name)) for name in ("train", "valid", "test")] == [10, 5, 5]
