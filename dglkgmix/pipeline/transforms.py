"""Transforms in the shape of :mod:`dgl.transforms`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from dglkgmix._dgl import dgl
from dglkgmix.kg.degrees import DEFAULT_BINS, DegreeBins
from dglkgmix.pipeline.etypes import ReverseTypes
from dglkgmix.pipeline.ids import GraphIds

if TYPE_CHECKING:
    from dgl import DGLGraph


class TailRelationDegree(dgl.transforms.BaseTransform):  # type: ignore[misc]
    """Writes the tail-relation degree of each edge, and its bin, to edge features.

    The degree of an edge (h, r, t) is the number of distinct training triples with relation r and
    tail t (Shomer et al., 2023, 3.2). Held-out edges get theirs too, and do not count: degree 0
    means that r never pointed at t in training. The graph given stays as it is; a copy comes back.

    Args:
        degree_name: edge feature for the degree, (M,) int64.
        bin_name: edge feature for the bin, (M,) int64: 0, 1, … along ``bins``.
        bins: ascending edges of the bins; 1, 10, 50 are zero, low, medium and high.
        reciprocal: also write degree and bin of each edge's reciprocal triple (t, r⁻¹, h), what a
            query for the head sees, to the names with "_reciprocal" after them.
        masks: names of edge features by split, see :class:`GraphIds`.
        reverse_etypes: edge types that hold others read backwards, see :class:`GraphIds`. Degrees
            are the same without, but reverses that are not declared count as relations with
            reciprocals of their own.

    Raises:
        ConfigError: bins that are not positive and ascending.
    """

    def __init__(
        self,
        degree_name: str = "tail_relation_degree",
        bin_name: str = "degree_bin",
        *,
        bins: Sequence[int] = DEFAULT_BINS,
        reciprocal: bool = False,
        masks: Mapping[str, str] | None = None,
        reverse_etypes: ReverseTypes | None = None,
    ) -> None:
        self.degree_name, self.bin_name, self.bins = degree_name, bin_name, DegreeBins(bins)
        self.reciprocal, self.masks, self.reverse_etypes = reciprocal, masks, reverse_etypes

    def __call__(self, g: DGLGraph) -> DGLGraph:
        """A copy of the graph with the features.

        Raises:
            DataError: masks or reverse types that do not fit the graph, or no training edge.
        """
        ids = GraphIds(g, masks=self.masks, reverse_etypes=self.reverse_etypes)
        result = g.clone()
        kg = ids.kg
        for etype in g.canonical_etypes:
            every = ids.triples({etype: torch.arange(g.num_edges(etype))})
            heads, relations, tails = every.unbind(1)
            asked = {"": (tails, relations)}
            if self.reciprocal:
                mirrored = (relations + kg.num_relations) % kg.num_query_relations
                asked["_reciprocal"] = (heads, mirrored)
            for suffix, pair in asked.items():
                degrees = kg.degrees.tail_relation(*pair)
                features = {self.degree_name: degrees, self.bin_name: self.bins.assign(degrees)}
                for name, values in features.items():
                    result.edges[etype].data[name + suffix] = values.to(g.device)
        return result
