"""Encoder, decoder and per-entity bias: the only place where ids become vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from dglkgmix.config import ModelConfig
from dglkgmix.errors import ConfigError
from dglkgmix.kernels.batch_norm import frozen_statistics
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.encoder import Encoder, Vectors
from dglkgmix.models.registry import build_decoder, build_encoder
from dglkgmix.sampling.mixup import mix

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


class LinkPredictor(nn.Module):
    """Scores triples of ids.

    Letters: B batch, S synthetic samples, E entities, K candidates, De, Dr and Dq the dimensions
    of entity, relation and query vectors.

    Attributes:
        bias: (E,) added to the score of each tail, or None.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, *, bias: bool) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        entities = encoder.entity_table.shape[0]
        self.bias = nn.Parameter(torch.zeros(entities)) if bias else None

    @classmethod
    def build(cls, options: ModelConfig, kg: KnowledgeGraph, *, seed: int = 0) -> LinkPredictor:
        """The model that ``options`` (nothing left at "auto") describe, with the random weights
        of ``seed``; PyTorch's own random state stays as it was.

        Raises:
            ConfigError: an unknown name, an option at "auto", or a geometry that does not fit.
        """
        if isinstance(options.bias, str):
            raise ConfigError("model.bias is still 'auto': resolve the configuration first")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            decoder = build_decoder(options)
            encoder = build_encoder(options, kg, decoder)
            model = cls(encoder, decoder, bias=options.bias)
            with torch.no_grad():
                if options.init_scale == "auto":
                    decoder.start_tables(encoder.entity_table, encoder.relation_table)
                else:
                    for table in (encoder.entity_table, encoder.relation_table):
                        nn.init.normal_(table, std=options.init_scale)
        return model

    @property
    def num_entities(self) -> int:
        """E."""
        return self.encoder.entity_table.shape[0]

    def encode(self, hidden_edges: Tensor | None = None, nodes: Tensor | None = None) -> Vectors:
        """The vectors that the other methods take; see :meth:`Encoder.encode`."""
        return self.encoder.encode(hidden_edges, nodes)

    def query(self, vectors: Vectors, heads: Tensor, relations: Tensor) -> Tensor:
        """Queries (B, Dq) of head ids (B,) and relation ids (B,)."""
        head = vectors.entity(heads)
        # Finding a training batch's distinct relations would make a GPU wait, and gain it little.
        worth = heads.device.type == "cpu" or not self.training
        if not (worth and self.decoder.shares_relations):
            return self.decoder.query(head, vectors.relation(relations))
        distinct, rows = relations.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        return self.decoder.query(head, vectors.relation(distinct), rows)

    def score_all(self, vectors: Vectors, query: Tensor) -> Tensor:
        """Scores (B, E) of queries (B, Dq) against all entities, the bias included."""
        return self.decoder.score_all(query, vectors.entities, self.bias)

    def score(
        self, vectors: Vectors, query: Tensor, candidates: Tensor, with_bias: bool = True
    ) -> Tensor:
        """Scores (B, K) of queries (B, Dq) against candidate ids (B, K)."""
        bias = None
        if with_bias and self.bias is not None:
            # Unlike bias[candidates], whose gradient is summed in no fixed order.
            bias = self.bias.index_select(0, candidates.reshape(-1)).view_as(candidates)
        return self.decoder.score(query, vectors.entity(candidates), bias)

    def mixed_query(self, vectors: Vectors, first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
        """Queries (S, Dq) of mixed heads and relations, in a pass of their own.

        Args:
            vectors: what :meth:`encode` gave.
            first: triples (S, 3), weighed λ; ``second``: triples (S, 3), weighed 1 - λ.
            second: see ``first``; the tails of both are not looked at.
            lam: λ (S,).

        Batch norm uses the pass's own statistics, or the running ones for a single sample, and
        leaves the running ones as they are.
        """
        heads = vectors.entity(torch.stack([first[:, 0], second[:, 0]]))  # (2, S, De)
        relations = vectors.relation(torch.stack([first[:, 1], second[:, 1]]))  # (2, S, Dr)
        with frozen_statistics(self.decoder):
            mixed = mix(relations[0], relations[1], lam)
            return self.decoder.query(mix(heads[0], heads[1], lam), mixed)
