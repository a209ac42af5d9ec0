"""Mixing partners, drawn by DGL's neighbour sampler for a whole epoch at a time.

KG-Mixup (Shomer et al., 2023, 4.2): each training triple with d_tail below the threshold gets
min(k, |C|) partners, uniformly and without replacement from the candidates C, other triples with
its tail.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from dglkgmix.kg.degrees import mixing_summary, partner_counts
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.keys import expand
from dglkgmix.sampling.seeds import generator

if TYPE_CHECKING:
    from dgl import DGLGraph

# Sampled edges held at once.
_BLOCK = 2**22
# DGL's seed is a signed 32-bit integer.
_LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Partners:
    """The pairs of triples that are mixed in one epoch: S synthetic samples.

    Attributes:
        edges: (S,) long, ascending; sample s augments ``kg.edges[edges[s]]``.
        partners: (S,) long; it mixes in ``kg.edges[partners[s]]``.
        indptr: (M + 1,) long; the samples of edge e are ``indptr[e]..indptr[e + 1] - 1``.
    """

    edges: Tensor
    partners: Tensor
    indptr: Tensor

    def __len__(self) -> int:
        """Number S of synthetic samples."""
        return len(self.edges)

    def of_edges(self, edges: Tensor) -> tuple[Tensor, Tensor]:
        """Samples of a batch of edges (P,).

        Returns:
            positions: (S',) long, ascending, the position in ``edges`` that a sample belongs to.
            samples: (S',) long, its index in 0..S-1.
        """
        begin = self.indptr[edges]
        return expand(begin, self.indptr[edges + 1] - begin)


class PartnerSampler:
    """Draws partners for all training triples below a threshold.

    Each draw takes k in-edges of the tail more than it has in-edges that are not candidates, drops
    the latter and keeps k of the rest at random: a uniform sample of min(k, |C|) from C.

    Args:
        kg: the graph; its training triples, reciprocal ones included.
        threshold: η; triples with d_tail strictly below it get partners.
        partners: k.
        rule: "any" excludes the triple itself, "strict" all triples with its head or relation.
        share: chance of each of these triples to get partners in a draw.

    Attributes:
        coverage: what :func:`dglkgmix.kg.degrees.mixing_summary` tells.
        candidates: (M,) number |C| of candidates of each edge.

    Raises:
        ConfigError: a threshold or k outside [0, 2^63), or an unknown rule.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        threshold: int,
        partners: int,
        rule: Literal["any", "strict"] = "any",
        share: float = 1.0,
    ) -> None:
        self.coverage = mixing_summary(kg, threshold, partners, rule, share)
        self.candidates = candidates = partner_counts(kg, rule)
        # A larger k draws the same samples; blocks are sized by k.
        self.partners = min(partners, int(candidates.max()))
        self.rule, self.share = rule, share
        self._edges = kg.edges
        below = kg.degrees.edge_tail_relation < threshold
        self._augmented = (below & (candidates > 0)).nonzero().flatten()
        tails = kg.edges[self._augmented, 2]
        self._excluded = kg.degrees.in_degree(tails) - candidates[self._augmented]
        self._kg = kg

    def draw(self, seed: int) -> Partners:
        """Partners of one epoch; the same seed gives the same, whatever the number of threads.

        DGL's sampler has one generator of its own for the process, which this seeds.
        """
        chance = generator(seed, "which partners are kept")
        pairs = [torch.empty((2, 0), dtype=torch.long)]
        if self.partners > 0:
            with _seeded(seed):
                pairs += [self._block(*block, chance) for block in self._blocks(chance)]
        drawn = torch.cat(pairs, 1)
        edges, order = torch.sort(drawn[0], stable=True)
        counts = torch.bincount(edges, minlength=len(self._edges))
        indptr = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
        return Partners(edges, drawn[1][order], indptr)

    def _blocks(self, chance: torch.Generator) -> Iterator[tuple[Tensor, int]]:
        """Edges that are drawn for together, with the number of in-edges to draw for each.

        That number is rounded up to k plus a power of two, as DGL draws equally many for all.
        """
        augmented, excluded = self._augmented, self._excluded
        if self.share < 1:
            taken = torch.rand(len(augmented), generator=chance) < self.share
            augmented, excluded = augmented[taken], excluded[taken]
        spare = 2 ** torch.ceil(torch.log2(excluded.double())).long()
        for extra in torch.unique(spare).tolist():
            fanout = self.partners + extra
            edges = augmented[spare == extra]
            for block in torch.split(edges, max(1, _BLOCK // fanout)):
                yield block, fanout

    def _block(self, edges: Tensor, fanout: int, chance: torch.Generator) -> Tensor:
        """Pairs (2, S') of edge and partner for the given edges (N,)."""
        from dglkgmix._dgl import dgl  # not above: prediction with a run does without DGL

        tails = self._edges[edges, 2]
        sampled = dgl.sampling.sample_neighbors(self._graph, tails, fanout)
        counts = self._kg.degrees.in_degree(tails).clamp(max=fanout)
        rows, drawn = torch.repeat_interleave(counts), sampled.edata[dgl.EID]  # (T,) each
        if self.rule == "any":
            allowed = drawn != edges[rows]
        else:
            own, other = self._edges[edges[rows]], self._edges[drawn]
            allowed = (own[:, 0] != other[:, 0]) & (own[:, 1] != other[:, 1])
        rows, drawn = rows[allowed], drawn[allowed]
        keep = _at_most(self.partners, rows, len(edges), chance)
        return torch.stack([edges[rows[keep]], drawn[keep]])

    @cached_property
    def _graph(self) -> DGLGraph:
        """In-edges of each entity; edge i is ``kg.edges[i]``."""
        return self._kg.homogeneous.formats("csc")


def _at_most(count: int, rows: Tensor, num_rows: int, chance: torch.Generator) -> Tensor:
    """Positions (S,) that keep at most ``count`` entries of each row, chosen uniformly.

    ``rows``: (T,) long, ascending row of each entry.
    """
    sizes = torch.bincount(rows, minlength=num_rows)
    if len(rows) == 0 or int(sizes.max()) <= count:
        return torch.arange(len(rows))
    begin = sizes.cumsum(0) - sizes
    within = torch.arange(len(rows)) - begin[rows]
    dice = torch.full((num_rows, int(sizes.max())), 2.0)
    dice[rows, within] = torch.rand(len(rows), generator=chance)
    chosen = dice.topk(count, largest=False).indices  # (num_rows, count)
    exists = chosen < sizes.unsqueeze(1)
    return (begin.unsqueeze(1) + chosen)[exists]


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """DGL draws with one generator per thread: one thread gives the same draws on any machine."""
    from dglkgmix._dgl import dgl

    before = dgl.utils.get_num_threads()
    dgl.utils.set_num_threads(1)
    dgl.seed(seed % _LARGEST_SEED)
    try:
        yield
    finally:
        dgl.utils.set_num_threads(before)
