"""Queries of the split with what a run answers, a few from every degree bin."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from dglkgmix.evaluation.metrics import bin_of
from dglkgmix.evaluation.neighbours import Neighbours
from dglkgmix.kg import ROLES
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.prediction.answers import Answer, Predictor, Query
from dglkgmix.prediction.facts import Triple
from dglkgmix.prediction.why import Explainer
from dglkgmix.report.subject import Subject

TOP = 5
# Answers of a query that come with what training holds beside them.
EXPLAINED = 3
# Which query of a bin is shown: an easy and a hard one by this run's own ranks.
QUANTILES = (0.25, 0.75)


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
    guesses: tuple[Answer, ...]


def find_examples(subject: Subject, bins: DegreeBins) -> list[Example]:
    """An easy and a hard query of every bin that has any, in the order of the bins."""
    run = subject.run
    predictor = Predictor.of(run, bins)
    explainer = Explainer(run.kg, Neighbours(run.kg, run.model, run.scorer.vectors))
    table = subject.table
    groups, ranks = bin_of(table, bins), table["rank"]
    found = []
    for group, bin_name in enumerate(bins.names):
        own = np.flatnonzero(groups == group)
        order = own[np.argsort(ranks[own], kind="stable")]
        places = [round(quantile * (len(order) - 1)) for quantile in QUANTILES if len(order)]
        for row in (int(order[place]) for place in dict.fromkeys(places)):
            names = {c: table.table.column(c)[row].as_py() for c in ROLES}
            asked = table.table.column("direction")[row].as_py()
            found.append(
                Example(
                    **{**names, asked: "?"},
                    answer=names[asked],
                    bin_name=bin_name,
                    degree=int(table["tail_relation"][row]),
                    rank=float(ranks[row]),
                    guesses=_guesses(predictor, explainer, names, asked),
                )
            )
    return found


def _guesses(
    predictor: Predictor, explainer: Explainer, names: dict[str, str], asked: str
) -> tuple[Answer, ...]:
    kg = predictor.kg
    given = kg.entities.id(names["head" if asked == "tail" else "tail"])
    relation = kg.relations.id(names["relation"]) + (kg.num_relations if asked == "head" else 0)
    # Answers that some split holds are left out: so many more are asked for.
    known = kg.known_index.tails_of(torch.tensor([given]), torch.tensor([relation]))[1]
    query = Query(**{role: name for role, name in names.items() if role != asked})
    answers = predictor.predict(query, top=TOP + len(known)).answers
    fair = [a for a in answers if a.name == names[asked] or not a.known][:TOP]
    triples = [Triple(**(names | {asked: a.name})) for a in fair[:EXPLAINED]]
    whys = [explainer.why(triple, asked) for triple in triples]
    explained = [replace(a, why=why) for a, why in zip(fair, whys, strict=False)]
    return (*explained, *fair[EXPLAINED:])
