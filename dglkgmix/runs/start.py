"""Weights of a finished run as the start of another training, matched by name to its graph."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.config import Config
from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.keys import triple_keys
from dglkgmix.kg.vocabulary import Vocabulary
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.runs import run_files
from dglkgmix.runs.run_files import TABLES


@dataclass(frozen=True)
class Start:
    """Weights by parameter, the embedding tables or a whole model, and where names stand in them.

    Attributes:
        entities: (E,) the row of each of the graph's entities, -1 where it is new.
        relations: (2R,) likewise, reciprocal relations included.
        whole: whether all parameters of a model must be among the weights.
        where: the run, as messages call it.
        seen: how many of the graph's validation and test triples the run was trained on.
    """

    weights: dict[str, Tensor]
    entities: Tensor
    relations: Tensor
    whole: bool = False
    where: str = ""
    seen: int = 0

    @classmethod
    def of_stage(cls, weights: dict[str, Tensor]) -> Start:
        """The embedding tables of an earlier stage on the same graph."""
        entities, relations = (torch.arange(len(weights[name])) for name in TABLES)
        return cls({name: weights[name] for name in TABLES}, entities, relations)

    @property
    def new(self) -> Tensor:
        """(E,) bool: the run does not know the entity."""
        return self.entities < 0

    def __str__(self) -> str:
        entities, relations = int((~self.new).sum()), int((self.relations >= 0).sum()) // 2
        return (
            f"{self.where}, which knows {entities:,} of {len(self.entities):,} entities and "
            f"{relations:,} of {len(self.relations) // 2:,} relations"
        )

    def fill(self, model: LinkPredictor) -> None:
        """Put the weights into ``model``, the rows of names that the run knows among them.

        Rows of new names stay as they are, random: starting a new entity at the mean of its known
        neighbours was no better (bench/moving.py).

        Raises:
            CheckpointError: parameters that the model lacks, or has in another shape.
        """
        rows = dict.fromkeys(("bias", TABLES[0]), self.entities)
        rows |= {f"encoder.{name}": self.relations for name in model.encoder.by_relation}
        parameters, state = dict(model.named_parameters()), model.state_dict()
        for name in {**(parameters if self.whole else dict.fromkeys(TABLES)), **self.weights}:
            found, own = self.weights.get(name), state.get(name)
            shapes = [None if x is None else tuple(x.shape)[name in rows :] for x in (found, own)]
            if shapes[0] != shapes[1]:
                there, here = ("missing" if s is None else f"of shape {s}" for s in shapes)
                raise CheckpointError(
                    f"{self.where}: {name}, without its rows, is {there} there and {here} here: "
                    "give [model] the values that the run's config.toml has"
                )
        with torch.no_grad():
            for name, found in self.weights.items():
                if name in rows:
                    known = rows[name] >= 0
                    parameters[name][known] = found[rows[name][known]]
                elif name in parameters:  # Not the statistics of batch norm.
                    parameters[name].copy_(found)


def read_start(config: Config, kg: KnowledgeGraph, called: str = "") -> Start | None:
    """What a settled ``config`` starts from: all of ``training.parent``, the tables of
    ``pretrain.run``, or None where it names no run. Messages name the run's folder, or ``called``.

    Raises:
        CheckpointError: no run, a damaged or unfinished one, one of another decoder or encoder, or
            one without a name of ``kg``.
    """
    whole = bool(config.training.parent)
    path = config.training.parent or config.pretrain.run
    if not path:
        return None
    where, folder = called or path, RunFolder.open(path)
    if not folder.has(run_files.MODEL):
        raise CheckpointError(
            f"{where}: the run has not finished; resume with: dglkgmix train --resume --out "
            f"{shlex.quote(path)}"
        )
    if whole:
        theirs = run_files.read_config(folder).model
        for kind in ("decoder", "encoder"):
            there, here = getattr(theirs, kind), getattr(config.model, kind)
            if there != here:
                raise CheckpointError(
                    f"{where}: its model.{kind} is {there!r} and this training's {here!r}: "
                    "take the run's, or start from no run"
                )
    weights = run_files.read_weights(folder)
    if not whole:
        weights = {name: weights[name] for name in TABLES if name in weights}
    old = run_files.read_graph(folder)
    entities = _rows(old.entities, kg.entities, where)
    relations = _rows(old.relations, kg.relations, where)
    reciprocal = torch.where(relations < 0, relations, relations + old.num_relations)
    held_out = torch.cat([kg.valid, kg.test])
    rows = [entities[held_out[:, 0]], relations[held_out[:, 1]], entities[held_out[:, 2]]]
    mapped = torch.stack(rows, 1)
    both = torch.cat([old.train, mapped[(mapped >= 0).all(1)]])
    keys = triple_keys(both, old.num_entities, old.num_relations)
    seen = int(torch.isin(keys[len(old.train) :], keys[: len(old.train)]).sum())
    return Start(weights, entities, torch.cat([relations, reciprocal]), whole, where, seen)


def _rows(theirs: Vocabulary, ours: Vocabulary, where: str) -> Tensor:
    rows = {name: row for row, name in enumerate(theirs)}
    found = torch.tensor([rows.get(name, -1) for name in ours])
    if (found < 0).all():
        raise CheckpointError(
            f"{where}: no {ours.kind} of this graph is in it ({theirs[0]!r} there, {ours[0]!r} "
            "here): start from a run on an earlier state of the same data"
        )
    return found
