"""Queries of the split with what a run answers, a few from every degree bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dglkgmix.evaluation.metrics import bin_of
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.prediction.answers import Predictor, Query
from dglkgmix.report.subject import Subject

TOP = 5
# Which query of a bin is shown: an easy and a hard one by this run's own ranks.
QUANTILES = (0.25, 0.75)


@dataclass(frozen=True)
class Guess:
    """One of the best answers: its probability as a ranked answer, where there is one."""

    name: str
    probability: float | None
    right: bool


@dataclass(frozen=True)
class Example:
    """A query, its answer, and the run's first guesses, other known answers left out.

    ``head`` or ``tail`` is ``?``; ``degree`` is the answer's tail-relation degree.
    """

    head: str
    relation: str
    tail: str
    answer: str
    bin_name: str
    degree: int
    rank: float
    guesses: tuple[Guess, ...]


def find_examples(subject: Subject, bins: DegreeBins) -> list[Example]:
    """An easy and a hard query of every bin that has any, in the order of the bins."""
    run = subject.run
    predictor = Predictor(run.kg, ModelScorer(run.model), run.list_probability(), bins)
    groups = bin_of(subject.table, bins)
    return [
        _example(subject, predictor, row, name)
        for group, name in enumerate(bins.names)
        for row in _rows(subject, np.flatnonzero(groups == group))
    ]


def _rows(subject: Subject, candidates: np.ndarray[Any, Any]) -> list[int]:
    if not len(candidates):
        return []
    order = candidates[np.argsort(subject.table["rank"][candidates], kind="stable")]
    places = [round(quantile * (len(order) - 1)) for quantile in QUANTILES]
    return [int(order[place]) for place in dict.fromkeys(places)]


def _example(subject: Subject, predictor: Predictor, row: int, bin_name: str) -> Example:
    table = subject.table
    names = {c: table.table.column(c)[row].as_py() for c in ("head", "relation", "tail")}
    asked = table.table.column("direction")[row].as_py()
    return Example(
        **{**names, asked: "?"},
        answer=names[asked],
        bin_name=bin_name,
        degree=int(table["tail_relation"][row]),
        rank=float(table["rank"][row]),
        guesses=_guesses(predictor, names, asked),
    )


def _guesses(predictor: Predictor, names: dict[str, str], asked: str) -> tuple[Guess, ...]:
    query = Query(**{role: name for role, name in names.items() if role != asked})
    found = predictor.predict(query, top=TOP + _known(predictor, names, asked))
    fair = [a for a in found.answers if a.name == names[asked] or not a.known]
    return tuple(Guess(a.name, a.probability, a.name == names[asked]) for a in fair[:TOP])


def _known(predictor: Predictor, names: dict[str, str], asked: str) -> int:
    """How many answers of the query some split holds."""
    import torch

    kg = predictor.kg
    given = kg.entities.id(names["head" if asked == "tail" else "tail"])
    relation = kg.relations.id(names["relation"]) + (kg.num_relations if asked == "head" else 0)
    return len(kg.known_index.tails_of(torch.tensor([given]), torch.tensor([relation]))[1])
