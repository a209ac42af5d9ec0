from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.evaluation.foreign import read_ranks
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.ranking import rank
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.stand_ins import TableScorer

HEADER = "head,relation,tail,direction,rank"
ROWS = [
    "lone,knows,c,head,3",
    "d,likes,c,tail,1",
    "d,likes,c,head,2.5",
    "lone,knows,c,tail,1",
]


def test_our_own_ranks_come_back_whole_through_parquet(tmp_path, toy):
    """Everything but scores' precision is the same: candidates and degrees are counted afresh."""
    queries = evaluation_queries(toy, "test")
    table = (torch.arange(6 * 5 * 5).float() % 7).reshape(6, 5, 5)
    own = RankTable.from_ranks(toy, queries, rank(TableScorer(table), queries, toy.known_index))
    path = tmp_path / "ranks.parquet"
    path.write_bytes(own.to_bytes())
    assert read_ranks(path, toy, "test").table.equals(own.table)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_every_format_reads_the_same(tmp_path, write, toy, ending):
    lines = [line.split(",") for line in [f"{HEADER},score", *(f"{row},-0.5" for row in ROWS)]]
    if ending == "parquet":
        columns = dict(zip(lines[0], zip(*lines[1:], strict=True), strict=True))
        typed = {name: pa.array(values) for name, values in columns.items()}
        typed["rank"] = typed["rank"].cast(pa.float32())
        path = tmp_path / "ranks.parquet"
        pq.write_table(pa.table(typed), path)
    else:
        delimiter = "," if ending == "csv" else "\t"
        path = write([delimiter.join(fields) for fields in lines], f"ranks.{ending}")
    found = read_ranks(path, toy, "test")
    assert found["rank"].tolist() == [1, 1, 2.5, 3]  # tail queries first, as the split has them
    assert found["score"].tolist() == [-0.5] * 4
    assert found.table.column("rank_optimistic").null_count == 4
    assert found.names("head").to_pylist() == ["d", "lone", "d", "lone"]
    assert found["tail_relation"].tolist() == [2, 2, 0, 0]


def test_columns_in_any_order_among_others_with_quotes_and_a_byte_order_mark(tmp_path, toy):
    lines = ["direction,note,rank,tail,relation,head"]
    for row in ROWS:
        head, relation, tail, direction, value = row.split(",")
        lines.append(f'{direction},"a, b",{value},{tail},{relation},"{head}"')
    path = tmp_path / "ranks.csv"
    path.write_bytes(("\ufeff" + "\r\n".join(lines)).encode())
    found = read_ranks(path, toy, "test")
    assert found["rank"].tolist() == [1, 1, 2.5, 3]
    assert found.table.column("score").null_count == 4


def test_quotes_belong_to_the_names_of_a_tsv_file(write):
    """Case 49: the same rule as for triples."""
    kg = KnowledgeGraph.from_names([("Ada", "r", "b")], test=[('"Ada"', "r", '"Vienna"@en')])
    lines = ['"Ada"\tr\t"Vienna"@en\ttail\t1', '"Ada"\tr\t"Vienna"@en\thead\t2']
    path = write([HEADER.replace(",", "\t"), *lines], "ranks.tsv")
    assert read_ranks(path, kg, "test")["rank"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("d,likes,c,up,1", r":3: direction 'up' is neither 'head' nor 'tail'"),
        ("d,likes,c,tail,0.5", r":3: rank 0.5 is below 1"),
        ("d,likes,c,tail,first", r":3: rank 'first' is not a number"),
        ("d,likes,c,tail,", r":3: rank '' is not a number"),
        ("d,likes,c,tail,nan", r":3: rank 'nan' is not finite"),
        ("a,likes,b,tail,1", r":3: \(a, likes, b\), tail asked for, is not in the test split"),
        ("lone,knows,c,head,3", r":3: \(lone, knows, c\), head asked for, has a rank already"),
        ("d,likes,c,tail", r":3: expected 5 comma-separated fields, found 4"),
        ("lonee,knows,c,head,4", r":3: .*'lonee'.*'lone'"),
    ],
)
def test_a_row_that_cannot_be_is_named_by_file_and_line(write, toy, line, message):
    path = write([HEADER, ROWS[0], line, *ROWS[1:]], "ranks.csv")
    with pytest.raises((DataError, UnknownNameError), match=f"ranks.csv{message}"):
        read_ranks(path, toy, "test")


def test_missing_queries_are_counted_and_one_is_named(write, toy):
    with pytest.raises(DataError, match=r"2 of 4 queries have no rank; the first is \(lone, knows"):
        read_ranks(write([HEADER, ROWS[0], "", ROWS[1]], "ranks.csv"), toy, "test")


def test_files_that_cannot_be_read(tmp_path, write, toy):
    with pytest.raises(DataError, match=r"none\.csv: cannot be read"):
        read_ranks(tmp_path / "none.csv", toy, "test")
    with pytest.raises(DataError, match=r"\.parquet, \.csv, \.tsv"):
        read_ranks(write(["x"], "ranks.json"), toy, "test")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_ranks(write(["x"], "ranks.parquet"), toy, "test")
    for column in ("head", "direction", "rank"):
        with pytest.raises(DataError, match=f"ranks.csv: column '{column}' is missing"):
            read_ranks(write([HEADER.replace(column, "x"), *ROWS], "ranks.csv"), toy, "test")
    path = tmp_path / "short.parquet"
    columns = {"head": ["d"], "relation": ["likes"], "tail": ["c"], "direction": ["tail"]}
    pq.write_table(pa.table(columns | {"rank": [0]}), path)
    with pytest.raises(DataError, match=r"short.parquet: row 1: rank 0 is below 1"):
        read_ranks(path, toy, "test")


def test_a_triple_that_stands_twice_in_the_split_may_have_one_row_or_two(write):
    kg = KnowledgeGraph.from_names([("a", "r", "a"), ("c", "r", "c")], [], [("a", "r", "b")] * 2)
    once = [HEADER, "a,r,b,tail,2", "a,r,b,head,1"]
    for lines in (once, once + once[1:]):
        found = read_ranks(write(lines, "ranks.csv"), kg, "test")
        assert found["rank"].tolist() == [2, 2, 1, 1]
    with pytest.raises(DataError, match="has a rank already"):
        read_ranks(write(once + 2 * once[1:], "ranks.csv"), kg, "test")


@pytest.mark.parametrize(("rank", "doubts"), [(3, 0), (5, 1)])
def test_ranks_beyond_the_candidates_raise_a_doubt(write, toy, caplog, rank, doubts):
    lines = [HEADER, *ROWS[1:], f"lone,knows,c,head,{rank}"]
    assert read_ranks(write(lines, "ranks.csv"), toy, "test")["rank"].tolist() == [1, 1, 2.5, rank]
    assert len(caplog.messages) == doubts
    assert all("(?, knows, c): 5 of 3" in message for message in caplog.messages)
