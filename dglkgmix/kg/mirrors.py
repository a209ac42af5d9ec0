"""Mirrors: triples of the same two entities reversed, under the same or an inverse relation.

A mirror of (h, r, t) is (t, r, h), or (t, s, h) where the relation s is an inverse of r. A test
triple whose mirror is in train does not test what a model has learnt (Toutanova and Chen 2015;
Akrami et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.kg.degrees import Graph
from dglkgmix.kg.keys import distinct, expand, find, triple_keys

# Least share and least number of a relation's triples whose reverse exists under its inverse. The
# share is that of Akrami et al. for reverse relations.
INVERSE_FROM = 0.8
AT_LEAST = 2
_SHOWN = 3


@dataclass(frozen=True)
class InversePair:
    """A relation whose triples exist reversed under another relation.

    Attributes:
        relation, inverse: ids; ``relation`` is the one with fewer triples.
        share: of its distinct triples, those whose reverse exists under ``inverse``. Triples
            from an entity to itself do not count.
    """

    relation: int
    inverse: int
    share: float


def inverse_pairs(kg: Graph) -> list[InversePair]:
    """The pairs with a share of ``INVERSE_FROM`` or more over all splits, by ids."""
    rows = torch.cat([kg.train, kg.valid, kg.test])
    rows = rows[distinct(triple_keys(rows, kg.num_entities, kg.num_relations))[0]]
    rows = rows[rows[:, 0] != rows[:, 2]]
    here, there = _reverses(rows, rows, kg.num_entities)
    pairs = rows[here, 1] * kg.num_relations + rows[there, 1]
    pairs, common = torch.unique(pairs, return_counts=True)
    one, other = pairs // kg.num_relations, pairs % kg.num_relations
    sizes = torch.bincount(rows[:, 1], minlength=kg.num_relations)
    shares = common / sizes[one]
    fewer = (sizes[one] < sizes[other]) | ((sizes[one] == sizes[other]) & (one < other))
    found = fewer & (common >= AT_LEAST) & (shares >= INVERSE_FROM)
    columns = (column[found].tolist() for column in (one, other, shares.double()))
    return [InversePair(*row) for row in zip(*columns, strict=True)]


def count_mirrored(kg: Graph, rows: Tensor, inverses: list[InversePair]) -> int:
    """How many rows (N, 3) of valid or test have their mirror in train."""
    relations = kg.num_relations
    both = [(pair.relation, pair.inverse) for pair in inverses]
    both += [(inverse, relation) for relation, inverse in both]
    mirrored = [r * relations + s for r, s in [*both, *((r, r) for r in range(relations))]]
    rows = rows[rows[:, 0] != rows[:, 2]]
    here, there = _reverses(rows, kg.train, kg.num_entities)
    pairs = rows[here, 1] * relations + kg.train[there, 1]
    known = find(torch.tensor(sorted(mirrored)), pairs) >= 0
    return len(torch.unique(here[known]))


def _reverses(rows: Tensor, among: Tensor, num_entities: int) -> tuple[Tensor, Tensor]:
    """(P,) positions in ``rows`` and in ``among`` of rows (h, r, t) and (t, s, h), any r and s."""
    keys, order = torch.sort(among[:, 0] * num_entities + among[:, 2])
    wanted = rows[:, 2] * num_entities + rows[:, 0]
    begin = torch.searchsorted(keys, wanted)
    here, places = expand(begin, torch.searchsorted(keys, wanted, right=True) - begin)
    return here, order[places]


def mirror_warnings(kg: Graph) -> list[str]:
    """At most one warning: how many valid and test triples have their mirror in train."""
    inverses = inverse_pairs(kg)
    found = [
        f"{count:,} of {len(rows):,} {split} triples"
        for split, rows in (("valid", kg.valid), ("test", kg.test))
        if (count := count_mirrored(kg, rows, inverses))
    ]
    if not found:
        return []
    shown = "; ".join(
        f"{kg.relations[pair.relation]!r} and {kg.relations[pair.inverse]!r}"
        for pair in inverses[:_SHOWN]
    )
    more = f" and {len(inverses) - _SHOWN:,} more" if len(inverses) > _SHOWN else ""
    under = f", or under its inverse (inverse relations: {shown}{more})" if inverses else ""
    warning = (
        f"{' and '.join(found)} have their mirror in train: the same entities reversed, under the "
        f"same relation{under}; figures are too good where a model only repeats it"
    )
    return [warning]
