from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from dglkgmix.errors import DataError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.rank_table import rank_split
from dglkgmix.evaluation.significance import (
    align,
    bootstrap,
    compare,
    holm,
    mrr_intervals,
    paired_t_test,
    triples,
)
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.conftest import table_of
from tests.evaluation.stand_ins import TableScorer

KEYS = {
    *("a", "b", "difference", "ci_low", "ci_high", "p_value", "queries", "triples"),
    *("a_sd", "b_sd"),
}


@pytest.fixture(scope="module")
def kg():
    """Forty test triples over low and zero degrees, one of them twice."""
    generator = np.random.default_rng(2)
    rows = generator.integers(0, [12, 2, 12], (100, 3))
    test = np.concatenate([np.unique(rows[60:], axis=0), rows[60:61]])
    return KnowledgeGraph.from_arrays(rows[:60], None, test, entities=12, relations=2)


def drawn(kg, seed, worst=12):
    generator = np.random.default_rng(seed)
    return generator.integers(1, worst, 2 * len(kg.test)).astype(float)


def compared(kg, ranks_a, ranks_b):
    return compare([table_of(kg, ranks_a)], [table_of(kg, ranks_b)], DegreeBins())


def by_triple(kg, values, keep=None):
    """Mean of the given (2N,) values over each distinct triple's queries; plain loops."""
    groups = {}
    for i, triple in enumerate(kg.test.tolist() * 2):
        if keep is None or keep[i]:
            groups.setdefault(tuple(triple), []).append(values[i])
    return {triple: sum(v) / len(v) for triple, v in groups.items()}, groups


def query_bins(kg):
    h, r, t = kg.test.T
    low = np.concatenate(
        [kg.degrees.tail_relation(t, r), kg.degrees.tail_relation(h, r + kg.num_relations)]
    )
    return np.asarray(DegreeBins().assign(low))


def test_units_are_triples_and_means_are_over_queries(kg):
    ranks_a, ranks_b = drawn(kg, 0), drawn(kg, 1, 6)
    found = compared(kg, ranks_a, ranks_b)["overall"]
    for metric, value in (
        ("mrr", lambda ranks: 1 / ranks),
        ("hits@1", lambda ranks: (ranks <= 1) * 1.0),
        ("hits@10", lambda ranks: (ranks <= 10) * 1.0),
    ):
        a, b = value(ranks_a), value(ranks_b)
        part = found[metric]
        assert part.keys() == KEYS
        assert (part["a"], part["b"]) == (pytest.approx(a.mean()), pytest.approx(b.mean()))
        assert part["difference"] == pytest.approx(b.mean() - a.mean())
        units_a, units_b = by_triple(kg, a)[0], by_triple(kg, b)[0]
        expected = stats.ttest_rel([units_b[t] for t in units_a], list(units_a.values())).pvalue
        assert part["p_value"] == pytest.approx(expected)
        assert (part["queries"], part["triples"]) == (2 * len(kg.test), len(units_a))
        assert part["ci_low"] <= part["difference"] <= part["ci_high"]
        assert part["a_sd"] is part["b_sd"] is None


def test_in_a_bin_only_its_own_queries_count(kg):
    ranks_a, ranks_b, bins = drawn(kg, 0), drawn(kg, 1, 6), query_bins(kg)
    found = compared(kg, ranks_a, ranks_b)["bins"]
    raw = {}
    for index, name in enumerate(("zero", "low")):
        keep = bins == index
        units_a, _ = by_triple(kg, 1 / ranks_a, keep)
        units_b, _ = by_triple(kg, 1 / ranks_b, keep)
        raw[name] = stats.ttest_rel(list(units_b.values()), list(units_a.values())).pvalue
        assert found[name]["mrr"]["a"] == pytest.approx((1 / ranks_a)[keep].mean())
        assert found[name]["mrr"]["queries"] == keep.sum()
        assert found[name]["mrr"]["triples"] == len(units_a)
    first, second = sorted(raw, key=raw.get)
    assert found[first]["mrr"]["p_value"] == pytest.approx(min(1, 2 * raw[first]))
    assert found[second]["mrr"]["p_value"] == pytest.approx(
        max(min(1, 2 * raw[first]), raw[second])
    )
    assert found["high"]["mrr"] == dict.fromkeys(KEYS) | {"queries": 0, "triples": 0}


def test_intervals_are_those_of_a_plain_bootstrap(kg):
    """Not the same draws, so the same up to their noise."""
    ranks_a, ranks_b = drawn(kg, 0), drawn(kg, 1, 6)
    found = compared(kg, ranks_a, ranks_b)["overall"]
    _, groups = by_triple(kg, 1 / ranks_b - 1 / ranks_a)
    units, generator = list(groups.values()), np.random.default_rng(77)
    means = []
    for _ in range(4000):
        chosen = [units[i] for i in generator.integers(0, len(units), len(units))]
        means.append(sum(map(sum, chosen)) / sum(map(len, chosen)))
    low, high = np.quantile(means, [0.025, 0.975])
    width = high - low
    assert found["mrr"]["ci_low"] == pytest.approx(low, abs=width / 15)
    assert found["mrr"]["ci_high"] == pytest.approx(high, abs=width / 15)


def test_identical_runs(kg):
    found = compared(kg, drawn(kg, 0), drawn(kg, 0))
    for part in (found["overall"], found["bins"]["zero"], found["bins"]["low"]):
        for metric in part.values():
            assert metric["p_value"] == 1
            assert metric["difference"] == metric["ci_low"] == metric["ci_high"] == 0


def test_seeds_are_averaged_by_query_first(kg):
    a, b = [drawn(kg, s) for s in (0, 1)], [drawn(kg, s, 6) for s in (2, 3, 4)]
    found = compare([table_of(kg, r) for r in a], [table_of(kg, r) for r in b], DegreeBins())[
        "overall"
    ]["mrr"]
    mean_a, mean_b = (np.mean([1 / r for r in runs], axis=0) for runs in (a, b))
    units_a, units_b = by_triple(kg, mean_a)[0], by_triple(kg, mean_b)[0]
    expected = stats.ttest_rel(list(units_b.values()), list(units_a.values())).pvalue
    assert found["p_value"] == pytest.approx(expected)
    assert found["a_sd"] == pytest.approx(np.std([(1 / r).mean() for r in a], ddof=1))
    assert found["b_sd"] == pytest.approx(np.std([(1 / r).mean() for r in b], ddof=1))


def test_a_comparison_comes_out_the_same_twice(kg):
    a, b = drawn(kg, 0), drawn(kg, 1)
    assert compared(kg, a, b) == compared(kg, a, b)


def test_one_triple_cannot_be_tested():
    assert paired_t_test(np.array([0.5]), np.array([1.0])) is None
    kg = KnowledgeGraph.from_arrays([(0, 0, 0)], None, [(0, 0, 1)], entities=3)
    found = compared(kg, [1, 2], [1, 1])["overall"]["mrr"]
    assert (found["p_value"], found["ci_low"], found["ci_high"]) == (None, None, None)
    assert found["difference"] == 0.25


def test_differences_that_are_all_alike_raise_no_warning():
    assert paired_t_test(np.full(5, 0.25), np.full(5, 0.5)) == 0


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_bootstrap_in_blocks_is_the_same_draw(monkeypatch):
    from dglkgmix.evaluation import significance

    sums, counts = np.array([[1.0, 0.0, 2.0, 1.0]]), np.array([2, 1, 2, 1])
    whole = bootstrap(sums, counts, 0)
    monkeypatch.setattr(significance, "_BLOCK", 40)
    assert bootstrap(sums, counts, 0).tolist() == whole.tolist()
    assert whole.shape == (1, 2)


def test_the_bootstrap_s_mean_is_a_ratio_of_sums():
    """Half of the triples have three queries at 1, half a single one at 0: 3/4, not 1/2."""
    sums, counts = np.array([[3.0, 0.0] * 100]), np.array([3, 1] * 100)
    low, high = bootstrap(sums, counts, 0)[0]
    assert 0.65 < low < 0.75 < high < 0.85


def test_intervals_of_one_setting(kg):
    ranks = drawn(kg, 0)
    found = mrr_intervals([table_of(kg, ranks)], DegreeBins())
    assert list(found) == ["overall", "zero", "low", "medium", "high"]
    low, high = found["overall"]
    assert low < (1 / ranks).mean() < high
    assert found["high"] is None
    spread = by_triple(kg, 1 / ranks)[0].values()
    normal = 1.96 * np.std(list(spread)) / len(spread) ** 0.5
    assert (high - low) / 2 == pytest.approx(normal, rel=0.25)


def test_rows_in_any_order_meet_their_own_query(table):
    shuffled = table.select(np.array([2, 0, 3, 1]))
    first, second = align([table, shuffled])
    assert first["rank"].tolist() == second["rank"].tolist()
    for column in ("head", "relation", "tail", "direction"):
        assert first.names(column).to_pylist() == second.names(column).to_pylist()


def test_names_meet_though_their_codes_differ(toy_rows, make_ranks):
    """Another order of first appearance gives other ids, and other dictionaries."""
    turned = {split: rows[::-1] for split, rows in toy_rows.items()}
    first = make_ranks(KnowledgeGraph.from_names(*toy_rows.values()), [1, 2, 3, 4])
    second = make_ranks(KnowledgeGraph.from_names(*turned.values()), [2, 1, 4, 3])
    a, b = align([first, second])
    assert a["rank"].tolist() == b["rank"].tolist()


def test_other_queries_are_refused(toy, toy_rows, make_ranks, table):
    toy_rows["test"][0] = ("d", "likes", "b")
    other = make_ranks(KnowledgeGraph.from_names(*toy_rows.values()), [1, 2, 3, 4])
    with pytest.raises(DataError, match=r"runs/a and runs/b .* different data.*\(d, likes, b\)"):
        align([table, other], ["runs/a", "runs/b"])
    with pytest.raises(DataError, match=r"\(d, likes, b\), head .* one of the first only"):
        align([other, table])
    with pytest.raises(DataError, match="4 and 2 queries"):
        align([table, table.select(np.array([0, 1]))])


def test_other_training_triples_are_refused(toy_rows, make_ranks, table):
    toy_rows["train"].append(("a", "knows", "c"))
    other = make_ranks(KnowledgeGraph.from_names(*toy_rows.values()), [1, 2, 3, 4])
    with pytest.raises(DataError, match=r"come from different data: \w+ of"):
        align([table, other])


def test_other_candidates_are_refused(toy, table):
    scorer = TableScorer(torch.zeros(6, 5, 5))
    other = rank_split(scorer, toy, "test", candidates=Candidates.of(toy, "typed"))
    with pytest.raises(DataError, match=r"x and y .*'all' and 'typed'.* --candidates"):
        align([table, other], ["x", "y"])


def test_duplicate_rows_pair_up_in_their_order():
    kg = KnowledgeGraph.from_arrays([(0, 0, 0)], None, [(0, 0, 1), (0, 0, 1)], entities=3)
    first, second = align([table_of(kg, [1, 2, 3, 1]), table_of(kg, [1, 2, 3, 1])])
    assert first["rank"].tolist() == second["rank"].tolist()
    assert set(triples(first).tolist()) == {0}
