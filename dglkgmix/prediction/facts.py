"""Given facts: what a model makes of a triple whose three names are given."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import ListProbability
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.queries import DIRECTIONS, EvalQueries, queries_of
from dglkgmix.evaluation.ranking import rank
from dglkgmix.evaluation.shortlist import Array, make_shortlists
from dglkgmix.kg import SPLITS
from dglkgmix.kg.degrees import DegreeBins

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.vocabulary import Vocabulary

_SIDE: dict[str, type] = {"score": float, "rank": float, "candidates": int, "probability": float}
_SIDE |= {"degree": int, "bin": str}
_NAMES: dict[str, type] = {"head": str, "relation": str, "tail": str}
SIDES = {f"{end}_{name}": kind for end in DIRECTIONS for name, kind in _SIDE.items()}
# Rows of tables: of given facts, and of the new facts of relations.
COLUMNS: dict[str, type] = {"query": int, **_NAMES, "splits": str, **SIDES}
NEW_COLUMNS: dict[str, type] = {**_NAMES, "place": int, "plausibility": float, **SIDES}


@dataclass(frozen=True)
class Triple:
    """Three names: a training fact, or a row of queries that asks for nothing."""

    head: str
    relation: str
    tail: str

    @property
    def given(self) -> dict[str, str]:
        """The names by role, as :class:`dglkgmix.prediction.answers.Query` has them."""
        return asdict(self)


@dataclass(frozen=True)
class Side:
    """A fact as the answer to one of its two queries.

    Attributes:
        rank: filtered and realistic, as ``evaluate`` ranks.
        candidates: entities that it was ranked among, itself included; one that is no candidate
            has the last rank.
        probability: that it is among the held-out facts of the query, as
            :class:`dglkgmix.prediction.answers.Answer` has it; None beyond the query's first 20
            new answers, for facts of train and valid, and where none was fitted.
        degree: tail-relation degree of the answer; ``bin`` is that of the degree.
    """

    score: float
    rank: float
    candidates: int
    probability: float | None
    degree: int
    bin: str


@dataclass(frozen=True)
class Fact:
    """A given triple, judged by a model.

    Attributes:
        splits: those of train, valid and test that hold it.
        directions: "tail" for the query (head, relation, ?), "head" for (?, relation, tail).
        warnings: names that are in no training triple, or no candidates.
    """

    head: str
    relation: str
    tail: str
    splits: list[str]
    directions: dict[str, Side]
    warnings: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as docs/json.md shows them."""
        return asdict(self)


def judge_facts(
    kg: KnowledgeGraph,
    scorer: Scorer,
    triples: Tensor,
    listed: ListProbability | None = None,
    bins: DegreeBins | None = None,
    *,
    candidates: Candidates | None = None,
) -> list[Fact]:
    """What the model makes of each of N triples (N, 3) of ``kg``'s ids, known or not.

    Ranks leave out the facts that any split holds. The rest is as of
    :class:`dglkgmix.prediction.answers.Predictor`.

    Raises:
        NumericError: a score is not finite.
    """
    queries, bins = queries_of(kg, triples), bins or DegreeBins()
    among = candidates or Candidates.of(kg)
    ranks = rank(scorer, queries, kg.known_index, candidates=among)
    chances = np.full(len(queries), np.nan)
    if listed is not None:
        chances = _probabilities(kg, scorer, queries, listed, among)
    degrees = kg.degrees.tail_relation(queries.answers, queries.relations)
    sides = [
        Side(score, place, left, None if np.isnan(chance) else chance, degree, bins.names[group])
        for score, place, left, chance, degree, group in zip(
            *(ranks.score.tolist(), ranks.rank.tolist(), ranks.candidates.tolist()),
            *(chances.tolist(), degrees.tolist(), bins.assign(degrees).tolist()),
            strict=True,
        )
    ]
    indexes = kg.train_index, kg.index_of(kg.valid), kg.index_of(kg.test)
    held = {n: i.contains(*triples.unbind(1)) for n, i in zip(SPLITS, indexes, strict=True)}
    return [
        Fact(
            *(kg.entities[h], kg.relations[r], kg.entities[t]),
            splits=[name for name in SPLITS if held[name][i]],
            directions=dict(zip(DIRECTIONS, (sides[i], sides[len(triples) + i]), strict=True)),
            warnings=[
                *untrained(kg, kg.entities, *dict.fromkeys((h, t))),
                *untrained(kg, kg.relations, r),
                *(
                    f"{kg.entities[answer]!r} is no candidate for the {end} of "
                    f"{kg.relations[r]!r}: as an answer it has the last rank"
                    for end, answer, row in zip(
                        DIRECTIONS, (t, h), (i, len(triples) + i), strict=True
                    )
                    if ranks.missed[row]
                ),
            ],
        )
        for i, (h, r, t) in enumerate(triples.tolist())
    ]


def _probabilities(
    kg: KnowledgeGraph,
    scorer: Scorer,
    queries: EvalQueries,
    listed: ListProbability,
    among: Candidates,
) -> Array:
    """(Q,) of the answers of Q queries; NaN where there is none."""
    known, asked = kg.steering_index, (queries.heads, queries.relations)
    lists = make_shortlists(scorer, kg, known, *asked, candidates=among)
    row, place = np.nonzero(lists.entities == queries.answers[:, None].numpy())
    found = np.full(len(queries), np.nan)
    found[row] = listed.of(lists)[row, place]
    return found


def is_trained(kg: KnowledgeGraph, names: Vocabulary, i: int) -> bool:
    """Whether a training triple holds an entity or a relation of the graph."""
    counted = kg.degrees.of_relations if names.kind == "relation" else kg.degrees.of_entities
    return bool(counted[i])


def untrained(kg: KnowledgeGraph, names: Vocabulary, *ids: int) -> list[str]:
    """A warning for each of the names that is in no training triple."""
    return [
        f"{names.kind} {names[i]!r} is in no training triple: its vector is untrained, "
        "and answers that rest on it mean little"
        for i in ids
        if not is_trained(kg, names, i)
    ]


def fact_row(fact: Fact) -> dict[str, Any]:
    """The fact's values by the names of ``COLUMNS``, those of both queries side by side."""
    row = {"head": fact.head, "relation": fact.relation, "tail": fact.tail}
    row["splits"] = " ".join(fact.splits)
    for end, side in fact.directions.items():
        row |= {f"{end}_{name}": value for name, value in asdict(side).items()}
    return row
