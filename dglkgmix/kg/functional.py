"""Functional relations: those by which nearly every head has one tail.

Capital of, born in, made by: a head whose tail is known has no other to be found. Taken from data,
as in AMIE's functionality (Galárraga et al., 2013), here as a share of heads.
"""

from __future__ import annotations

from torch import Tensor

from dglkgmix.kg.degrees import Graph

# Least number of heads, and least share of them with exactly one tail.
HEADS, SHARE = 20, 0.95


def functional(kg: Graph, share: float = SHARE) -> Tensor:
    """(2R,) bool: relations with ``HEADS`` or more in training, a ``share`` of them with one tail.

    A reciprocal relation that is functional makes its original inverse functional.
    """
    # The tails of (h, r) are as many as the tail-relation degree of h by the reciprocal of r.
    slots, size = kg.degrees.pair_keys // kg.num_entities, 2 * kg.num_relations
    heads = slots.bincount(minlength=size)
    single = slots[kg.degrees.pair_degrees == 1].bincount(minlength=size)
    return ((heads >= HEADS) & (single >= share * heads)).roll(kg.num_relations)
