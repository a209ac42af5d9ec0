from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.evaluation.popularity import PopularityScorer
from dglkgmix.evaluation.rank_table import SCHEMA, RankTable, rank_split
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.conftest import table_of
from tests.evaluation.graphs import graphs, library

COLUMNS = [
    *("head", "relation", "tail", "direction", "score", "rank", "rank_optimistic"),
    *("rank_pessimistic", "candidates", "head_in", "head_out", "tail_in", "tail_out"),
    *("tail_relation", "missed"),
]


@given(graph=graphs())
@settings(max_examples=30, deadline=None)
def test_names_are_the_original_triple_s_and_degrees_the_query_s(graph):
    kg = library(graph)
    table = table_of(kg, [1.0] * 2 * len(graph.test))
    rows = table.table.to_pylist()
    assert table.table.column_names == COLUMNS
    for row, (h, r, t), (head, relation, tail) in zip(
        rows, graph.queries("test"), graph.test * 2, strict=True
    ):
        assert (row["head"], row["relation"], row["tail"]) == (
            f"e{head}",
            f"r{relation}",
            f"e{tail}",
        )
        assert row["direction"] == ("tail" if r < graph.R else "head")
        assert (row["head_in"], row["head_out"]) == (graph.d_in(h), graph.d_out(h))
        assert (row["tail_in"], row["tail_out"]) == (graph.d_in(t), graph.d_out(t))
        assert row["tail_relation"] == graph.d_tail(t, r)


def test_there_and_back_through_parquet(toy, make_ranks):
    table = make_ranks(toy, [1, 2.5, 3, 4], scores=[0.1, -2, 3e30, 0])
    back = RankTable.from_bytes(table.to_bytes())
    assert back.table.equals(table.table, check_metadata=True)
    assert back.rule == back.select(np.array([2])).rule == "all"
    assert back["score"].dtype == np.float32


def test_a_file_without_word_of_candidates_missed_none(table):
    """As 0.1.0 wrote it."""
    old = table.table.drop_columns(["missed"])
    back = RankTable.from_bytes(RankTable(old.replace_schema_metadata()).to_bytes())
    assert back.rule is None
    assert back["missed"].tolist() == [False] * 4


def test_only_names_in_use_are_stored(table):
    names = table.names("head")
    assert sorted(names.dictionary.to_pylist()) == ["d", "lone"]


def test_codes_are_equal_where_all_columns_are(table):
    triples = table.codes(("head", "relation", "tail"))
    assert triples[0] == triples[2] != triples[1] == triples[3]
    assert set(table.codes(("tail",))) == {0}


def test_rows_are_selected_by_mask_and_by_index(table):
    assert table.select(table.asks_head)["rank"].tolist() == [3, 4]
    assert table.select(np.array([3, 0]))["rank"].tolist() == [4, 1]


def test_a_table_in_several_chunks_reads_as_one(table):
    parts = RankTable(pa.concat_tables([table.table.slice(0, 1), table.table.slice(1)]))
    assert parts["rank"].tolist() == [1, 2, 3, 4]
    assert parts.asks_head.tolist() == [False, False, True, True]
    assert parts.codes(("head",)).tolist() == table.codes(("head",)).tolist()


def test_missing_scores_are_nan(toy, make_ranks):
    table = make_ranks(toy, [1, 2, 3, 4], scores=[float("nan")] * 4)
    assert table.table.column("score").null_count == 4
    assert np.isnan(table["score"]).all()


def test_what_is_no_rank_table_is_refused(table):
    with pytest.raises(DataError, match=r"ranks-test\.parquet: not a readable Parquet file"):
        RankTable.from_bytes(b"<html>", "ranks-test.parquet")
    short = RankTable(table.table.drop_columns(["candidates"]))
    with pytest.raises(DataError, match="'candidates' is missing"):
        RankTable.from_bytes(short.to_bytes())
    place, texts = table.table.column_names.index("rank"), pa.array(["first"] * len(table))
    forged = RankTable(table.table.set_column(place, "rank", texts))
    with pytest.raises(DataError, match="there: no rank table"):
        RankTable.from_bytes(forged.to_bytes(), "there")


def test_an_empty_split_makes_an_empty_table(toy_rows):
    table = table_of(KnowledgeGraph.from_names(toy_rows["train"]), [])
    assert len(RankTable.from_bytes(table.to_bytes())) == 0
    assert table.table.schema.equals(SCHEMA)
    assert table.codes(("head", "tail")).tolist() == []


def test_validation_ranks_do_not_depend_on_test_triples() -> None:
    """Case 64: popularity puts b, then c, before d; as a known answer b would leave."""
    facts = {
        "train": [("a", "r", "b"), ("d", "r", "b"), ("a", "r", "c")],
        "valid": [("d", "r", "d")],
    }
    tables = [
        rank_split(PopularityScorer(kg), kg, "valid")
        for kg in (
            KnowledgeGraph.from_names(**facts, test=test)  # type: ignore[arg-type]
            for test in ([("c", "r", "c")], [("d", "r", "c")])
        )
    ]
    # (d, r, ?): b is known and leaves; c stays, also where it is a test triple; a ties with d.
    assert [list(table["rank"]) for table in tables] == [[2.5, 2.0]] * 2
    assert [list(table["candidates"]) for table in tables] == [[3, 4]] * 2


def test_test_ranks_leave_validation_answers_out() -> None:
    """Of (d, r, ?) b is known from training and d from validation; of (?, r, c) a is known."""
    train = [("a", "r", "b"), ("d", "r", "b"), ("a", "r", "c")]
    kg = KnowledgeGraph.from_names(train, [("d", "r", "d")], [("d", "r", "c")])
    table = rank_split(PopularityScorer(kg), kg, "test")
    assert list(table["candidates"]) == [2, 3]
    assert list(table["rank"]) == [1, 1]


def test_a_block_of_nothing_is_refused(toy: KnowledgeGraph) -> None:
    with pytest.raises(ConfigError, match="block"):
        rank_split(PopularityScorer(toy), toy, "test", 0)
