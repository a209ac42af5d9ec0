"""Counts of a data set: sizes, repetition, leakage, and names that only some splits have."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dglkgmix.kg import SPLITS
from dglkgmix.kg.degrees import Graph
from dglkgmix.kg.keys import find, triple_keys
from dglkgmix.kg.mirrors import count_mirrored, inverse_pairs, mirror_warnings

# Least number of heads, and least share of them with exactly one tail.
HEADS, SHARE = 20, 0.95


def summarise(kg: Graph) -> dict[str, int]:
    """Counts of a graph, keys in the order given here.

    Returns:
        entities, relations, train, valid, test: names, and rows of the splits.
        duplicates: rows that repeat an earlier row of their split.
        overlap: distinct triples that occur in more than one split.
        reciprocal_leakage: test rows (h, r, t) for which training has (t, r', h) under any r'.
        valid_mirrors, test_mirrors: those under r or an inverse of r, see
            :mod:`dglkgmix.kg.mirrors`; without triples from an entity to itself.
        inverse_pairs: pairs of relations that are inverses of each other.
        self_loops: distinct training triples whose head is their tail.
        entities_only_in_valid, …: entities, and relations, of that split and of no other.
        entities_not_in_train, relations_not_in_train: names without a training triple, wherever
            else they occur, if anywhere.
        entities_alike, relations_alike: names that differ from another one in case, outer white
            space or Unicode form alone; see :meth:`dglkgmix.kg.vocabulary.Vocabulary.alike`.
    """
    splits = (kg.train, kg.valid, kg.test)
    entities = [_used(rows[:, [0, 2]], kg.num_entities) for rows in splits]
    relations = [_used(rows[:, 1], kg.num_relations) for rows in splits]
    keys = triple_keys(torch.cat(splits), kg.num_entities, kg.num_relations)
    distinct = [torch.unique(part) for part in torch.split(keys, [len(rows) for rows in splits])]
    _, times = torch.unique(torch.cat(distinct), return_counts=True)
    pairs = torch.unique(kg.train[:, 0] * kg.num_entities + kg.train[:, 2])
    reverse = kg.test[:, 2] * kg.num_entities + kg.test[:, 0]
    originals = kg.edges[: len(kg.edges) // 2]
    inverses = inverse_pairs(kg)
    return {
        "entities": kg.num_entities,
        "relations": kg.num_relations,
        "train": len(kg.train),
        "valid": len(kg.valid),
        "test": len(kg.test),
        "duplicates": len(keys) - sum(map(len, distinct)),
        "overlap": int((times > 1).sum()),
        "reciprocal_leakage": int((find(pairs, reverse) >= 0).sum()),
        "valid_mirrors": count_mirrored(kg, kg.valid, inverses),
        "test_mirrors": count_mirrored(kg, kg.test, inverses),
        "inverse_pairs": len(inverses),
        "self_loops": int((originals[:, 0] == originals[:, 2]).sum()),
        "entities_only_in_valid": _only_in(1, entities),
        "entities_only_in_test": _only_in(2, entities),
        "relations_only_in_valid": _only_in(1, relations),
        "relations_only_in_test": _only_in(2, relations),
        "entities_not_in_train": int((~entities[0]).sum()),
        "relations_not_in_train": int((~relations[0]).sum()),
        "entities_alike": sum(map(len, kg.entities.alike())),
        "relations_alike": sum(map(len, kg.relations.alike())),
    }


def split_warnings(kg: Graph) -> list[str]:
    """What makes figures on valid and test too good, or empty."""
    return [*repeat_warnings(kg), *mirror_warnings(kg), *unseen_warnings(kg)]


def repeat_warnings(kg: Graph) -> list[str]:
    """At most one warning: how many valid and test triples are training triples."""
    splits = {name: kg.split(name) for name in SPLITS}
    keys = triple_keys(torch.cat([*splits.values()]), kg.num_entities, kg.num_relations)
    train, *held = torch.split(keys, [*map(len, splits.values())])
    found = [
        f"{count:,} of {len(part):,} {split} triples"
        for split, part in zip(SPLITS[1:], held, strict=True)
        if (count := int(torch.isin(part, train).sum()))
    ]
    if not found:
        return []
    rows = " and ".join(found)
    return [f"{rows} are training triples, too: figures are too good; put a triple in one split"]


def unseen_warnings(kg: Graph) -> list[str]:
    """A warning for each of valid and test of whose triples most have a name that is not in train.

    As a rule, names are written otherwise there.
    """
    entities = _used(kg.train[:, [0, 2]], kg.num_entities)
    relations = _used(kg.train[:, 1], kg.num_relations)
    found = []
    for split, rows in (("valid", kg.valid), ("test", kg.test)):
        known = entities[rows[:, 0]] & relations[rows[:, 1]] & entities[rows[:, 2]]
        count = int((~known).sum())
        if 2 * count > len(rows):
            found.append(
                f"{count:,} of {len(rows):,} {split} triples have an entity or relation that no "
                "training triple has: figures tell nothing of those; are names written alike in "
                "all files?"
            )
    return found


def functional(kg: Graph, share: float = SHARE) -> Tensor:
    """(2R,) bool: relations with ``HEADS`` or more in training, a ``share`` of them with one tail.

    Capital of, born in, made by: a head whose tail is known has no other to be found. Taken from
    data, as in AMIE's functionality (Galárraga et al., 2013), here as a share of heads.

    A reciprocal relation that is functional makes its original inverse functional.
    """
    # The tails of (h, r) are as many as the tail-relation degree of h by the reciprocal of r.
    slots, size = kg.degrees.pair_keys // kg.num_entities, 2 * kg.num_relations
    heads = slots.bincount(minlength=size)
    single = slots[kg.degrees.pair_degrees == 1].bincount(minlength=size)
    return ((heads >= HEADS) & (single >= share * heads)).roll(kg.num_relations)


def relation_rows(kg: Graph) -> list[dict[str, Any]]:
    """Each relation, most training rows first: name, rows in train, valid and test, functional and
    inverse_functional (:func:`functional`).
    """
    counts = {
        name: kg.split(name)[:, 1].bincount(minlength=kg.num_relations).tolist() for name in SPLITS
    }
    forward, inverse = functional(kg).view(2, -1).tolist()
    rows = [
        {
            "name": name,
            **{split: count[i] for split, count in counts.items()},
            "functional": forward[i],
            "inverse_functional": inverse[i],
        }
        for i, name in enumerate(kg.relations)
    ]
    return sorted(rows, key=lambda row: -row["train"])


def _used(ids: Tensor, size: int) -> Tensor:
    mask = torch.zeros(size, dtype=torch.bool)
    mask[ids.flatten()] = True
    return mask


def _only_in(which: int, used: list[Tensor]) -> int:
    return int((used[which] & (torch.stack(used).sum(0) == 1)).sum())
