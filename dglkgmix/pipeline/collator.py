"""From a DGL edge batch to real and mixed samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dglkgmix._dgl import dgl
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.pipeline.negative_samplers import FilteredNegativeSampler, NegativeTails
from dglkgmix.pipeline.partners import MixupPartners
from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.training.prepared import PreparedBatch


class MixupCollator:
    """Turns a batch of a ``dgl.dataloading.DataLoader`` into triples, negatives and mixed samples.

    The loader's sampler is ``dgl.dataloading.as_edge_prediction_sampler(…)`` over ``ids.graph``.
    If it has a negative sampler that draws equally many destinations for each source, as those
    of this package and ``PerSourceUniform``, its pairs are the negatives.

    Args:
        ids: the graph with its training edges.
        partners: draws mixing partners; None mixes nothing.
        negatives: draws negatives where the batch brings none. Without any there are K = 0.
        both_directions: whether an edge also stands for its reciprocal triple, which needs
            ``negatives`` if the batch has some. For graphs without reverse edge types, whose
            edges ask for tails alone otherwise.

    Raises:
        ConfigError: both directions in a graph that has reverse edge types.
    """

    def __init__(
        self,
        ids: GraphIds,
        partners: MixupPartners | None = None,
        *,
        negatives: FilteredNegativeSampler | None = None,
        both_directions: bool = False,
    ) -> None:
        if both_directions and ids.has_reverse_types:
            raise ConfigError(
                "both_directions: the graph has edges of reverse types; let the DataLoader go "
                "through those instead"
            )
        self.ids, self.partners, self.negatives = ids, partners, negatives
        self.both_directions = both_directions
        self._candidates = NegativeTails(ids.kg)

    def __call__(self, batch: Sequence[Any]) -> PreparedBatch:
        """Samples in ids of ``ids.kg``, on the CPU; ``.to(device)`` moves them.

        Args:
            batch: (input nodes, pair graph, blocks) or (input nodes, pair graph, negative graph,
                blocks).

        Returns:
            ``batch``: :class:`TripleBatch` of B triples with negatives (B, K); ``synthetic``: the
            mixed samples, or None; ``hidden_edges`` and ``nodes()`` for the encoder.

        Raises:
            DataError: an edge that does not train, or negatives that do not fit the edges.
            ConfigError: no negatives for the reciprocal triples, or another number of them.
        """
        pairs, rivals = batch[1], batch[2] if len(batch) == 4 else None
        rows = self.ids.rows(
            {t: pairs.edges[t].data[dgl.EID] for t in pairs.canonical_etypes if pairs.num_edges(t)}
        )
        triples = self.ids.kg.edges[rows]
        # (B, K) tails; where a triple has none its own tail, which is masked.
        if rivals is None:
            negatives = self._drawn(triples)
        else:
            negatives = self._read(triples, _type_of_edges(pairs), rivals)
        if self.both_directions:
            back = (rows + self.ids.kg.num_edges // 2) % self.ids.kg.num_edges
            negatives = torch.cat([negatives, self._for_reciprocals(back, negatives.shape[1])])
            rows = torch.cat([rows, back])
        return self._prepared(rows, negatives)

    def _prepared(self, rows: Tensor, negatives: Tensor) -> PreparedBatch:
        triples = self.ids.kg.edges[rows]
        heads, relations, tails = triples.unbind(1)
        queries = self._candidates.queries(triples).repeat_interleave(negatives.shape[1])
        mask = ~self._candidates.are_known(queries, negatives.flatten()).view_as(negatives)
        synthetic = None if self.partners is None else self.partners.of_rows(rows)
        return PreparedBatch(
            batch=TripleBatch(heads, relations, tails, rows, negatives, mask),
            weights=None,
            excess=0.0,
            terms=len(rows) + int(mask.sum()),
            synthetic=synthetic,
            offsets=None,
        )

    def _for_reciprocals(self, rows: Tensor, k: int) -> Tensor:
        own = 0 if self.negatives is None else self.negatives.k
        if own != k:
            raise ConfigError(
                f"both_directions: the batch has {k} negatives for an edge, and {own} would be "
                "drawn for its reciprocal: give the collator a negative sampler with the same k"
            )
        return self._drawn(self.ids.kg.edges[rows])

    def _drawn(self, triples: Tensor) -> Tensor:
        if self.negatives is None:
            return torch.empty((len(triples), 0), dtype=torch.long)
        return self.negatives.draw(triples)[0]

    def _read(self, triples: Tensor, types: Tensor, rivals: Any) -> Tensor:
        """Negatives (B, K) from DGL's negative graph.

        DGL may order the edges of its two graphs differently. Negatives of one head and edge type
        are as good for one triple as for another, so they are dealt out by these.
        """
        heads, tails = self._ends(rivals)
        entities = self.ids.kg.num_entities
        drawn, place = torch.sort(_type_of_edges(rivals) * entities + heads, stable=True)
        asked, order = torch.sort(types * entities + triples[:, 0], stable=True)
        for counted in (torch.ones(len(asked), dtype=torch.bool), self._candidates.exist(triples)):
            who = order[counted[order]]
            k = len(drawn) // max(len(who), 1)
            keys = asked[counted[order]]
            if torch.equal(keys.repeat_interleave(k), drawn):
                negatives = triples[:, 2:].repeat(1, k)
                negatives[who] = tails[place].view(-1, k)
                return negatives
        raise DataError(
            f"{len(drawn)} negative pairs for {len(triples)} edges: a negative sampler must draw "
            "equally many destinations for the source of each edge"
        )

    def _ends(self, graph: Any) -> tuple[Tensor, Tensor]:
        """Entities at both ends of all edges of a compacted graph, type after type."""
        ends: tuple[list[Tensor], list[Tensor]] = ([], [])
        for etype in graph.canonical_etypes:
            local = graph.edges(etype=etype, order="eid")
            for part, ntype, nodes in zip(ends, (etype[0], etype[2]), local, strict=True):
                original = graph.nodes[ntype].data[dgl.NID][nodes.long()]
                part.append(self.ids.entities(ntype, original))
        return torch.cat(ends[0]), torch.cat(ends[1])


def _type_of_edges(graph: Any) -> Tensor:
    sizes = torch.tensor([graph.num_edges(etype) for etype in graph.canonical_etypes])
    return torch.repeat_interleave(sizes)
