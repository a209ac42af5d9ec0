"""Rows of unequal length, laid end to end."""

from __future__ import annotations

import torch
from torch import Tensor


def expand(begin: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of several stretches of a long array.

    Args:
        begin: (N,) long, where stretch i begins.
        counts: (N,) long, how long it is; 0 is allowed.

    Returns:
        rows: (P,) long, the stretch that each position belongs to, ascending 0..N-1.
        positions: (P,) long, ``begin[i], begin[i] + 1, …`` of each stretch in turn.
    """
    rows = torch.repeat_interleave(counts)
    shift = begin - (counts.cumsum(0) - counts)
    return rows, torch.arange(len(rows), device=rows.device) + shift[rows]
