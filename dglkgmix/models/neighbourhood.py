"""The edges that one layer passes messages along, grouped by (relation, target).

All edges of a group share a weight matrix and a divisor, the tail-relation degree. So their
sources are averaged first, and a matrix meets each group once instead of each edge: on
FB15k-237 150 thousand products in place of 544 thousand, and no tensor as long as the edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.models.links import Links

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


@dataclass(frozen=True)
class Neighbourhood:
    """One layer's messages.

    Attributes:
        edges: links from source rows to the Q groups, one for each edge.
        groups: links from the groups to target rows.
        sizes: how many groups each of the 2R relations has; groups are sorted by relation.
        degrees: (Q,) edges in each group: d_tail(v, r).
    """

    edges: Links
    groups: Links
    sizes: tuple[int, ...]
    degrees: Tensor

    @classmethod
    def build(
        cls,
        ends: tuple[Tensor, Tensor],
        relations: Tensor,
        num_relations: int,
        num_sources: int,
        num_targets: int,
    ) -> Neighbourhood:
        """From edges: source and target rows (M,), relation ids (M,)."""
        sources, targets = ends
        keys, group = torch.unique(relations * num_targets + targets, return_inverse=True)
        edges = Links(sources, group, num_sources, len(keys))
        groups = Links(torch.arange(len(keys)), keys % num_targets, len(keys), num_targets)
        sizes = torch.bincount(keys // num_targets, minlength=num_relations).tolist()
        return cls(edges, groups, tuple(sizes), torch.bincount(group, minlength=len(keys)))

    @classmethod
    def full(cls, kg: KnowledgeGraph) -> Neighbourhood:
        """All training edges, in the order of ``kg.edges``, between all entities."""
        heads, relations, tails = kg.edges.unbind(1)
        sizes = (kg.num_query_relations, kg.num_entities, kg.num_entities)
        return cls.build((heads, tails), relations, *sizes)

    @property
    def num_targets(self) -> int:
        """T, rows that messages arrive at."""
        return self.groups.num_targets

    @cached_property
    def directions(self) -> Links:
        """Links from the groups to targets by direction: T rows of the original relations, then T
        of their reciprocals.
        """
        originals = sum(self.sizes[: len(self.sizes) // 2])
        groups, targets = self.groups.ends(self.degrees.device)
        rows = targets + self.num_targets * (groups >= originals)
        return Links(groups, rows, len(groups), 2 * self.num_targets)

    def means(self, features: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean (Q, D) of the source features (S, D) of each group, and how many there are (Q,).

        ``hidden`` edges are left out of both. A group whose edges are all hidden gets zeros.
        """
        total = self.edges.sum(features)  # (Q, D)
        degrees = self.degrees.to(features.device)
        if hidden is not None:
            sources, group = (ends[hidden] for ends in self.edges.ends(features.device))
            total = total.index_add_(0, group, features.index_select(0, sources), alpha=-1)
            degrees = degrees.index_add(0, group, torch.ones_like(group), alpha=-1)
        share = (degrees > 0).to(features.dtype) / degrees.clamp(min=1)
        return total.mul_(share.unsqueeze(1)), degrees


def with_reciprocals(edges: Tensor, num_edges: int) -> Tensor:
    """Distinct edge ids with those of their reciprocals: (P,) to (P',)."""
    half = num_edges // 2
    originals: Tensor = torch.unique(edges % half)
    return torch.cat([originals, originals + half])


def thinned(edges: Tensor, share: float) -> Tensor:
    """Each pair of edges that :func:`with_reciprocals` gives stays with probability ``share``."""
    if share >= 1:
        return edges
    coins = torch.rand(len(edges) // 2) < share
    return edges[coins.repeat(2).to(edges.device)]
