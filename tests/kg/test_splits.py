import itertools
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglkgmix.errors import ConfigError
from dglkgmix.kg.splits import split_table
from dglkgmix.kg.tables import TripleTable


def table_of(rows):
    return TripleTable.from_rows(rows, "x")


def rows_of(table):
    return list(zip(*table.columns(), strict=True))


def dense(count=200):
    random = np.random.RandomState(3)
    return [tuple(f"{k}{random.randint(8)}" for k in "erE") for _ in range(count)]


def test_sizes_and_rows():
    rows = list(dict.fromkeys(dense()))
    train, valid, test = map(rows_of, split_table(table_of(rows)))
    tenth = round(len(rows) * 0.1)
    assert (len(valid), len(test)) == (tenth, tenth)
    assert sorted(train + valid + test) == sorted(rows)
    # Rows keep the file's order.
    for part in (train, valid, test):
        assert part == [row for row in rows if row in set(part)]


names = st.sampled_from("abcdefgh")


@given(st.lists(st.tuples(names, names, names), min_size=1), st.integers(0, 50))
def test_every_name_is_trained_and_no_row_is_lost(rows, seed):
    train, valid, test = map(rows_of, split_table(table_of(rows), (0.4, 0.3, 0.3), seed))
    assert sorted(train + valid + test) == sorted(rows)
    entities = {name for h, _, t in train for name in (h, t)}
    relations = {r for _, r, _ in train}
    for h, r, t in valid + test:
        assert {h, t} <= entities
        assert r in relations
    assert not set(train) & set(valid + test)
    assert not set(valid) & set(test)


def test_the_split_is_a_function_of_the_seed():
    """The rows written down here were drawn once; another draw would be another data set."""
    rows = [(f"e{i % 5}", f"r{i % 2}", f"e{i % 7}") for i in range(40)]
    first, again, other = (
        [rows_of(part) for part in split_table(table_of(rows), seed=seed, mirrors="apart")]
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert first[1:] == EXPECTED


EXPECTED = [
    [("e3", "r1", "e3"), ("e3", "r1", "e2"), ("e2", "r0", "e4"), ("e0", "r1", "e0")],
    [("e4", "r1", "e2"), ("e0", "r0", "e3"), ("e3", "r0", "e4"), ("e4", "r0", "e6")],
]


@given(st.lists(st.tuples(names, names, names), min_size=1), st.integers(0, 50))
def test_mirrors_of_one_relation_stay_together(rows, seed):
    parts = [set(rows_of(part)) for part in split_table(table_of(rows), (0.4, 0.3, 0.3), seed)]
    for part in parts:
        assert {(t, r, h) for h, r, t in part} & set(rows) <= part


def test_mirrors_count_as_the_triples_they_are():
    """100 unordered pairs of 30 nodes, both ways: valid and test have 20 triples each."""
    pairs = list(itertools.combinations(range(30), 2))
    chosen = np.random.RandomState(0).permutation(len(pairs))[:100]
    rows = [(f"e{a}", "near", f"e{b}") for i in chosen for a, b in (pairs[i], pairs[i][::-1])]
    train, valid, test = map(rows_of, split_table(table_of(rows)))
    assert [len(train), len(valid), len(test)] == [160, 20, 20]
    assert not {(t, r, h) for h, r, t in test} & set(train)
    train, _, test = map(rows_of, split_table(table_of(rows), mirrors="apart"))
    assert len(test) == 20
    assert {(t, r, h) for h, r, t in test} & set(train)


def test_without_mirrors_the_draw_is_the_same():
    for seed in range(5):
        parts = [split_table(table_of(dense()), seed=seed, mirrors=m) for m in MIRRORS]
        assert [*map(rows_of, parts[0])] == [*map(rows_of, parts[1])]
    sizes = [len(part) for part in split_table(table_of(dense()), (0.9, 0.1, 0))]
    assert sum(sizes) == 200
    assert sizes[1] > sizes[2] == 0


MIRRORS = ("together", "apart")


def test_a_sparse_graph_gives_what_it_can(caplog):
    chain = [(f"e{i}", "r", f"e{i + 1}") for i in range(20)]
    loops = [("e0", "r", "e2"), ("e1", "r", "e3")]
    with caplog.at_level(logging.WARNING):
        train, valid, test = split_table(table_of(chain + loops), (0.5, 0.25, 0.25))
    held_out = len(valid) + len(test)
    assert 0 < held_out < 11
    assert abs(len(valid) - len(test)) <= 1
    assert len(train) == 22 - held_out
    assert f"only {held_out} of the 12 triples wanted" in caplog.text


@pytest.mark.parametrize(
    "fractions",
    [(0.8, 0.2), (0.8, 0.1, 0.2), (1.2, -0.1, -0.1), (0, 0.5, 0.5), (1, float("nan"), 0)],
)
def test_fractions_that_make_no_split(fractions):
    with pytest.raises(ConfigError, match="split must be three fractions"):
        split_table(table_of(dense()), fractions)


@pytest.mark.parametrize("seed", [-1, 2**32, 10**30])
def test_a_seed_out_of_range(seed):
    with pytest.raises(ConfigError, match=rf"seed must lie in \[0, 2\^32\), got {seed}"):
        split_table(table_of(dense()), seed=seed)
