from dglkgmix.cli.evaluate import evaluate
from tests.cli.conftest import call, call_json


def test_figures_stand_under_their_headings(run):
    page, found = call(evaluate, run).stdout, call_json(evaluate, run)
    lines = page.splitlines()
    assert lines[0] == f"{run}: test split, 5 triples, both directions, filtered"
    heading = next(line for line in lines if "MRR" in line)
    overall = next(line for line in lines if line.startswith("  overall"))
    end = heading.index("MRR") + 3
    assert overall[:end].endswith(f"{found['overall']['mrr']:.4f}")
    zero = next(line for line in lines if line.startswith("  zero   [0,1)"))
    assert zero.split()[2] == str(found["bins"]["zero"]["queries"])


def test_empty_bins_show_dashes(run):
    line = next(x for x in call(evaluate, run).stdout.splitlines() if x.startswith("  high"))
    assert line.split() == ["high", "[50,∞)", "0", *["–"] * 7]


def test_the_caution_stands_where_sigma_is_no_probability(run, other):
    caution = "σ(score) is no probability"
    assert caution not in call(evaluate, run).stdout
    assert caution in call(evaluate, other).stdout  # trained with softmax


def test_relations_come_by_number_of_queries(run):
    page = call(evaluate, run, "--by", "relation").stdout
    rows = page[page.index("By relation") :].splitlines()
    assert [row.split()[:2] for row in rows[2:]] == [["next", "6"], ["skip", "4"]]
