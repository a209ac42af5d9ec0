import pytest

from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.report import sections
from dglkgmix.report.figures.canvas import drawing
from dglkgmix.report.subject import read_subjects
from tests.report.conftest import popularity

BINS = DegreeBins()


@pytest.fixture(scope="module")
def subjects(run, other_run):
    return read_subjects([run, other_run], "test", BINS)


def test_a_picture_is_an_svg_with_its_words():
    with drawing() as (figure, _):
        pass
    made = sections.picture("name", (figure, "In words"), "A title", "Caption", wide=True)
    assert made.svg.startswith("<svg")
    assert ">A title</title>" in made.svg
    assert ">In words</desc>" in made.svg
    assert (made.caption, made.wide) == ("Caption", True)


def test_the_data_with_its_bias(subjects):
    kg = subjects[0].run.kg
    below = int((kg.degrees.edge_tail_relation < 5).sum())
    note = sections.data(subjects[0], BINS)["bias"].note
    assert note.startswith(f"{below:,} of {kg.num_edges:,} training triples")


def test_results_show_each_run_and_popularity(subjects):
    popular = popularity(subjects[0].run)
    found = sections.results(subjects, BINS, popular)
    assert [len(found[name].rows) for name in ("overall", "bins", "directions")] == [3, 3, 2]


def test_the_candidates_of_ranks_are_told(subjects):
    run = subjects[0].run.among("observed")
    found = read_subjects([run], "test", BINS)
    popular = popularity(run)
    assert popular["missed"].tolist() == found[0].table["missed"].tolist()
    missed = int((found[0].table["tail_relation"] == 0).sum())
    note = sections.results(found, BINS, popular)["overall"].note
    assert f"observed; {missed} answers" in note


def test_a_comparison_has_rows_for_each_further_run(subjects):
    rows = sections.comparison(subjects, BINS).rows
    name = subjects[1].name
    assert [[c.text for c in row[:2]] for row in rows] == [[name, "MRR"], [name, "Hits@10"]]


def test_sigmoid_of_a_softmax_score_is_called_no_probability(subjects):
    odd = f"Before scaling, σ(score) is no probability for: {subjects[1].name}."
    for runs, note in ((subjects, odd), (subjects[:1], "")):
        found = sections.calibrations(runs, BINS)
        assert [found[table].note for table in ("scaling", "ece")] == [note, note]
        assert found["shortlist"][1].note == ""


@pytest.mark.parametrize("projection", ["pca", "tsne"])
def test_a_map_says_how_it_was_made(subjects, projection):
    picture = sections.entity_map(subjects[0], projection)
    assert picture.caption == "39 of 39 entities."
    assert ("t-SNE" in picture.svg) == (projection == "tsne")


def test_settings_tell_what_differs_and_all_the_rest(subjects):
    found = sections.settings(subjects)
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in found["differences"].rows}
    assert rows["strategy.name"] == ["standard", "focal"]
    assert rows["runtime.seed"] == ["0", "1"]
    assert "training.lr" not in rows
    assert [name for name, _ in found["files"]] == [s.name for s in subjects]
    assert 'decoder = "distmult"' in found["files"][0][1]
    assert found["made"].startswith("dglkgmix 0")
    assert not sections.settings(subjects[:1])["differences"]
