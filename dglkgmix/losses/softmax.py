"""Softmax cross-entropy of positives, from the small tensors that it needs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.losses.pointwise import Focus


@dataclass(frozen=True)
class Softmax:
    """Which cross-entropy: smoothed, focal, or both.

    Attributes:
        smoothing: ε; the target is (1 - ε) on the true tail and ε / |V| on every candidate.
        num_entities: |V|.
        focus: multiplies a term by (1 - softmax(s)_t)^γ; None for no factor.
    """

    smoothing: float
    num_entities: int
    focus: Focus | None = None

    def terms(
        self,
        log_partition: Tensor,
        picked: Tensor,
        total: Tensor | float,
        candidates: Tensor | int,
        *,
        weights: Tensor | None = None,
    ) -> Tensor:
        """Terms (P,) of P positives.

        Args:
            log_partition: (P,) log Σ exp(s) over the candidates of each positive.
            picked: (P,) s_t.
            total: (P,) Σ s over the candidates; any number where nothing is smoothed.
            candidates: how many candidates each has: |V| in 1-N.
            weights: (P,) factor of each term, or None.
        """
        share = self.smoothing / self.num_entities
        mass = 1 - self.smoothing + share * candidates
        terms = mass * log_partition - (1 - self.smoothing) * picked - share * total
        if self.focus is not None:
            terms = terms * self._factor(picked - log_partition, self.focus)
        return terms if weights is None else terms * weights

    @staticmethod
    def _factor(log_probability: Tensor, focus: Focus) -> Tensor:
        # 1 - p is 0 in float where p is all but 1; its power must still have a finite slope.
        smallest = torch.finfo(log_probability.dtype).tiny
        factor = (-torch.expm1(log_probability)).clamp(min=smallest).pow(focus.gamma)
        return factor.detach() if focus.detach else factor
