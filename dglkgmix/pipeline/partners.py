"""Mixing partners for given edges of a DGL graph."""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from typing_extensions import Never

from dglkgmix.config import Config, StrategyConfig, TrainingConfig
from dglkgmix.config.checks import validate
from dglkgmix.pipeline.etypes import EdgeIds
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.strategies.base import SyntheticBatch
from dglkgmix.strategies.mixup import Mixup


class MixupPartners:
    """KG-Mixup's partners and λ for edges of a DGL graph (Shomer et al., 2023, 4.2).

    Each training edge with tail-relation degree below the threshold is mixed with k others that
    point at the same node, whatever their types: partners are drawn uniformly and without
    replacement from all of them, reciprocal triples included. Other edges have none.

    The partners of a whole epoch follow from the seed and the epoch, whatever the order in which
    edges are asked for; a new object stands at epoch 0.

    Args:
        ids: the graph with its training edges.
        threshold: η; edges with a degree strictly below it are mixed.
        partners: k.
        rule: "any" takes all other triples with the tail, "strict" those of them with another
            head and another relation.
        alpha: λ ~ Beta(α, α).
        lambda_range: "half" restricts λ to [½, 1].
        fixed_lambda: λ itself, in place of a draw.
        seed: of the draws.

    Attributes:
        coverage: ``below_threshold``, ``without_partner`` and ``synthetic_per_epoch``.

    Raises:
        ConfigError: an option out of its range.
    """

    def __init__(
        self,
        ids: GraphIds,
        *,
        threshold: int = 5,
        partners: int = 5,
        rule: Literal["any", "strict"] = "any",
        alpha: float = 1.0,
        lambda_range: Literal["full", "half"] = "full",
        fixed_lambda: float | None = None,
        seed: int = 0,
    ) -> None:
        options: StrategyConfig[Never] = StrategyConfig(
            name="mixup",
            synthetic_weight=1.0,
            threshold=threshold,
            partners=partners,
            partner_rule=rule,
            alpha=alpha,
            lambda_range=lambda_range,
            fixed_lambda="none" if fixed_lambda is None else fixed_lambda,
        )
        validate(Config(strategy=options))
        self.ids = ids
        self.seed = seed
        self._mixup = Mixup(ids.kg, options, TrainingConfig())
        self.coverage = self._mixup.coverage()
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Draw the partners and λ of an epoch."""
        self._mixup.start_epoch(epoch, self.seed)

    def __call__(self, eids: EdgeIds) -> SyntheticBatch | None:
        """This epoch's samples of training edges (N,), or None where there are none.

        ``positions`` counts edges in the order given, types one after another. Triples are in
        ids of ``ids.kg``: a partner with relation R or above is a triple read backwards.

        Raises:
            DataError: unknown edge types (UnknownNameError), or an edge that does not train.
            OutOfRangeError: an edge that the type does not have.
        """
        return self.of_rows(self.ids.rows(eids))

    def of_rows(self, rows: Tensor) -> SyntheticBatch | None:
        """The same for rows (N,) of ``ids.kg.edges``."""
        return self._mixup.synthetic(rows)
