import itertools
import json
import multiprocessing
import shutil
import sys
import traceback

import pytest

from dglkgmix.errors import CheckpointError, ConfigError, DependencyError, StorageError
from dglkgmix.experiments.recipes import read_recipe
from dglkgmix.experiments.space import parse_space
from dglkgmix.experiments.tune import RECORD, Goal, Search, claim, search, starting_point
from dglkgmix.runs.run import Run

SPACE = """
[settings]
model.decoder = "distmult"
runtime.threads = 1
training.epochs = 2
training.batch_size = 16
training.validate_every = 1
pretrain.enabled = true
pretrain.epochs = 1
pretrain.lr = 0.01
[space]
model.entity_dim = [4, 8]
training.lr = { low = 1e-3, high = 1e-1, log = true }
"""


def plan_of(out, source, text=SPACE, goal=None, **options):
    space = parse_space(text)
    return Search(
        starting_point(space, {"data.source": str(source)}), space, goal or Goal(), out, **options
    )


@pytest.fixture(scope="module")
def searched(data, tmp_path_factory):
    plan = plan_of(tmp_path_factory.mktemp("search"), data, sampler_seed=0)
    said = []
    return plan, search(plan, 4, said.append), said


def values(plan, numbers):
    runs = [Run.open(plan.run_folder(number)) for number in numbers]
    return [run.metrics["selection"]["value"] for run in runs]


def test_the_best_trial_is_the_one_with_the_best_validation(searched):
    plan, found, said = searched
    assert found["trials"] == 4
    mrr = values(plan, range(4))
    assert found["best"]["value"] == pytest.approx(max(mrr), rel=1e-12)
    assert mrr[found["best"]["number"]] == max(mrr)
    assert len(said) == 4
    assert said[0].startswith(f"trial 0: {mrr[0]:.4f} with model.entity_dim = ")


def test_the_best_settings_are_a_recipe(searched, data):
    plan, found, _ = searched
    recipe = read_recipe(found["recipe"])
    number = found["best"]["number"]
    run = Run.open(plan.run_folder(number))
    assert recipe.config.training.lr == run.config.training.lr
    assert recipe.config.model.entity_dim == run.config.model.entity_dim
    assert recipe.config.data.source == str(data)
    assert recipe.expected == run.metrics["test"]["overall"]["mrr"]
    assert recipe.expected_from == "measured"
    assert recipe.config.pretrain.run == ""


def test_trials_with_the_same_first_stage_share_it(searched):
    plan, _, _ = searched
    dims = {Run.open(path).config.model.entity_dim for path in (plan.out / "trials").iterdir()}
    firsts = [path for path in (plan.out / "pretrained").iterdir() if path.is_dir()]
    assert len(firsts) == len(dims) < 4


def test_a_search_goes_on_where_it_stopped(searched):
    plan, found, _ = searched
    said = []
    assert search(plan, 4, said.append) == found
    assert said == []
    assert search(plan, 5, said.append)["trials"] == 5
    assert len(said) == 1


def study_of(plan):
    import optuna

    storage = f"sqlite:///{plan.out / 'study.db'}"
    return optuna.load_study(study_name=plan.study_name, storage=storage)


def drawn(plan):
    return [trial.params for trial in study_of(plan).trials if trial.state.name == "COMPLETE"]


@pytest.fixture(scope="module")
def fourteen(data, tmp_path_factory):
    """What a search draws that nobody disturbs; the first ten draws are Optuna's at random."""
    with pytest.MonkeyPatch.context() as patch:
        train_nothing(patch)
        plan = plan_of(tmp_path_factory.mktemp("whole"), data, RANGE, sampler_seed=0)
        search(plan, 14)
        return drawn(plan)


RANGE = """
[settings]
model.decoder = "distmult"
[space]
training.lr = { low = 1e-3, high = 1e-1, log = true }
"""


def train_nothing(patch, interrupted=()):
    """A trial's value follows from its learning rate; Ctrl-C comes in the calls given."""
    calls, accounts = itertools.count(), {}

    def train(kg, config, path, **options):
        if next(calls) in interrupted:
            raise KeyboardInterrupt
        mrr = 1 - abs(config.training.lr - 0.02)
        accounts[path] = {"overall": {"mrr": mrr}, "bins": {"low": {"mrr": mrr}}}

    patch.setattr("dglkgmix.experiments.tune.launch.train", train)
    patch.setattr("dglkgmix.experiments.tune._steering_account", lambda path, kg: accounts[path])


@pytest.mark.parametrize("cuts", [(3,), (1, 2, 5, 11, 13)])
def test_a_search_in_parts_draws_what_one_search_draws(fourteen, data, tmp_path, monkeypatch, cuts):
    train_nothing(monkeypatch)
    for trials in (*cuts, 14):
        plan = plan_of(tmp_path, data, RANGE, sampler_seed=0)
        assert search(plan, trials)["trials"] == trials
    assert drawn(plan) == fourteen
    assert len({params["training.lr"] for params in fourteen}) == 14


def test_interrupted_trials_do_not_count(fourteen, data, tmp_path, monkeypatch):
    train_nothing(monkeypatch, interrupted=(0, 2))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            search(plan_of(tmp_path, data, RANGE, sampler_seed=0), 3)
    plan = plan_of(tmp_path, data, RANGE, sampler_seed=0)
    assert search(plan, 3)["trials"] == 3
    assert drawn(plan) == fourteen[:3]


def test_another_search_is_another_study_and_replaces_no_best_recipe_unasked(searched, data):
    plan, _, _ = searched
    best = (plan.out / "best.toml").read_bytes()
    others = {
        "the objective was 'mrr' and is 'low' now": plan_of(plan.out, data, goal=Goal("low")),
    }
    for message, old, new in (
        ("[space] model.entity_dim was [4, 8] and is [4] now", "[4, 8]", "[4]"),
        ("training.epochs was 2 and is 3 now", "epochs = 2", "epochs = 3"),
        ("runtime.seed was left out and is 7 now", "runtime.threads = 1", "runtime.seed = 7"),
    ):
        others[message] = plan_of(plan.out, data, SPACE.replace(old, new))
    for message, other in others.items():
        with pytest.raises(CheckpointError, match="--overwrite") as caught:
            search(other, 1)
        assert f"{plan.out}: holds another search: {message}" in str(caught.value)
    assert (plan.out / "best.toml").read_bytes() == best
    assert len({other.study_name for other in (plan, *others.values())}) == 5
    one_device = SPACE.replace("runtime.threads = 1", 'runtime.device = "cpu"')
    assert plan_of(plan.out, data, one_device).study_name == plan.study_name


def test_another_search_may_take_the_folder_over_on_request(data, tmp_path):
    one, two = (plan_of(tmp_path, data, SPACE, goal) for goal in (Goal(), Goal("low")))
    search(one, 1)
    assert search(two, 1, overwrite=True)["study"] == two.study_name
    assert two.study_name in (tmp_path / "best.toml").read_text()
    assert one.run_folder(0).exists()
    with pytest.raises(CheckpointError, match="the objective was 'low' and is 'mrr' now"):
        search(one, 1)


def test_a_failing_trial_is_told_and_the_rest_goes_on(data, tmp_path):
    text = SPACE.replace("{ low = 1e-3, high = 1e-1, log = true }", "[1e30]")
    said = []
    found = search(plan_of(tmp_path, data, text), 2, said.append)
    assert (found["trials"], found["best"], found["recipe"]) == (2, None, None)
    assert found["error"]
    assert all("FAILED" in line and "loss is" in line for line in said)
    assert not (tmp_path / "best.toml").exists()


def test_a_trial_that_runs_out_of_memory_is_told(data, tmp_path, monkeypatch):
    def train(*arguments, **options):
        raise RuntimeError("can't allocate memory")

    monkeypatch.setattr("dglkgmix.experiments.tune.launch.train", train)
    said = []
    text = SPACE.replace("pretrain.enabled = true", "pretrain.enabled = false")
    assert search(plan_of(tmp_path, data, text), 1, said.append)["best"] is None
    assert said[0].endswith(": RuntimeError: can't allocate memory")


def test_a_hopeless_trial_is_pruned(data, tmp_path, monkeypatch):
    import optuna

    monkeypatch.setattr(optuna.trial.Trial, "should_prune", lambda trial: trial.number == 1)
    said = []
    plan = plan_of(tmp_path, data)
    search(plan, 2, said.append)
    assert "pruned" in said[1]
    assert not Run.open(plan.run_folder(1)).finished
    first, second = study_of(plan).trials
    history = Run.open(plan.run_folder(0)).history
    reported = {row["epoch"]: row["valid_mrr"] for row in history}
    assert first.intermediate_values == pytest.approx(reported)
    assert list(second.intermediate_values) == [1]


@pytest.mark.parametrize("goal", [Goal("low"), Goal("mix", 0.25)])
def test_no_trial_is_judged_early_by_another_figure_than_the_goal(
    data, tmp_path, monkeypatch, goal
):
    """Epochs are validated by the MRR of all, which may fall where the low bin's rises."""
    import optuna

    monkeypatch.setattr(optuna.trial.Trial, "should_prune", lambda trial: True)
    plan = plan_of(tmp_path, data, goal=goal)
    said = []
    assert search(plan, 2, said.append)["best"] is not None
    assert not any("pruned" in line for line in said)
    assert [trial.intermediate_values for trial in study_of(plan).trials] == [{}, {}]


@pytest.mark.parametrize("goal", [Goal(), Goal("low")])
def test_test_triples_do_not_steer_a_search(data, tmp_path, goal):
    """A test triple that shares its query with a validation triple is a rival like any other."""
    found = []
    valid = [line.split("\t") for line in (data / "valid.txt").read_text().splitlines()]
    for tails in ("e1", "e2", "e3"), ("e4", "e5", "e6"):
        source = tmp_path / tails[0]
        shutil.copytree(data, source)
        rows = [f"{h}\t{r}\t{tail}\n" for (h, r, _) in valid for tail in tails]
        (source / "test.txt").write_text("".join(rows))
        plan = plan_of(tmp_path / f"{tails[0]}-search", source, goal=goal, sampler_seed=0)
        found.append(search(plan, 2)["best"]["value"])
    assert found[0] == found[1]


def test_goals():
    valid = {"overall": {"mrr": 0.4}, "bins": {"low": {"mrr": 0.1}}}
    assert Goal().value(valid) == 0.4
    assert Goal("low").value(valid) == 0.1
    assert Goal("mix", 0.25).value(valid) == pytest.approx(0.75 * 0.4 + 0.25 * 0.1)
    with pytest.raises(ConfigError, match="weight must lie in"):
        Goal("mix", 1.5)


@pytest.mark.parametrize(
    ("valid", "goal", "message"),
    [
        ("", Goal(), "no validation triples"),
        ("c\tr\tb\n", Goal("low"), "no validation query falls into the low bin"),
        ("c\tr\tb\n", Goal("mix"), "no validation query falls into the low bin"),
    ],
)
def test_data_without_the_triples_to_choose_by_are_refused_at_once(tmp_path, valid, goal, message):
    folder = tmp_path / "data"
    folder.mkdir()
    # b is the tail of ten triples, and c, the head that is asked for, of none.
    train = "".join(f"a{number}\tr\tb\n" for number in range(10)) + "c\ts\ta0\n"
    (folder / "train.txt").write_text(train)
    if valid:
        (folder / "valid.txt").write_text(valid)
    with pytest.raises(ConfigError, match=message):
        search(plan_of(tmp_path / "out", folder, goal=goal), 1)
    assert not (tmp_path / "out").exists()


def test_overrides_of_all_trials_are_checked(data):
    space, given = parse_space(SPACE), {"data.source": str(data), "data.header": True}
    assert starting_point(space, given, None, ["training.epochs=7"]).training.epochs == 7
    with pytest.raises(ConfigError, match=r"--set training\.lr: it is searched over"):
        starting_point(space, given, None, ["training.lr = 0.1"])
    with pytest.raises(ConfigError, match=r"data\.source is given twice, as .* and as 'world'"):
        starting_point(space, given, None, ["data.source=world"])
    with pytest.raises(ConfigError, match="batch_size must be 1 or more"):
        starting_point(space, given, None, ["training.batch_size=0"])


def test_a_storage_that_cannot_be_opened_is_named(data, tmp_path):
    plan = plan_of(tmp_path, data, storage="sqlite:////nowhere/at/all.db")
    with pytest.raises(StorageError, match=r"nowhere/at/all\.db: the study cannot be opened"):
        search(plan, 1)


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        ("nonsense://u:s3cret@host/db", "nonsense://u:***@host/db"),
        ("nonsense://host/db?password=s3cret", "nonsense://host/db?password=***"),
    ],
)
def test_no_password_is_shown_where_a_storage_fails(data, tmp_path, storage, shown):
    with pytest.raises(StorageError) as caught:
        search(plan_of(tmp_path, data, storage=storage), 1)
    trace = "".join(traceback.format_exception(caught.value))
    assert shown in trace
    assert "s3cret" not in trace


def test_no_password_is_shown_of_a_storage_that_works(data, tmp_path, monkeypatch):
    import optuna

    train_nothing(monkeypatch)
    storage = f"sqlite:///{tmp_path / 'study.db'}?timeout=9&password=s3cret"
    monkeypatch.setattr(
        "optuna.create_study",
        lambda real=optuna.create_study, **options: real(**options | {"storage": None}),
    )
    found = search(plan_of(tmp_path, data, RANGE, storage=storage), 1)
    assert found["storage"] == storage.replace("s3cret", "***")


def test_without_optuna_the_extra_is_named(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(DependencyError, match=r"pip install 'dglkgmix\[tune\]'"):
        search(plan_of(tmp_path, data), 1)


def test_what_differs_is_told_and_a_long_list_cut(tmp_path):
    claim(tmp_path, {"goal": "mrr", "old": "1"})
    with pytest.raises(CheckpointError) as caught:
        claim(tmp_path, {"goal": "low"})
    expected = "goal was mrr and is low now; old was 1 and is left out now. Choose another folder"
    assert expected in str(caught.value)
    with pytest.raises(CheckpointError, match=r"; and 2 more\. Choose"):
        claim(tmp_path, {"goal": "low", **dict.fromkeys("abc", "2")})
    assert json.loads((tmp_path / RECORD).read_text()) == {"goal": "mrr", "old": "1"}


@pytest.mark.parametrize("damage", ["{", "[]"])
def test_a_damaged_record_is_refused_and_may_be_replaced(tmp_path, damage):
    (tmp_path / RECORD).write_text(damage)
    with pytest.raises(CheckpointError, match=r"search\.json: damaged"):
        claim(tmp_path, {"goal": "mrr"})
    claim(tmp_path, {"goal": "mrr"}, overwrite=True)
    assert json.loads((tmp_path / RECORD).read_text()) == {"goal": "mrr"}


def test_a_result_of_nobody_knows_what_is_not_replaced(tmp_path):
    (tmp_path / "best.toml").touch()
    with pytest.raises(CheckpointError, match="exists, and of no known search"):
        claim(tmp_path, {})
    assert not (tmp_path / RECORD).exists()


def test_a_folder_of_something_else_is_not_taken(tmp_path):
    (tmp_path / "train.tsv").touch()
    (tmp_path / ".storage.lock").touch()
    for overwrite in (False, True):
        with pytest.raises(CheckpointError, match=r"not empty \(it holds 'train.tsv'\)"):
            claim(tmp_path, {}, overwrite=overwrite)
    assert not (tmp_path / RECORD).exists()


WORLD = """
[settings]
model.decoder = "distmult"
runtime.threads = 1
training.epochs = 4
training.validate_every = 1
[space]
model.entity_dim = [8, 16]
training.lr = { low = 1e-3, high = 1e-1, log = true }
strategy.name = ["standard", "mixup", "oversample"]
"""


def _search_world(out):
    search(plan_of(out, "world", WORLD), 10)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_ten_trials_on_world_by_two_processes_on_one_file(tmp_path):

    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_search_world, args=(tmp_path,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    study = study_of(plan_of(tmp_path, "world", WORLD))
    states = [trial.state.name for trial in study.trials]
    assert 10 <= len(states) <= 11
    assert set(states) <= {"COMPLETE", "PRUNED"}
    begun = [(trial.datetime_start, trial.datetime_complete) for trial in study.trials]
    assert any(a[0] < b[0] < a[1] for a in begun for b in begun), "the processes took turns"
    recipe = read_recipe(str(tmp_path / "best.toml"))
    assert recipe.config.training.lr == study.best_params["training.lr"]
    assert recipe.config.data.source == "world"
