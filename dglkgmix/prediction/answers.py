"""Names in, answers out: tails, heads, or relations of a pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError, NumericError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import ListProbability
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.neighbours import Neighbours
from dglkgmix.evaluation.scorer import Scorer
from dglkgmix.evaluation.shortlist import best_places
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.statistics import SHARE, functional
from dglkgmix.kg.tables import TripleTable
from dglkgmix.prediction.facts import (
    NEW_COLUMNS,
    Fact,
    Triple,
    fact_row,
    judge_facts,
    trained_names,
    untrained,
)
from dglkgmix.prediction.relations import new_facts
from dglkgmix.prediction.why import Explainer, Why

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.runs.run import Run


@dataclass(frozen=True)
class Query:
    """Two names of a triple; the third, None, is asked for.

    Raises:
        ConfigError: not exactly two of the three are given.
    """

    head: str | None = None
    relation: str | None = None
    tail: str | None = None

    def __post_init__(self) -> None:
        if [self.head, self.relation, self.tail].count(None) != 1:
            raise ConfigError(
                "a query gives two of head, relation and tail, and asks for the third; "
                f"given: {', '.join(self.given) or 'none'}"
            )

    @property
    def given(self) -> dict[str, str]:
        """The names that are given, by role."""
        roles = {"head": self.head, "relation": self.relation, "tail": self.tail}
        return {role: name for role, name in roles.items() if name is not None}

    @property
    def asked(self) -> str:
        """The role that is asked for."""
        return next(r for r in ("head", "relation", "tail") if r not in self.given)


@dataclass(frozen=True)
class Answer:
    """One candidate for the name asked for.

    Attributes:
        name: of the entity or relation.
        score: the model's.
        probability: that it is among the held-out facts of its query, which is a lower bound of
            that it is true. None for facts of train and valid, after the query's first 20
            candidates, for relations, and where there were too few validation triples to fit it.
        degree: training triples of the query's relation into the predicted entity; for a relation
            asked for, into the given tail.
        bin: of the degree.
        known: whether train, valid or test hold the triple.
        trained: whether training triples hold the name at all.
        why: what training holds beside it, where the predictor has an explainer.
    """

    name: str
    score: float
    probability: float | None
    degree: int
    bin: str
    known: bool
    trained: bool
    why: Why | None = None


@dataclass(frozen=True)
class Prediction:
    """Answers to a query, best first, with warnings.

    ``functional``: the query's relation has one answer for nearly every entity
    (:mod:`dglkgmix.kg.statistics`). ``another``: of the relation's queries with an answer in
    training, the share that has another one in validation; the probabilities presume that this
    query is one. None where train and valid hold no answer to it, where the probabilities count the
    share in, and where there are none.
    """

    query: Query
    answers: list[Answer]
    warnings: list[str]
    functional: bool = False
    another: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values: as docs/json.md shows them."""
        values = asdict(self)
        first = {"query": values.pop("query"), "asked": self.query.asked}
        return first | {key: values.pop(key) for key in ("functional", "another")} | values


class Predictor:
    """Answers queries by names with any scorer.

    Args:
        kg: the graph that the scorer was trained on.
        scorer: the model.
        listed: the probability of ranked answers; None leaves it out.
        bins: of the degrees that come with every answer.
        explainer: adds ``why`` to every answer; None leaves it out.
        candidates: the entities that may answer, those that ``listed`` was fitted with; None is
            the default of :meth:`~dglkgmix.evaluation.candidates.Candidates.of`.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        scorer: Scorer,
        listed: ListProbability | None = None,
        bins: DegreeBins | None = None,
        explainer: Explainer | None = None,
        *,
        candidates: Candidates | None = None,
    ) -> None:
        self.kg, self.scorer, self.listed, self.explainer = kg, scorer, listed, explainer
        self.candidates, self._functional = candidates or Candidates.of(kg), functional(kg)
        self.bins = bins or DegreeBins()
        self._trained = trained_names(kg)

    @classmethod
    def of(cls, run: Run, bins: DegreeBins | None = None, *, explain: bool = False) -> Predictor:
        """With the model of a run and its probability of ranked answers."""
        scorer, explainer = ModelScorer(run.model), None
        if explain:
            explainer = Explainer(run.kg, Neighbours(run.kg, run.model, scorer.vectors))
        given = run.kg, scorer, run.list_probability(), bins, explainer
        return cls(*given, candidates=run.candidates)

    def predict(self, query: Query, *, top: int = 10, new_only: bool = False) -> Prediction:
        """The ``top`` best answers; with ``new_only``, of those that no split holds.

        Equal scores come in the order of the vocabulary.

        Raises:
            UnknownNameError: a name that the graph lacks; the message lists close matches.
            ConfigError: ``top`` is below 1.
            NumericError: a score is not finite.
        """
        if top < 1:
            raise ConfigError(f"top must be at least 1, not {top}: it is the number of answers")
        choices = self._choices(query)
        with torch.no_grad():
            scores = self._scores(choices)
        if not bool(torch.isfinite(scores).all()):
            raise NumericError(f"the model's scores for {query.given} are not all finite")
        known = self._known(choices)
        allowed = self._allowed(choices)
        left = allowed & ~known if new_only else allowed
        count = min(top, int(left.sum()))
        best = best_places(scores.masked_fill(~left, -torch.inf)[None], count)[0]
        chances = self._probabilities(choices, scores)[best]
        answers = self._answers(choices, best, scores[best], known[best], chances)
        is_functional = query.asked != "relation" and bool(self._functional[choices.relations])
        warnings = self._warnings(query)
        if is_functional and known.any():
            one = "tail" if query.asked == "tail" else "head"
            warnings.append(
                f"relation {query.relation!r} is functional here: at least {100 * SHARE:.0f} % of "
                f"its queries have one {one} in training. The data hold this query's: another is "
                "unlikely"
            )
        another = None
        if self.listed is not None and query.asked != "relation":
            asked = torch.tensor([choices.head]), choices.relations
            if len(self.kg.steering_index.tails_of(*asked)[1]):
                another = self.listed.another(int(choices.relations))
        if self.explainer is not None:
            triples = [Triple(**(query.given | {query.asked: a.name})) for a in answers]
            whys = [self.explainer.why(triple, query.asked) for triple in triples]
            answers = [replace(a, why=why) for a, why in zip(answers, whys, strict=True)]
        return Prediction(query, answers, warnings, is_functional, another)

    def predict_triples(self, triples: Iterable[Sequence[str]]) -> list[Fact]:
        """What the model makes of given facts: rows of head, relation and tail, known or not.

        Raises:
            UnknownNameError: a name that the graph lacks; the message lists close matches.
            DataError: a row that has not three names.
            NumericError: a score is not finite.
        """
        table = TripleTable.from_rows(triples, "triples")
        heads, relations, tails = table.columns()
        ids = (self.kg.entities.ids(heads), self.kg.relations.ids(relations))
        rows = torch.stack([*ids, self.kg.entities.ids(tails)], 1)
        return self._judged(rows)

    def _judged(self, triples: Tensor) -> list[Fact]:
        asked = self.kg, self.scorer, triples, self.listed, self.bins
        return judge_facts(*asked, candidates=self.candidates)

    def new_facts(
        self, relation: int | str, top: int = 100, *, by_bin: bool = False
    ) -> list[dict[str, Any]]:
        """The ``top`` best facts of a relation that no split holds; with ``by_bin``, of each bin.

        :func:`dglkgmix.prediction.relations.new_facts` says which, and how they are ordered.

        Returns:
            head, relation, tail, place, plausibility, and for both queries of a fact, as
            ``tail_…`` and ``head_…``, what :class:`dglkgmix.prediction.facts.Side` holds.

        Raises:
            UnknownNameError: a relation that the graph lacks; the message lists close matches.
            NumericError: a score is not finite.
        """
        kg, chosen = self.kg, relation
        if isinstance(chosen, str):
            chosen = kg.relations.id(chosen)
        bins = self.bins if by_bin else None
        asked = kg, self.scorer, chosen, top, self.listed
        found = new_facts(*asked, by_bin=bins, candidates=self.candidates)
        columns = self._judged(found.triples), found.places.tolist(), found.plausibility.tolist()
        order = zip(*columns, strict=True)
        rows = [fact_row(f) | {"place": place, "plausibility": p} for f, place, p in order]
        return [{column: row[column] for column in NEW_COLUMNS} for row in rows]

    def _choices(self, query: Query) -> _Choices:
        """The triples among which the query chooses, as the model is asked: tails are scored."""
        kg, asked = self.kg, query.asked
        ids = {
            role: (kg.relations if role == "relation" else kg.entities).id(name)
            for role, name in query.given.items()
        }
        if asked == "relation":
            every_relation = torch.arange(kg.num_relations)
            return _Choices(ids["head"], every_relation, torch.tensor([ids["tail"]]), asked)
        reciprocal = kg.num_relations if asked == "head" else 0
        relation = torch.tensor([ids["relation"] + reciprocal])
        given = ids["tail" if asked == "head" else "head"]
        return _Choices(given, relation, torch.arange(kg.num_entities), asked)

    def _scores(self, choices: _Choices) -> Tensor:
        """(C,)."""
        relations = choices.relations
        query = self.scorer.query(torch.full_like(relations, choices.head), relations)
        if choices.asked == "relation":
            return self.scorer.gather(query, choices.tails.expand(len(relations), 1))[:, 0].cpu()
        return self.scorer.scores(query, 0, self.kg.num_entities)[0].cpu()

    def _known(self, choices: _Choices) -> Tensor:
        """(C,) bool: some split holds the triple."""
        head, relations, tails = choices.head, choices.relations, choices.tails
        if choices.asked == "relation":
            return self.kg.known_index.contains(torch.full_like(relations, head), relations, tails)
        known = torch.zeros(self.kg.num_entities, dtype=torch.bool)
        known[self.kg.known_index.tails_of(torch.tensor([head]), relations)[1]] = True
        return known

    def _allowed(self, choices: _Choices) -> Tensor:
        """(C,) bool: may answer."""
        if choices.asked == "relation":
            return torch.ones(len(choices.relations), dtype=torch.bool)
        return self.candidates.mask(choices.relations, 0, self.kg.num_entities)[0]

    def _answers(
        self,
        choices: _Choices,
        best: Tensor,
        scores: Tensor,
        known: Tensor,
        chances: Tensor,
    ) -> list[Answer]:
        kind = "relation" if choices.asked == "relation" else "entity"
        names = self.kg.relations if kind == "relation" else self.kg.entities
        relations, tails = choices.relations, choices.tails
        columns = (relations[best], tails) if kind == "relation" else (relations, tails[best])
        degrees = self.kg.degrees.tail_relation(columns[1], columns[0])
        return [
            Answer(
                name=names[index],
                score=float(scores[place]),
                probability=None if chances[place].isnan() else float(chances[place]),
                degree=int(degrees[place]),
                bin=self.bins.names[int(self.bins.assign(degrees[place]))],
                known=bool(known[place]),
                trained=bool(self._trained[kind][index]),
            )
            for place, index in enumerate(best.tolist())
        ]

    def _probabilities(self, choices: _Choices, scores: Tensor) -> Tensor:
        """(C,), NaN where there is none."""
        if self.listed is None or choices.asked == "relation":
            return torch.full((len(scores),), torch.nan)
        head = torch.tensor([choices.head])
        asked = self.kg, head, choices.relations, scores[None]
        found = self.listed.of_entities(*asked, candidates=self.candidates)
        return torch.from_numpy(found[0])

    def _warnings(self, query: Query) -> list[str]:
        found = []
        for role, name in query.given.items():
            names = self.kg.relations if role == "relation" else self.kg.entities
            found += untrained(names, self._trained[names.kind], names.id(name))
        return found


@dataclass(frozen=True)
class _Choices:
    """C triples (head, relations, tails); either relations or tails is a single one."""

    head: int
    relations: Tensor
    tails: Tensor
    asked: str
