"""The rank table: the one artefact that every metric, bin, test and plot is derived from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dglkgmix.errors import DataError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.queries import DIRECTIONS, EvalQueries, evaluation_queries
from dglkgmix.evaluation.ranking import BLOCK, Ranks, rank
from dglkgmix.parquet import packed, read_checked
from dglkgmix.processes import ALONE, Processes

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

NAMES = ("head", "relation", "tail", "direction")
RANKS = ("rank", "rank_optimistic", "rank_pessimistic")
DEGREES = ("head_in", "head_out", "tail_in", "tail_out", "tail_relation")
# Of the file, beside its columns: which rule chose the candidates.
_RULE = b"candidates"
_TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        *[pa.field(name, _TEXT, nullable=False) for name in NAMES],
        pa.field("score", pa.float32()),
        *[pa.field(name, pa.float64(), nullable=name != "rank") for name in RANKS],
        pa.field("candidates", pa.int64(), nullable=False),
        *[pa.field(name, pa.int64(), nullable=False) for name in DEGREES],
        pa.field("missed", pa.bool_(), nullable=False),
    ]
)


@dataclass(frozen=True)
class RankTable:
    """One row a query, columns as in ``SCHEMA`` (docs/numbers.md, Ranks).

    head, relation and tail name the original triple; direction tells which end was asked for.
    The degrees are the query's own: "tail" is the answer and "head" the given entity, so with
    direction ``head`` they swap and ``tail_relation`` counts reciprocal triples. Ranks of another
    tool have no score and no optimistic or pessimistic rank where that tool gave none. missed tells
    that the answer is no candidate.
    """

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
        """(Q,) numbers of a numeric column; missing scores are NaN."""
        return np.asarray(self.table.column(column).to_numpy())

    def names(self, column: str) -> pa.DictionaryArray:
        """(Q,) a column of names, as codes into their distinct values."""
        chunked = self.table.column(column).unify_dictionaries()
        return chunked.combine_chunks() if chunked.num_chunks != 1 else chunked.chunk(0)

    def codes(self, columns: Iterable[str]) -> np.ndarray[Any, Any]:
        """(Q,) int64: equal where all the given columns of names are equal, from 0 up."""
        combined: np.ndarray[Any, Any] = np.zeros(len(self), dtype=np.int64)
        for column in columns:
            array = self.names(column)
            codes = np.asarray(array.indices.to_numpy(), dtype=np.int64)
            combined = combined * max(1, len(array.dictionary)) + codes
            combined = np.unique(combined, return_inverse=True)[1]
        return combined

    @property
    def rule(self) -> str | None:
        """Which candidates were ranked (``Candidates.rule``); None where a file does not say."""
        found = (self.table.schema.metadata or {}).get(_RULE)
        return None if found is None else str(found.decode())

    @property
    def asks_head(self) -> np.ndarray[Any, Any]:
        """(Q,) bool: the head was asked for."""
        names = self.names("direction")
        is_head = np.array([name == "head" for name in names.dictionary.to_pylist()], dtype=bool)
        return np.asarray(is_head[names.indices.to_numpy()])

    def select(self, rows: np.ndarray[Any, Any]) -> RankTable:
        """The rows of a boolean mask or of indices."""
        indices = np.flatnonzero(rows) if rows.dtype == bool else rows
        return RankTable(self.table.take(pa.array(indices, type=pa.int64())))

    @classmethod
    def from_ranks(
        cls, kg: KnowledgeGraph, queries: EvalQueries, ranks: Ranks, rule: str = "all"
    ) -> RankTable:
        """The table of what :func:`dglkgmix.evaluation.ranking.rank` found; NaN is missing.

        ``rule`` chose the candidates.
        """
        asks_head, degrees = queries.direction.bool(), kg.degrees
        head = queries.answers.where(asks_head, queries.heads)
        tail = queries.heads.where(asks_head, queries.answers)
        names = {
            "head": (head, kg.entities),
            "relation": (queries.relations % kg.num_relations, kg.relations),
            "tail": (tail, kg.entities),
            "direction": (queries.direction, DIRECTIONS),
        }
        numbers = {
            **vars(ranks),
            "rank_optimistic": ranks.optimistic,
            "rank_pessimistic": ranks.pessimistic,
            "head_in": degrees.in_degree(queries.heads),
            "head_out": degrees.out_degree(queries.heads),
            "tail_in": degrees.in_degree(queries.answers),
            "tail_out": degrees.out_degree(queries.answers),
            "tail_relation": degrees.tail_relation(queries.answers, queries.relations),
        }
        columns = [
            _names(*names[field.name])
            if field.name in names
            else pa.array(numbers[field.name].numpy(), type=field.type, from_pandas=True)
            for field in SCHEMA
        ]
        return cls(pa.table(columns, schema=SCHEMA.with_metadata({_RULE: rule.encode()})))

    def to_bytes(self) -> bytes:
        """The Parquet file."""
        return packed(self.table)

    @classmethod
    def from_bytes(cls, data: bytes, where: str | Path = "rank table") -> RankTable:
        """Read what :meth:`to_bytes` wrote; DataError where it is no rank table."""
        table = read_checked(pa.py_buffer(data), where)
        if "missed" not in table.column_names:  # Written when every answer was a candidate.
            table = table.append_column("missed", pa.array(np.zeros(len(table), dtype=bool)))
        rule = {k: v for k, v in (table.schema.metadata or {}).items() if k == _RULE}
        missing = [name for name in SCHEMA.names if name not in table.column_names]
        if missing:
            raise DataError(f"{where}: no rank table: column {missing[0]!r} is missing")
        try:
            return cls(table.select(SCHEMA.names).cast(SCHEMA).replace_schema_metadata(rule))
        except (pa.ArrowException, ValueError) as error:
            raise DataError(f"{where}: no rank table: {error}") from error


def _names(ids: Any, names: Any) -> pa.DictionaryArray:
    """Ids as a dictionary column that holds only the names in use."""
    used, codes = np.unique(ids.numpy(), return_inverse=True)
    values = pa.array([names[int(i)] for i in used], type=pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, type=pa.int32()), values)


def rank_split(
    scorer: Scorer,
    kg: KnowledgeGraph,
    split: str,
    block: int | None = None,
    *,
    candidates: Candidates | None = None,
    processes: Processes = ALONE,
) -> RankTable:
    """The rank table of ``split`` under ``scorer``.

    Filtered as :meth:`~dglkgmix.kg.graph.KnowledgeGraph.filter_index` says, both directions.
    ``candidates`` None are the default of :meth:`~dglkgmix.evaluation.candidates.Candidates.of`.
    At most ``block`` scores are held at once; None is :data:`~dglkgmix.evaluation.ranking.BLOCK`.
    Of several ``processes`` each ranks a part, and all get the whole table.

    Raises:
        NumericError: a score is not finite.
        ConfigError: ``block`` is below 1.
    """
    queries = evaluation_queries(kg, split)
    held = BLOCK if block is None else block
    known, among = kg.filter_index(split), candidates or Candidates.of(kg)
    found = rank(scorer, queries, known, block=held, candidates=among, processes=processes)
    return RankTable.from_ranks(kg, queries, found, among.rule)
