import pytest

from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.report import sections
from dglkgmix.report.blocks import Code, Fold, Picture, Queries, Row, Text
from dglkgmix.report.subject import popularity_table, read_subjects
from dglkgmix.report.tables import Table

BINS = DegreeBins()


@pytest.fixture(scope="module")
def subjects(run, other_run):
    return read_subjects([run, other_run], "test", BINS)


def flat(blocks):
    for block in blocks:
        yield block
        if isinstance(block, Row | Fold):
            yield from flat(block.blocks)


def of(section, kind):
    return [block for block in flat(section.blocks) if isinstance(block, kind)]


def test_the_data_with_its_bias(subjects):
    section = sections.data_section(subjects[0], BINS)
    assert len(of(section, Picture)) == 1
    assert len(of(section, Table)) == 2
    kg = subjects[0].run.kg
    below = int((kg.degrees.edge_tail_relation < 5).sum())
    note = of(section, Table)[1].note
    assert note.startswith(f"{below:,} of {kg.num_edges:,} training triples")


def test_results_show_each_run_and_the_yardstick(subjects):
    yardstick = popularity_table(subjects[0].run.kg, "test", 2**20)
    section = sections.results_section(subjects, BINS, yardstick, "test")
    tables = of(section, Table)
    assert [len(t.rows) for t in tables] == [3, 3, 2]
    assert "test split" in section.title


def test_the_candidates_of_ranks_are_told(subjects):
    run = subjects[0].run.among("observed")
    found = read_subjects([run], "test", BINS)
    yardstick = popularity_table(run.kg, "test", 2**20, run.candidates)
    assert yardstick["missed"].tolist() == found[0].table["missed"].tolist()
    section = sections.results_section(found, BINS, yardstick, "test")
    missed = int((found[0].table["tail_relation"] == 0).sum())
    assert f"observed; {missed} answers" in of(section, Table)[0].note


@pytest.mark.parametrize(
    ("show", "pictures", "queries"),
    [
        (sections.degree_section, 3, 0),
        (lambda subjects: sections.examples_section(subjects, BINS), 0, 1),
        (lambda subjects: sections.map_section(subjects, "pca"), 1, 0),
    ],
)
def test_the_best_run_is_open_and_others_are_folded_away(subjects, show, pictures, queries):
    worst, best = sorted(subjects, key=lambda s: s.account["overall"]["mrr"])
    section, alone = show([worst, best]), show([best])
    assert best.name in section.title
    assert [fold.title for fold in of(section, Fold)] == [f"The same for {worst.name}"]
    for found, runs in ((section, 2), (alone, 1)):
        assert (len(of(found, Picture)), len(of(found, Queries))) == (
            runs * pictures,
            runs * queries,
        )
    assert not of(alone, Fold)


def test_ranked_answers_come_first_then_the_standard_calibration_then_the_papers(subjects):
    section = sections.calibration_section(subjects, BINS)
    assert len(of(section, Fold)) == 1
    listed, standard, paper = of(section, Table)
    assert listed.head[:3] == ("run", "degree", "answers")
    assert standard.head[:3] == ("run", "ECE before", "ECE after")
    assert paper.head[:2] == ("run", "overall")


def test_a_comparison_has_rows_for_each_further_run(subjects):
    section = sections.comparison_section(subjects, BINS)
    (table,) = of(section, Table)
    name = subjects[1].name
    assert [[c.text for c in row[:2]] for row in table.rows] == [
        [name, "MRR"],
        [name, "Hits@10"],
    ]


def test_sigmoid_of_a_softmax_score_is_called_no_probability(subjects):
    section = sections.calibration_section(subjects, BINS)
    notes = [table.note for table in of(section, Table)]
    odd = f"Before scaling, σ(score) is no probability for: {subjects[1].name}."
    assert notes == ["", odd, odd]
    alone = sections.calibration_section(subjects[:1], BINS)
    assert [table.note for table in of(alone, Table)] == ["", "", ""]
    assert len(of(section, Picture)) == 5


@pytest.mark.parametrize(("projection", "words"), [("pca", "vary most"), ("tsne", "neighbours")])
def test_a_map_says_how_it_was_made(subjects, projection, words):
    section = sections.map_section(subjects[:1], projection)
    assert words in of(section, Text)[0].text
    (picture,) = of(section, Picture)
    assert picture.caption == "39 of 39 entities."
    assert ("t-SNE" in picture.svg) == (projection == "tsne")


def test_settings_tell_what_differs_and_all_the_rest(subjects):
    section = sections.settings_section(subjects)
    differ = of(section, Table)[0]
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in differ.rows}
    assert rows["strategy.name"] == ["standard", "focal"]
    assert rows["runtime.seed"] == ["0", "1"]
    assert "training.lr" not in rows
    codes = [block.text for block in of(section, Code)]
    assert len(codes) == 2
    assert 'decoder = "distmult"' in codes[0]
    assert any("dglkgmix 0" in block.text for block in of(section, Text))
    assert len(of(sections.settings_section(subjects[:1]), Table)) == 1
