import pytest

from dglkgmix.evaluation.significance import compare
from dglkgmix.kg.degrees import DegreeBins, readable
from dglkgmix.report import tables
from dglkgmix.report.subject import read_subjects
from tests.report.conftest import popularity

BINS = DegreeBins((1, 3))


@pytest.fixture(scope="module")
def subjects(run, other_run):
    return read_subjects([run, other_run], "test", BINS)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


@pytest.fixture(scope="module")
def popular(run):
    return popularity(run)


def test_every_row_has_a_cell_for_every_column(subjects, small_graph, popular):
    first, second = subjects
    found = compare([first.table], [second.table], BINS)
    made = [
        tables.overall_table(subjects, popular),
        tables.bins_table(subjects, BINS, popular),
        tables.directions_table(subjects),
        tables.data_table(small_graph.summary()),
        tables.tests_table(first, [(second, found)], BINS.names),
        tables.relations_table(subjects, {}),
        tables.classes_table(subjects, {}),
        tables.ece_table(subjects, BINS),
        tables.scaling_table(subjects),
        tables.training_table(subjects),
        tables.digests_table(subjects),
        tables.differences_table(["a", "b"], {"x": [1, 2]}),
    ]
    for table in made:
        assert table.rows
        assert all(len(row) == len(table.head) for row in table.rows)


def test_the_best_of_several_runs_is_marked(subjects, popular):
    table = tables.overall_table(subjects, popular)
    mrr, mean_rank = table.head.index("MRR"), table.head.index("mean rank")
    values = [s.account["overall"] for s in subjects]
    for column, metric, best in ((mrr, "mrr", max), (mean_rank, "mr", min)):
        marked = ["best" in row[column].kinds for row in table.rows]
        wanted = [v[metric] == best(x[metric] for x in values) for v in values]
        assert marked == [*wanted, False]
    alone = tables.overall_table(subjects[:1], popular)
    assert not any("best" in cell.kinds for row in alone.rows for cell in row)


def test_bins_carry_their_intervals(subjects, popular):
    table = tables.bins_table(subjects, BINS, popular)
    assert table.head == ("MRR", "[0,1)", "[1,3)", "[3,∞)")
    assert tables.ece_table(subjects, BINS).head[-1] == "[3,∞)"
    low, high = subjects[0].intervals["[3,inf)"]
    assert table.rows[0][3].small == f"{low:.3f}–{high:.3f}"
    assert table.rows[-1][0].text == "popularity alone"
    named = tables.bins_table(
        read_subjects([subjects[0].run], "test", DegreeBins()), DegreeBins(), popular
    )
    assert named.head[1:] == ("zero\n[0,1)", "low\n[1,10)", "medium\n[10,50)", "high\n[50,∞)")


def test_only_what_is_odd_about_the_data_is_listed(small_graph):
    summary = dict.fromkeys(small_graph.summary(), 0)
    table = tables.data_table(summary | {"entities": 1234, "overlap": 2})
    assert texts(table)[0] == ["entities", "1,234"]
    assert texts(table)[-1] == ["triples in more than one split", "2"]
    assert len(table.rows) == 6


def test_shares_of_queries_by_bin():
    found = tables.bias_table(
        {"bins": {"test": {"zero": 1, "low": 3}, "valid": {"zero": 0, "low": 0}}},
        type("Bins", (), {"names": ("zero", "low")}),
    )
    assert texts(found) == [["test", "1", "3"], ["valid", "0", "0"]]
    assert [[c.small for c in row] for row in found.rows] == [
        ["", "25\xa0%", "75\xa0%"],
        ["", "", ""],
    ]


def test_ranked_answers_overall_and_by_bin(subjects):
    table = tables.shortlist_table(subjects[:1], BINS)
    shortlist = subjects[0].account["shortlist"]
    rows = texts(table)
    assert [row[1] for row in rows] == ["overall", *map(readable, BINS.names)]
    assert rows[0][2] == f"{shortlist['overall']['answers']:,}"
    assert rows[1][4] == tables.number(shortlist["bins"][BINS.names[0]]["precision@10"])


def test_differences_are_signed_and_sure_ones_marked(subjects):
    first, second = subjects
    group = {"difference": -0.0312, "ci_low": -0.05, "ci_high": 0.01, "p_value": 0.0004}
    empty = dict.fromkeys(group)
    found = {
        "overall": {"mrr": group, "hits@10": {**group, "difference": 0.25, "p_value": 0.3}},
        "bins": {
            "a": {"mrr": {**group, "p_value": 0.2}, "hits@10": group},
            "[9,inf)": {"mrr": empty, "hits@10": empty},
        },
    }
    table = tables.tests_table(first, [(second, found)], ("a", "[9,inf)"))
    assert table.head == ("against one", "", "overall", "a", "[9,∞)")
    row, hits = table.rows
    assert [cell.text for cell in row[1:]] == ["MRR", "−0.031", "−0.031", "–"]
    assert [cell.text for cell in hits[1:]] == ["Hits@10", "+0.250", "−0.031", "–"]
    assert row[2].small == "−0.050 to +0.010\np < 0.001"
    assert row[3].small.endswith("p = 0.200")
    assert ["best" in cell.kinds for cell in row[1:]] == [False, True, False, False]
    assert ["best" in cell.kinds for cell in hits[1:]] == [False, False, True, False]
    assert row[0].run == hits[0].run == 1


def test_the_worst_relations_come_first(subjects, monkeypatch):
    table = tables.relations_table(subjects, {"borders": "n-n"})
    found = [float(row[3].text) for row in table.rows]
    assert found == sorted(found)
    assert {row[0].text for row in table.rows} == {"borders", "<b>likes</b>", "$in$ _"}
    assert next(row[1].text for row in table.rows if row[0].text == "borders") == "n-n"
    assert all(int(row[2].text) >= 10 for row in table.rows)
    monkeypatch.setattr(tables, "FEWEST_QUERIES", 10**6)
    assert len(tables.relations_table(subjects, {}).rows) == 3


def test_stages_with_their_steps(subjects):
    run = subjects[0].run
    steps = -(-len({(h, r) for h, r, _ in run.kg.edges.tolist()}) // 32)
    first, second = texts(tables.training_table(subjects[:1]))
    assert first[:4] == ["one", "pretrain", "1", f"{steps}"]
    assert second[:4] == ["one", "train", "2", f"{2 * steps}"]
    valid = [row["valid_mrr"] for row in run.history]
    assert (first[5], second[5]) == (f"{valid[0]:.3f}", f"{max(valid[1:]):.3f}")


def test_numbers_and_p_values():
    assert (tables.number(None), tables.number(0.12345)) == ("–", "0.123")
    shown = [tables.p_value(value) for value in (None, 0.0001, 0.0456, 1.0)]
    assert shown == ["", "p < 0.001", "p = 0.046", "p = 1.000"]
