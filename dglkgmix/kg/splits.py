"""Train, valid and test made from one table of triples."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.kg.keys import triple_keys
from dglkgmix.kg.tables import Codes, TripleTable

Mirrors = Literal["together", "apart"]
DEFAULT_FRACTIONS = (0.8, 0.1, 0.1)
SEEDS = 2**32  # what NumPy's RandomState takes
_log = logging.getLogger(__name__)


def split_table(
    table: TripleTable,
    fractions: Sequence[float] = DEFAULT_FRACTIONS,
    seed: int = 0,
    mirrors: Mirrors = "together",
) -> tuple[TripleTable, TripleTable, TripleTable]:
    """Splits rows so that every entity and relation of valid and test occurs in train.

    Distinct triples are drawn, so that copies of one stay in one split; rows keep their order.
    With ``mirrors`` "together", (h, r, t) and (t, r, h) are drawn together, and valid and test may
    have one triple more than their share. The draw depends on the rows and the seed alone. Where
    too few triples can be spared, valid and test shrink in proportion and a warning is logged.

    Raises:
        ConfigError: fractions that are not three, not in [0, 1], do not sum to 1, or leave
            nothing to train on; a seed outside [0, 2^32).
    """
    part = assign_parts(table.codes, fractions, seed, mirrors)
    train, valid, test = (TripleTable(table.names, table.codes[part == i]) for i in range(3))
    return train, valid, test


def assign_parts(
    codes: Codes, fractions: Sequence[float], seed: int, mirrors: Mirrors = "together"
) -> Codes:
    """0 (train), 1 (valid) or 2 (test) for each of the rows (N, 3); see :func:`split_table`."""
    good = len(fractions) == 3 and all(0 <= f <= 1 for f in fractions) and fractions[0] > 0
    if not good or not math.isclose(sum(fractions), 1, abs_tol=1e-6):
        raise ConfigError(
            "split must be three fractions for train, valid and test that sum to 1, as "
            f"0.8,0.1,0.1, not {','.join(str(f) for f in fractions)}"
        )
    if not 0 <= seed < SEEDS:
        raise ConfigError(f"the split's seed must lie in [0, 2^32), got {seed}")
    names = int(codes.max()) + 1 if codes.size else 0
    first, which = _numbered(codes, names)
    group = np.arange(len(first))
    if mirrors == "together":
        # Both triples get the place of the first, so that without mirrors nothing changes.
        ends = codes[first][:, [0, 2]]
        pairs = np.stack([ends.min(1), codes[first][:, 1], ends.max(1)], 1)
        own, group = _numbered(pairs, names)
        order = np.argsort(own)
        group, first = np.argsort(order)[group], first[own[order]]
    triples, sizes = codes[first], np.bincount(group)  # of each group
    # RandomState's stream is frozen: the same split with every version of NumPy.
    order = np.random.RandomState(seed).permutation(len(triples))
    needed = np.zeros(len(order), np.bool_)
    for columns in ([0, 2], [1]):
        # The first group with an entity or a relation stays in train.
        _, at = np.unique(triples[order][:, columns].ravel(), return_index=True)
        needed[at // len(columns)] = True
    free = order[~needed]
    valid, test = (round(int(sizes.sum()) * fraction) for fraction in fractions[1:])
    wanted, spare = valid + test, int(sizes[free].sum())
    if wanted > spare:
        valid = valid * spare // wanted
        test = spare - valid if test else 0
        _log.warning(
            "only %d of the %d triples wanted for valid and test can be spared, as every entity "
            "and relation must occur in train: valid has %d, test %d",
            *(spare, wanted, valid, test),
        )
    part = np.zeros(len(triples), np.int64)
    for number, size in ((1, valid), (2, test)):
        # Groups that begin before the size is reached.
        taken = int(np.searchsorted(np.cumsum(sizes[free]) - sizes[free], size))
        part[free[:taken]] = number
        free = free[taken:]
    return part[group][which]


def _numbered(rows: Codes, num_names: int) -> tuple[Codes, Codes]:
    """Positions of the distinct ones of N rows (N, 3), sorted, and for each row its number."""
    keys = triple_keys(torch.from_numpy(rows), num_names, num_names).numpy()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which
