"""Names in, answers out: tails, heads, or relations of a pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from dglkgmix.errors import DIVERGED, ConfigError, NumericError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import ListProbability
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.neighbours import Neighbours
from dglkgmix.evaluation.shortlist import best_places
from dglkgmix.kg import ROLES
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.keys import as_ids
from dglkgmix.kg.statistics import SHARE, functional
from dglkgmix.kg.tables import TripleTable
from dglkgmix.prediction.facts import (
    NEW_COLUMNS,
    Fact,
    Triple,
    fact_row,
    is_trained,
    judge_facts,
    untrained,
)
from dglkgmix.prediction.relations import new_facts
from dglkgmix.prediction.why import Explainer, Why

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.vocabulary import Vocabulary
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
        return {role: name for role, name in vars(self).items() if name is not None}

    @property
    def asked(self) -> str:
        """The role that is asked for."""
        return next(r for r in ROLES if r not in self.given)


@dataclass(frozen=True)
class Answer:
    """One candidate for the name asked for.

    Attributes:
        probability: that it is among the held-out facts of its query, which is a lower bound of
            that it is true. None for facts of train and valid, after the query's first 20
            candidates, for relations, and where there were too few validation triples to fit it.
        degree: training triples of the query's relation into the predicted entity; for a relation
            asked for, into the given tail. ``bin`` is that of the degree.
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

    @classmethod
    def of(cls, run: Run, bins: DegreeBins | None = None, *, explain: bool = False) -> Predictor:
        """With the model of a run and its probability of ranked answers."""
        explainer = None
        if explain:
            explainer = Explainer(run.kg, Neighbours(run.kg, run.model, run.scorer.vectors))
        given = run.kg, run.scorer, run.list_probability(), bins, explainer
        return cls(*given, candidates=run.candidates)

    def predict(
        self,
        query: Query,
        *,
        top: int = 10,
        new_only: bool = False,
        sort: Literal["score", "probability"] = "score",
    ) -> Prediction:
        """The ``top`` best answers; with ``new_only``, of those that no split holds.

        Equal scores come in the order of the vocabulary, equal probabilities in that of scores;
        answers without a probability come after all that have one.

        Raises:
            UnknownNameError: a name that the graph lacks; the message lists close matches.
            ConfigError: ``top`` is below 1, or there are no probabilities to sort by.
            NumericError: a score is not finite.
        """
        _check_top(top)
        kg, asked = self.kg, query.asked
        if sort == "probability" and (self.listed is None or asked == "relation"):
            raise ConfigError(
                f"sort is {sort!r}, but answers have no probabilities here, as always where the "
                "relation is asked for: sort by score"
            )
        choices = self._choices(query)
        if not bool(torch.isfinite(choices.scores).all()):
            raise NumericError(
                f"the model's scores for {query.given} are not all finite: {DIVERGED}"
            )
        chances, another = torch.full_like(choices.scores, torch.nan), None
        pair = choices.heads[:1], choices.relations[:1]
        if self.listed is not None and asked != "relation":
            scores = choices.scores[None]
            found = self.listed.of_entities(kg, *pair, scores, candidates=self.candidates)
            chances = torch.from_numpy(found[0])
            if len(kg.steering_index.tails_of(*pair)[1]):
                another = self.listed.another(int(pair[1]))
        warnings = []
        for role, name in query.given.items():
            names = kg.relations if role == "relation" else kg.entities
            warnings += untrained(kg, names, names.id(name))
        is_functional = asked != "relation" and bool(self._functional[pair[1]])
        if is_functional and choices.known.any():
            warnings.append(
                f"relation {query.relation!r} is functional here: at least {100 * SHARE:.0f} % of "
                f"its queries have one {asked} in training. The data already hold an answer to "
                "this query: another is unlikely"
            )
        left = choices.allowed & ~choices.known if new_only else choices.allowed
        count = min(top, int(left.sum()))
        order = chances if sort == "probability" else torch.full_like(chances, torch.nan)
        best = _likeliest(choices.scores, left, count, order)
        degrees = kg.degrees.tail_relation(choices.tails[best], choices.relations[best])
        answers = []
        for i, degree in zip(best.tolist(), degrees.tolist(), strict=True):
            name, why = choices.names[i], None
            if self.explainer is not None:
                why = self.explainer.why(Triple(**(query.given | {asked: name})), asked)
            answers.append(
                Answer(
                    name=name,
                    score=float(choices.scores[i]),
                    probability=None if chances[i].isnan() else float(chances[i]),
                    degree=degree,
                    bin=self.bins.names[int(self.bins.assign(degree))],
                    known=bool(choices.known[i]),
                    trained=is_trained(kg, choices.names, i),
                    why=why,
                )
            )
        return Prediction(query, answers, warnings, is_functional, another)

    def _choices(self, query: Query) -> _Choices:
        """The triples among which the query chooses, as the model is asked: tails are scored."""
        kg, asked = self.kg, query.asked
        ids = {
            role: (kg.relations if role == "relation" else kg.entities).id(name)
            for role, name in query.given.items()
        }
        if asked == "relation":
            relations = torch.arange(kg.num_relations)
            heads, tails = (torch.full_like(relations, ids[end]) for end in ("head", "tail"))
            with torch.no_grad():
                made = self.scorer.query(heads, relations)
                scores = self.scorer.gather(made, tails[:, None])[:, 0].cpu()
            known = kg.known_index.contains(heads, relations, tails)
            every = torch.ones_like(known)
            return _Choices(kg.relations, heads, relations, tails, scores, known, every)
        head = torch.tensor([ids["tail" if asked == "head" else "head"]])
        relation = torch.tensor([ids["relation"] + (kg.num_relations if asked == "head" else 0)])
        tails = torch.arange(kg.num_entities)
        with torch.no_grad():
            made = self.scorer.query(head, relation)
            scores = self.scorer.scores(made, 0, kg.num_entities)[0].cpu()
        known = torch.zeros(kg.num_entities, dtype=torch.bool)
        known[kg.known_index.tails_of(head, relation)[1]] = True
        columns = head.expand_as(tails), relation.expand_as(tails), tails
        allowed = self.candidates.mask(relation, 0, kg.num_entities)[0]
        return _Choices(kg.entities, *columns, scores, known, allowed)

    def predict_triples(self, triples: Iterable[Sequence[str]]) -> list[Fact]:
        """What the model makes of given facts: rows of head, relation and tail, known or not.

        Raises:
            UnknownNameError, DataError: a name that the graph lacks, or a row without three names.
            NumericError: a score is not finite.
        """
        heads, relations, tails = TripleTable.from_rows(triples, "triples").columns()
        entities = self.kg.entities
        ids = entities.ids(heads), self.kg.relations.ids(relations), entities.ids(tails)
        return self._judged(torch.stack(ids, 1))

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
            OutOfRangeError: no relation has this id.
            ConfigError: ``top`` is below 1.
            NumericError: a score is not finite.
        """
        _check_top(top)
        named = self.kg.relations.id(relation) if isinstance(relation, str) else relation
        chosen = int(as_ids([named], "relation", self.kg.num_relations))
        bins = self.bins if by_bin else None
        asked = self.kg, self.scorer, chosen, top, self.listed
        found = new_facts(*asked, by_bin=bins, candidates=self.candidates)
        columns = self._judged(found.triples), found.places.tolist(), found.plausibility.tolist()
        rows = [
            fact_row(fact) | {"place": place, "plausibility": plausibility}
            for fact, place, plausibility in zip(*columns, strict=True)
        ]
        return [{column: row[column] for column in NEW_COLUMNS} for row in rows]


def _check_top(top: int) -> None:
    if top < 1:
        raise ConfigError(f"top must be at least 1, not {top}: it is the number of answers")


def _likeliest(scores: Tensor, among: Tensor, count: int, chances: Tensor) -> Tensor:
    """Places (count,) of the highest probabilities (C,) where the mask ``among`` (C,) is set.

    Equal ones come in the order of the scores (C,), as do those that are NaN, which are last.
    """

    def best(mask: Tensor, number: int) -> Tensor:
        return best_places(scores.masked_fill(~mask, -torch.inf)[None], number)[0]

    rated = among & ~chances.isnan()
    first = best(rated, int(rated.sum()))
    first = first[chances[first].argsort(descending=True, stable=True)][:count]
    return torch.cat([first, best(among & ~rated, count - len(first))])


@dataclass(frozen=True)
class _Choices:
    """C triples, (C,) each, and their names; whether a split holds them, and they may answer."""

    names: Vocabulary
    heads: Tensor
    relations: Tensor
    tails: Tensor
    scores: Tensor
    known: Tensor
    allowed: Tensor
