"""Degrees over the training triples, degree bins, and what a threshold would augment.

Definitions: Shomer et al., 2023, 3. All degrees count distinct training triples,
reciprocal ones included; relations run over 0..2R-1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.keys import as_ids, broadcast, find
from dglkgmix.kg.vocabulary import Vocabulary

DEFAULT_BINS = (1, 10, 50)
DEFAULT_NAMES = ("zero", "low", "medium", "high")
PARTNER_RULES = ("any", "strict")


def readable(interval: str) -> str:
    """A bin's name to display: ``[50,∞)`` for ``[50,inf)``; other names stay."""
    return interval.replace(",inf)", ",∞)") if interval.startswith("[") else interval


class Degrees:
    """Degrees of arrays of entities ``v`` and relations ``r``; shapes broadcast, results are long.

    Counted over ``edges`` (M, 3), distinct training triples with their reciprocals.

    Raises (all methods):
        OutOfRangeError: an id outside the graph.
    """

    def __init__(self, edges: Tensor, num_entities: int, num_relations: int) -> None:
        self._edges = edges
        self._num_entities = num_entities
        self._num_relations = num_relations

    def in_degree(self, v: Any) -> Tensor:
        """Training triples with tail v."""
        return self.of_entities[as_ids(v, "entity", self._num_entities)]

    def out_degree(self, v: Any) -> Tensor:
        """Training triples with head v: the in-degree, as every triple has its reciprocal."""
        return self.in_degree(v)

    def tail_relation(self, v: Any, r: Any) -> Tensor:
        """d_tail(v, r): training triples with relation r and tail v."""
        v, r = self._pairs(v, r)
        position = find(self.pair_keys, r * self._num_entities + v)
        return torch.where(position < 0, 0, self.pair_degrees[position])

    def relation_specific(self, v: Any, r: Any) -> Tensor:
        """d(v, r): training triples with relation r and v as head or tail, self-loops once."""
        v, r = self._pairs(v, r)
        reciprocal = (r + self._num_relations) % (2 * self._num_relations)
        loops = find(self._loop_keys, r * self._num_entities + v) >= 0
        return self.tail_relation(v, r) + self.tail_relation(v, reciprocal) - loops.long()

    def other_relation(self, v: Any, r: Any) -> Tensor:
        """In-degree less tail-relation degree: training triples with tail v and not relation r."""
        return self.in_degree(v) - self.tail_relation(v, r)

    @cached_property
    def edge_tail_relation(self) -> Tensor:
        """(M,) d_tail(t, r) of every edge of ``kg.edges``."""
        return self.pair_degrees[self._pair_table[1]]

    @property
    def pair_keys(self) -> Tensor:
        """(P,) ``relation * E + tail`` of each distinct pair of training triples, ascending."""
        return self._pair_table[0]

    @cached_property
    def pair_degrees(self) -> Tensor:
        """(P,) tail-relation degree of each pair, in the order of its key; all > 0."""
        # Not by DGL, whose import takes longer than a prediction.
        return torch.bincount(self._pair_table[1], minlength=len(self.pair_keys))

    def _pairs(self, v: Any, r: Any) -> tuple[Tensor, ...]:
        entities = as_ids(v, "entity", self._num_entities)
        return broadcast(entities, as_ids(r, "relation", 2 * self._num_relations))

    @cached_property
    def of_entities(self) -> Tensor:
        """(E,) training triples of each entity."""
        return torch.bincount(self._edges[:, 2], minlength=self._num_entities)

    @cached_property
    def of_relations(self) -> Tensor:
        """(2R,) training triples of each relation, reciprocal ones included."""
        return torch.bincount(self._edges[:, 1], minlength=2 * self._num_relations)

    @cached_property
    def _pair_table(self) -> tuple[Tensor, Tensor]:
        """Ascending keys (relation, tail) of the pairs, and the pair of each edge."""
        keys = self._edges[:, 1] * self._num_entities + self._edges[:, 2]
        pairs, inverse = torch.unique(keys, return_inverse=True)
        return pairs, inverse

    @cached_property
    def _loop_keys(self) -> Tensor:
        loops = self._edges[self._edges[:, 0] == self._edges[:, 2]]
        return (loops[:, 1] * self._num_entities + loops[:, 2]).sort().values


class Graph(Protocol):
    """What this folder's functions read of a ``KnowledgeGraph``, which is made of them."""

    entities: Vocabulary
    relations: Vocabulary
    train: Tensor
    valid: Tensor
    test: Tensor
    node_types: Tensor | None
    node_type_names: tuple[str, ...]
    edge_types: tuple[tuple[str, str, str], ...] | None

    @property
    def num_entities(self) -> int:
        """E."""

    @property
    def num_relations(self) -> int:
        """R."""

    @property
    def edges(self) -> Tensor:
        """(M, 3): distinct training triples, then their reciprocals."""

    @property
    def train_edges(self) -> Tensor:
        """(N,) for each row of ``train`` its edge."""

    @property
    def degrees(self) -> Degrees:
        """Degrees over the training triples."""

    def split(self, name: str) -> Tensor:
        """Rows (N, 3)."""


@dataclass(frozen=True)
class DegreeBins:
    """Bins of degrees: [0, e_1), [e_1, e_2), … [e_n, inf) for ascending ``edges``.

    With the default edges (1, 10, 50) bins are named zero, low, medium and high, otherwise by
    their interval, as ``[1,5)``.

    Raises:
        ConfigError: no edges, or edges that are not whole, positive, ascending and below 2^63.
    """

    edges: Sequence[int] = DEFAULT_BINS

    def __post_init__(self) -> None:
        edges = tuple(self.edges)
        object.__setattr__(self, "edges", edges)
        if not edges or any(isinstance(e, bool) or not isinstance(e, int) for e in edges):
            raise ConfigError(f"bins: edges must be whole numbers, as 1,10,50, not {list(edges)}")
        if any(low >= high for low, high in pairwise((0, *edges))):
            raise ConfigError(f"bins: edges must be positive and ascending, not {list(edges)}")
        if edges[-1] >= 2**63:
            raise ConfigError(f"bins: edges must stay below 2^63, not {list(edges)}")

    @classmethod
    def parse(cls, text: str) -> DegreeBins:
        """From edges as text, as "1,10,50"; ConfigError for anything else."""
        try:
            return cls([int(edge) for edge in text.split(",")])
        except ValueError:
            raise ConfigError(
                "bins: edges must be whole, positive and ascending numbers, as 1,10,50, "
                f"not {text!r}"
            ) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The bins' names, in their order."""
        return DEFAULT_NAMES if self.edges == DEFAULT_BINS else self.intervals

    @property
    def intervals(self) -> tuple[str, ...]:
        """The bins as half-open intervals of degrees."""
        bounds = (0, *self.edges, "inf")
        return tuple(f"[{low},{high})" for low, high in pairwise(bounds))

    def __len__(self) -> int:
        return len(self.names)

    def assign(self, degrees: Any) -> Tensor:
        """Bin 0..len-1 of each degree, same shape, long; DataError for a negative degree."""
        values = torch.as_tensor(degrees)
        if values.numel() and values.min() < 0:
            raise DataError(f"a degree cannot be negative: {int(values.min())}")
        return torch.bucketize(values, torch.tensor(self.edges), right=True)

    def count(self, degrees: Any) -> dict[str, int]:
        """How many degrees fall into each bin, by bin name."""
        counts = torch.bincount(self.assign(degrees).flatten(), minlength=len(self))
        return dict(zip(self.names, counts.tolist(), strict=True))


def query_degrees(kg: Graph, split: str) -> Tensor:
    """d_tail(answer, relation) of a split's queries, (2N,): tail queries, then head queries."""
    if split == "train":  # Looking 2N pairs up takes longer.
        edges = torch.cat([kg.train_edges, kg.train_edges + len(kg.edges) // 2])
        return kg.degrees.edge_tail_relation[edges]
    heads, relations, tails = kg.split(split).unbind(1)
    reciprocal = relations + kg.num_relations
    return torch.cat(
        [kg.degrees.tail_relation(tails, relations), kg.degrees.tail_relation(heads, reciprocal)]
    )


def degree_summary(
    kg: Graph, bins: DegreeBins, threshold: int, partners: int, rule: str
) -> dict[str, Any]:
    """What ``dglkgmix degrees --json`` prints.

    Returns:
        pairs: distinct (tail, relation) pairs of the training triples, reciprocals included.
        below_threshold, without_partner, synthetic_per_epoch: see :func:`mixing_summary`.
        bins: for each split how many of its queries, both directions, fall into each bin.
    """
    return {
        "pairs": len(kg.degrees.pair_keys),
        **mixing_summary(kg, threshold, partners, rule),
        "bins": {s: bins.count(query_degrees(kg, s)) for s in SPLITS},
    }


def mixing_summary(
    kg: Graph, threshold: int, partners: int, rule: str, share: float = 1.0
) -> dict[str, int]:
    """What KG-Mixup with threshold η and k partners would do in an epoch (steps 1 and 2).

    Returns:
        below_threshold: training triples with d_tail < η, reciprocal ones included.
        without_partner: those of them that have no candidate under the rule.
        synthetic_per_epoch: synthetic samples, min(k, candidates) for each of their ``share``.

    Raises:
        ConfigError: a threshold or k outside [0, 2^63), or an unknown rule.
    """
    if rule not in PARTNER_RULES:
        raise ConfigError(f"partner_rule must be one of {', '.join(PARTNER_RULES)}, not {rule!r}")
    for name, value in {"threshold": threshold, "partners": partners}.items():
        if not 0 <= value < 2**63:
            raise ConfigError(f"{name} must lie in [0, 2^63), got {value}")
    below = kg.degrees.edge_tail_relation < threshold
    candidates = partner_counts(kg, rule)[below]
    return {
        "below_threshold": int(below.sum()),
        "without_partner": int((candidates == 0).sum()),
        "synthetic_per_epoch": math.ceil(share * int(candidates.clamp(max=partners).sum())),
    }


def partner_counts(kg: Graph, rule: str) -> Tensor:
    """(M,) number |C| of candidates for mixing with each edge of ``kg.edges``.

    "any": all other triples with the same tail. "strict": those of them with another head and
    another relation; of the triples left out only the edge itself shares both.
    """
    heads, _, tails = kg.edges.unbind(1)
    others = kg.degrees.in_degree(tails) - 1
    if rule == "any":
        return others
    _, pair, parallel = torch.unique(
        heads * kg.num_entities + tails, return_inverse=True, return_counts=True
    )
    strict: Tensor = others - (parallel[pair] - 1) - (kg.degrees.edge_tail_relation - 1)
    return strict
