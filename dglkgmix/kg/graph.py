"""KnowledgeGraph: names, splits, reciprocal relations and the DGL graph of the training triples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.errors import DataError, OutOfRangeError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.degrees import Degrees
from dglkgmix.kg.index import TripleIndex
from dglkgmix.kg.keys import as_ids, as_integers, distinct, triple_keys
from dglkgmix.kg.statistics import summarise
from dglkgmix.kg.tables import TripleTable, encode
from dglkgmix.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph

_STATE = ("entities", "relations", *SPLITS, "node_types", "node_type_names", "edge_types")


class KnowledgeGraph:
    """Triples of three splits over one vocabulary. Immutable; derived parts are made on demand.

    Attributes:
        entities, relations: vocabularies of the E entities and R original relations.
        train, valid, test: (N, 3) long, columns head, relation, tail; rows as the source holds
            them, duplicates kept.
        node_types: (E,) long index into ``node_type_names``, or None where all entities are of
            one type. Types limit the candidates of a query.
        edge_types: for graphs that came from DGL, the canonical edge type of each relation.

    The reciprocal relation of r is r + R. Training and degrees use ``edges``.

    Raises:
        DataError: no training triple, or arrays of a wrong shape or kind.
        OutOfRangeError: an id without a name.
    """

    def __init__(
        self,
        entities: Vocabulary,
        relations: Vocabulary,
        train: Any,
        valid: Any = None,
        test: Any = None,
        *,
        node_types: Tensor | None = None,
        node_type_names: Sequence[str] = (),
        edge_types: Sequence[tuple[str, str, str]] | None = None,
    ) -> None:
        self.entities = entities
        self.relations = relations
        self.train = _rows(train, "train", len(entities), len(relations))
        self.valid = _rows(valid, "valid", len(entities), len(relations))
        self.test = _rows(test, "test", len(entities), len(relations))
        self.node_types = node_types
        if node_types is not None:
            self.node_types = as_ids(node_types, "node type", len(node_type_names))
            if self.node_types.shape != (len(entities),):
                raise DataError(
                    f"node_types must have the shape ({len(entities)},), "
                    f"not {tuple(self.node_types.shape)}"
                )
        self.node_type_names = tuple(node_type_names)
        self.edge_types = None if edge_types is None else tuple(edge_types)
        if len(self.train) == 0:
            raise DataError("the training split holds no triples")

    @classmethod
    def from_arrays(
        cls,
        train: Any,
        valid: Any = None,
        test: Any = None,
        *,
        entities: Sequence[str] | Vocabulary | int | None = None,
        relations: Sequence[str] | Vocabulary | int | None = None,
    ) -> KnowledgeGraph:
        """From (N, 3) arrays of ids, columns head, relation, tail.

        ``entities`` and ``relations`` are names in id order, or their number; names are then the
        ids as strings. Without them the largest id sets the number.
        """
        splits = [
            _integers(rows, name) for rows, name in zip((train, valid, test), SPLITS, strict=True)
        ]
        stacked = torch.cat(splits)
        return cls(
            _vocabulary(entities, stacked[:, [0, 2]], "entity"),
            _vocabulary(relations, stacked[:, 1], "relation"),
            *splits,
        )

    @classmethod
    def from_names(
        cls,
        train: Iterable[Sequence[str]],
        valid: Iterable[Sequence[str]] = (),
        test: Iterable[Sequence[str]] = (),
    ) -> KnowledgeGraph:
        """From rows of three names: head, relation, tail."""
        splits = zip((train, valid, test), SPLITS, strict=True)
        return cls(*encode(*(TripleTable.from_rows(rows, name) for rows, name in splits)))

    @classmethod
    def from_dgl(
        cls,
        graph: DGLGraph,
        valid: DGLGraph | None = None,
        test: DGLGraph | None = None,
        *,
        masks: Mapping[str, str] | None = None,
        entities: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        relations: Sequence[str] | None = None,
    ) -> KnowledgeGraph:
        """From a DGL graph, which is not changed.

        Relations are the edge types of a heterograph, or the numbers in ``edata["etype"]`` (or
        ``edata[dgl.ETYPE]``) of a graph with one edge type. Splits are separate graphs over the
        same nodes, or boolean edge masks; the masks of ``dgl.data`` are recognised. Without either
        all edges train. Edges in no split are left out, which is logged.

        Args:
            graph: training edges, or all edges with masks.
            valid: validation edges over the same nodes; masks are then not looked for.
            test: test edges, likewise.
            masks: names of edge features by split, as ``{"train": "train_mask", …}``; without one
                for train all edges in no other split train.
            entities: names in id order, or by node type. Without them names are node ids, as
                "paper:3" where there are several node types.
            relations: names in the order of edge types. Without them they are the edge types, as
                "author:writes:paper" where several share a name, or their numbers.

        Raises:
            DataError: graphs, masks or names that do not fit together, or no training edge.
        """
        from dglkgmix.kg.dgl_edges import read_graphs

        return cls(**read_graphs((graph, valid, test), masks, entities, relations))

    def to_dgl(self) -> DGLGraph:
        """Original triples of all splits as a DGL heterograph, rows as the splits hold them.

        Edge features: boolean ``train_mask``, ``val_mask``, ``test_mask``, and ``split_row``, the
        row in the split. Edge types are those of the graph that this one came from, else
        ("entity", "r0", "entity"), "r1" …; node types likewise. ``from_dgl`` is the way back.
        """
        from dglkgmix.kg.dgl_edges import to_dgl

        return to_dgl(self)

    def to_arrays(self) -> dict[str, np.ndarray[Any, np.dtype[np.int64]]]:
        """Ids of each split, (N, 3) int64 arrays of their own memory, by split name."""
        return {name: self.split(name).numpy().copy() for name in SPLITS}

    @property
    def num_entities(self) -> int:
        """E."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """R, reciprocal relations not counted."""
        return len(self.relations)

    @property
    def num_query_relations(self) -> int:
        """2R: relations with their reciprocals."""
        return 2 * len(self.relations)

    @property
    def num_edges(self) -> int:
        """M: distinct training triples with their reciprocals."""
        return len(self.edges)

    def split(self, name: str) -> Tensor:
        """Rows (N, 3) of "train", "valid" or "test"; DataError for any other name."""
        if name not in SPLITS:
            raise DataError(f"unknown split {name!r}: choose one of {', '.join(SPLITS)}")
        rows: Tensor = getattr(self, name)
        return rows

    @staticmethod
    def reciprocate(triples: Tensor, num_relations: int) -> Tensor:
        """(N, 3) original triples (h, r, t) -> their reciprocals (t, r + R, h)."""
        heads, relations, tails = triples.unbind(1)
        return torch.stack([tails, relations + num_relations, heads], 1)

    @cached_property
    def edges(self) -> Tensor:
        """(M, 3): distinct training triples by first appearance, then their reciprocals.

        With n = M / 2 the reciprocal of edge e is (e + n) % M.
        """
        originals = self.train[self._distinct[0]]
        return torch.cat([originals, self.reciprocate(originals, self.num_relations)])

    @property
    def train_edges(self) -> Tensor:
        """(N,) for each row of ``train`` its edge, below M / 2: rows that are equal share it."""
        return self._distinct[1]

    @cached_property
    def _distinct(self) -> tuple[Tensor, Tensor]:
        return distinct(triple_keys(self.train, self.num_entities, self.num_relations))

    @cached_property
    def graph(self) -> DGLGraph:
        """DGL heterograph of ``edges``: node type "entity", edge types "r0" … "r{2R-1}"."""
        from dglkgmix.kg.dgl_edges import heterograph

        return heterograph(self.edges, self.num_entities, self.num_query_relations)

    @cached_property
    def homogeneous(self) -> DGLGraph:
        """DGL graph of one node and one edge type; edge i is ``edges[i]``, ``edata[dgl.ETYPE]``."""
        from dglkgmix.kg.dgl_edges import homogeneous

        return homogeneous(self.edges, self.num_entities)

    @cached_property
    def train_index(self) -> TripleIndex:
        """Training triples by query, both directions."""
        return TripleIndex.build(self.edges, self.num_entities, self.num_query_relations)

    @cached_property
    def known_index(self) -> TripleIndex:
        """Triples of all splits by query, both directions: what filtered ranking leaves out."""
        return self.index_of(self.train, self.valid, self.test)

    @cached_property
    def steering_index(self) -> TripleIndex:
        """Triples of train and valid by query, both directions.

        Early stopping, selection, search and the fit of probabilities filter with it: they must
        not use the test split.
        """
        return self.index_of(self.train, self.valid)

    def filter_index(self, split: str) -> TripleIndex:
        """What filtered ranks of a split leave out: of valid, train and valid; else all splits.

        Validation figures choose epochs, settings and models, so test triples change none.
        """
        return self.steering_index if split == "valid" else self.known_index

    def index_of(self, *splits: Tensor) -> TripleIndex:
        """Some triples, (N, 3) each, by query, both directions."""
        rows = torch.cat(splits)
        both = torch.cat([rows, self.reciprocate(rows, self.num_relations)])
        return TripleIndex.build(both, self.num_entities, self.num_query_relations)

    @cached_property
    def degrees(self) -> Degrees:
        """Degrees over the training triples."""
        return Degrees(self.edges, self.num_entities, self.num_relations)

    def summary(self) -> dict[str, int]:
        """Counts; see :func:`dglkgmix.kg.statistics.summarise`."""
        return summarise(self)

    def __repr__(self) -> str:
        rows = " + ".join(f"{len(self.split(name)):,}" for name in SPLITS)
        return (
            f"KnowledgeGraph({self.num_entities:,} entities, {self.num_relations:,} relations, "
            f"{rows} triples)"
        )

    def __getstate__(self) -> dict[str, Any]:
        # Derived parts are large and made again on demand.
        return {name: getattr(self, name) for name in _STATE}


def _integers(rows: Any, name: str) -> Tensor:
    """(N, 3) long copy; DataError unless the rows are integers of that shape."""
    ids = as_integers([] if rows is None else rows, f"{name}: ids")
    if ids.numel() == 0:
        return torch.empty((0, 3), dtype=torch.long)
    if ids.dim() != 2 or ids.shape[1] != 3:
        raise DataError(
            f"{name}: triples must have the shape (N, 3) = head, relation, tail, "
            f"not {tuple(ids.shape)}"
        )
    return ids.to("cpu", copy=True)


def _rows(rows: Any, name: str, num_entities: int, num_relations: int) -> Tensor:
    ids = _integers(rows, name)
    columns = (("head", num_entities), ("relation", num_relations), ("tail", num_entities))
    for column, (what, size) in zip(ids.unbind(1), columns, strict=True):
        wrong = ((column < 0) | (column >= size)).nonzero().flatten()
        if len(wrong):
            row = int(wrong[0])
            raise OutOfRangeError(
                f"{name}, row {row}: {what} id {int(column[row])} is outside 0 … {size - 1}"
            )
    return ids


def _vocabulary(
    names: Sequence[str] | Vocabulary | int | None, ids: Tensor, kind: str
) -> Vocabulary:
    if isinstance(names, Vocabulary):
        return names
    if names is None:
        names = int(ids.max()) + 1 if ids.numel() else 0
    if isinstance(names, int):
        names = [str(i) for i in range(names)]
    return Vocabulary(names, kind)
