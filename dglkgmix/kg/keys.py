"""Ids: checked, packed into sortable integers, found again, and rows of unequal length."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dglkgmix.errors import DataError, OutOfRangeError

_LARGEST = 2**63 - 1


def as_integers(values: Any, what: str) -> Tensor:
    """Array-like of integers -> LongTensor of the same shape; DataError for anything else."""
    try:
        numbers = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{what} must be an array of integers: {error}") from None
    other = numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool
    if numbers.numel() and other:
        raise DataError(f"{what} must be integers, not {numbers.dtype}")
    return numbers.to(torch.long)


def as_ids(values: Any, what: str, size: int) -> Tensor:
    """Array-like of ids -> LongTensor of the same shape, every one checked to be in [0, size).

    Raises:
        DataError: numbers that are not integers.
        OutOfRangeError: an id below 0 or not below ``size``; it names the id.
    """
    ids = as_integers(values, f"{what} ids")
    if ids.numel():
        low, high = torch.aminmax(ids)
        if low < 0 or high >= size:
            wrong = int(low if low < 0 else high)
            raise OutOfRangeError(f"no {what} with id {wrong}: ids run from 0 to {size - 1}")
    return ids


def triple_keys(triples: Tensor, num_entities: int, num_relations: int) -> Tensor:
    """(N, 3) ids -> (N,) integers that sort as (head, relation, tail) and are equal as rows are.

    Where E * R * E does not fit into 63 bits, (head, relation) pairs are numbered first; keys
    are then comparable within one call only.
    """
    pairs = triples[:, 0] * num_relations + triples[:, 1]
    count = num_entities * num_relations
    if count * num_entities > _LARGEST:
        queries, pairs = torch.unique(pairs, return_inverse=True)
        count = len(queries)
    return pairs * num_entities + triples[:, 2]


def distinct(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Distinct ones of N keys, in order of first appearance.

    Returns:
        first: (n,) positions of the first occurrence of each key, ascending.
        which: (N,) for each key its place in ``first``.
    """
    ordered, positions = torch.sort(keys, stable=True)
    is_first = torch.ones(len(keys), dtype=torch.bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    first, order = positions[is_first].sort()
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    which = torch.empty_like(positions)
    which[positions] = place[is_first.cumsum(0) - 1]
    return first, which


def broadcast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    together: tuple[Tensor, ...] = torch.broadcast_tensors(*tensors)  # type: ignore[no-untyped-call]
    return together


def find(sorted_keys: Tensor, wanted: Tensor) -> Tensor:
    """Positions of ``wanted`` in ascending distinct ``sorted_keys``; -1 where absent."""
    if len(sorted_keys) == 0:
        return torch.full_like(wanted, -1)
    position = torch.searchsorted(sorted_keys, wanted.contiguous()).clamp_(max=len(sorted_keys) - 1)
    return torch.where(sorted_keys[position] == wanted, position, -1)


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
