"""A fast answer to "which of these millions of drawn triples are training triples?"."""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.kg.index import TripleIndex

# 2**64 divided by the golden ratio, as a signed integer: spreads keys over the table evenly.
_SPREAD = -7046029254386353131
_TABLE_BITS = (10, 26)


class KnownTriples:
    """Triples as keys ``row * E + tail``, row the query's in a :class:`TripleIndex`.

    Nearly all drawn triples are unknown, so a table of one byte for each hash value answers for
    most of them; only where it says "perhaps" are the sorted keys searched, which costs several
    times more.
    """

    def __init__(self, index: TripleIndex) -> None:
        self.num_entities = index.num_entities
        rows = torch.repeat_interleave(index.indptr.diff())
        self._keys = rows * index.num_entities + index.tails  # ascending
        low, high = _TABLE_BITS
        self._bits = min(max((8 * len(self._keys)).bit_length(), low), high)
        self._perhaps = torch.zeros(1 << self._bits, dtype=torch.bool)
        self._perhaps[self._hash(self._keys)] = True

    def positions(self, rows: Tensor, tails: Tensor) -> Tensor:
        """Positions (W,) at which (rows[n], tails[n]), both (N,), is a known triple."""
        keys = rows * self.num_entities + tails
        perhaps = self._perhaps.index_select(0, self._hash(keys)).nonzero().flatten()
        keys = keys[perhaps]
        found = torch.searchsorted(self._keys, keys).clamp_(max=len(self._keys) - 1)
        return perhaps[self._keys[found] == keys]

    def _hash(self, keys: Tensor) -> Tensor:
        spread = keys * _SPREAD
        return spread.bitwise_right_shift_(63 - self._bits).bitwise_and_((1 << self._bits) - 1)
