"""Which entities may answer a query: one set for each relation and direction.

A *slot* is a relation with a direction: entity t is in slot r, 0 … 2R − 1, where training holds a
triple (h, r, t), reciprocal ones included.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.readers_text import DIALECTS, read_table
from dglkgmix.paths import path_of

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.index import TripleIndex

RULES = ("all", "node-types", "observed", "typed")
TYPES_FILE = "types-file"
# Names that an error lists, and classes that are compared at once.
_SHOWN, _BLOCK = 5, 2**14


@dataclass(frozen=True, eq=False)
class Candidates:
    """The entities that may answer the queries of each relation.

    Attributes:
        rule: how they were found, one of ``RULES`` or ``TYPES_FILE``; see :meth:`of`.
        classes: (E,) long: entities of one class are candidates of the same relations.
        allowed: (2R, C) bool: entities of class c are candidates of relation r.
    """

    rule: str
    classes: Tensor
    allowed: Tensor

    @classmethod
    def of(
        cls, kg: KnowledgeGraph, rule: str | None = None, types: dict[int, set[str]] | None = None
    ) -> Candidates:
        """The candidates of all relations of a graph.

        - ``all``: every entity; the default of a graph without node types.
        - ``node-types``: entities of a node type that training answers of the relation have; the
          default of a graph with node types.
        - ``types-file``, chosen by giving ``types``: entities that share a type with a training
          answer of the relation.
        - ``observed``: entities in the relation's slot (the local closed world of Krompaß et al.,
          2015). An answer of tail-relation degree 0 is none.
        - ``typed``: entities whose every slot holds a training answer of the relation, too. So an
          entity is none where training shows it in a slot in which no answer of the relation is.

        A relation without training triples has all entities as candidates, and under ``typed`` an
        entity without training triples is one of every relation.

        Args:
            kg: the graph.
            rule: one of ``RULES``; None is the default.
            types: the types of every entity, by id (:func:`read_types`).

        Raises:
            ConfigError: an unknown rule, ``node-types`` without node types, or a rule and types.
        """
        if types is not None and rule is not None:
            raise ConfigError(
                "a rule of candidates and types of entities exclude each other: give one"
            )
        if types is not None:
            numbers = {name: i for i, name in enumerate(sorted(set().union(*types.values())))}
            sets = (sorted(map(numbers.__getitem__, types[i])) for i in range(kg.num_entities))
            classes, members = _grouped(sets, len(numbers))
            return cls(TYPES_FILE, classes, _sharing(kg, classes, members))
        rule = rule or ("all" if kg.node_types is None else "node-types")
        if rule == "all":
            return cls.all(kg.num_entities, kg.num_query_relations)
        if rule == "node-types":
            if kg.node_types is None:
                raise ConfigError("candidates 'node-types': the graph has no node types")
            kinds = torch.eye(len(kg.node_type_names), dtype=torch.bool)
            return cls(rule, kg.node_types, _sharing(kg, kg.node_types, kinds))
        if rule not in RULES:
            raise ConfigError(f"candidates must be one of {', '.join(RULES)}, not {rule!r}")
        slots: list[list[int]] = [[] for _ in range(kg.num_entities)]
        keys = kg.degrees.pair_keys
        pairs = (keys % kg.num_entities).tolist(), (keys // kg.num_entities).tolist()
        for entity, slot in zip(*pairs, strict=True):
            slots[entity].append(slot)
        classes, members = _grouped(slots, kg.num_query_relations)
        allowed = members.T.contiguous() if rule == "observed" else _slots_shared(members)
        allowed[~members.any(0)] = True
        return cls(rule, classes, allowed)

    @classmethod
    def all(cls, num_entities: int, num_query_relations: int) -> Candidates:
        """Every entity for all 2R relations."""
        classes = torch.zeros(num_entities, dtype=torch.long)
        return cls("all", classes, torch.ones(num_query_relations, 1, dtype=torch.bool))

    @cached_property
    def everything(self) -> bool:
        """Every entity is a candidate of every relation."""
        return bool(self.allowed.all())

    def mask(self, relations: Tensor, start: int, stop: int) -> Tensor:
        """(B, stop - start) bool: which entities of a slice are candidates of (B,) relations."""
        if self.everything:
            return torch.ones(len(relations), stop - start, dtype=torch.bool)
        return self.allowed[relations][:, self.classes[start:stop]]

    def contain(self, relations: Tensor, entities: Tensor) -> Tensor:
        """Whether entities are candidates of relations; shapes broadcast, the result is bool."""
        return self.allowed[relations, self.classes[entities]]

    def left(
        self, known: TripleIndex, heads: Tensor, relations: Tensor, answers: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What filtering leaves of the candidates of Q queries (Q,) with their answers (Q,).

        Returns:
            candidates: (Q,) those that are no known answers, and the answer. Where the answer is
                no candidate: all entities that are no known answers, and the answer.
            missed: (Q,) bool: the answer is no candidate.
        """
        own = known.contains(heads, relations, answers).long()
        rows, counts = known.locate(heads, relations), known.indptr.diff()
        none = counts.new_zeros(1)  # Row -1: a query without known answers.
        everything = len(self.classes) - torch.cat([counts, none])[rows] + own
        missed = ~self.contain(relations, answers)
        if self.everything:
            return everything, missed
        sizes = self.allowed.long() @ self.classes.bincount(minlength=self.allowed.shape[1])
        row = torch.repeat_interleave(counts)
        taken = row[self.contain(known.relations[row], known.tails)].bincount(minlength=len(known))
        restricted = sizes[relations] - torch.cat([taken, none])[rows] + own
        return torch.where(missed, everything, restricted), missed


def read_types(
    path: str | Path, kg: KnowledgeGraph, options: ReadOptions | None = None
) -> dict[int, set[str]]:
    """The types of every entity from a file with the columns entity and type.

    The first row names the columns. An entity with several types has several rows. Of ``options``,
    which are of the graph's own files, ``strip`` and ``normalize`` are used for entities.

    Raises:
        DataError: a file that cannot be read, an empty type, an entity that the graph lacks, or
            one of the graph's that has no row.
    """
    path, reading = path_of(path), options or ReadOptions()
    if path.suffix.lower() not in DIALECTS:
        raise DataError(f"{path}: types are read from {', '.join(DIALECTS)} files")
    found: dict[int, set[str]] = defaultdict(set)
    unknown: dict[str, str] = {}
    for where, row in read_table(path, ("entity", "type")):
        name = reading.name(row["entity"])
        if not row["type"]:
            raise DataError(f"{where}: the type is empty")
        if name in kg.entities:
            found[kg.entities.id(name)].add(row["type"])
        else:
            unknown.setdefault(name, where)
    if unknown:
        names = [f"{where}: {kg.entities.unknown(n)}" for n, where in [*unknown.items()][:_SHOWN]]
        more = [f"and {len(unknown) - _SHOWN:,} more"] * (len(unknown) > _SHOWN)
        title = f"{path}: entities that the graph lacks: {len(unknown):,}"
        raise DataError("\n  ".join([title, *names, *more]))
    lacking = [name for i, name in enumerate(kg.entities) if i not in found]
    if lacking:
        raise DataError(
            f"{path}: {len(lacking):,} of {kg.num_entities:,} entities have no type, "
            f"first {', '.join(map(repr, lacking[:_SHOWN]))}: give each entity a row"
        )
    return found


def _grouped(sets: Iterable[Sequence[int]], count: int) -> tuple[Tensor, Tensor]:
    """Classes (E,) of entities with equal ascending sets of 0 … ``count`` − 1, and (C, count) bool
    the set of each class.
    """
    numbers: defaultdict[tuple[int, ...], int] = defaultdict()
    numbers.default_factory = numbers.__len__
    classes = torch.tensor([numbers[tuple(items)] for items in sets])
    members = torch.zeros(len(numbers), count, dtype=torch.bool)
    for items, number in numbers.items():
        members[number, list(items)] = True
    return classes, members


def _sharing(kg: KnowledgeGraph, classes: Tensor, members: Tensor) -> Tensor:
    """(2R, C) bool: classes that share a member with the class of a training answer."""
    answered = torch.zeros(kg.num_query_relations, len(members), dtype=torch.bool)
    answered[kg.edges[:, 1], classes[kg.edges[:, 2]]] = True
    shared: Tensor = (answered.float() @ members.float()) @ members.float().T > 0
    return shared | ~answered.any(1, keepdim=True)


def _slots_shared(members: Tensor) -> Tensor:
    """(2R, C) bool: classes all of whose slots (C, 2R) share an entity with the relation's slot."""
    parts = torch.split(members, _BLOCK)
    together = torch.zeros(members.shape[1], members.shape[1])
    for part in parts:
        together += part.float().T @ part.float()
    apart = (together == 0).float()
    return torch.cat([apart @ part.float().T == 0 for part in parts], 1)
