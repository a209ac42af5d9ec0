"""The method's evaluation once more, in plain loops over plain numbers; no code of the library.

Triples are tuples of ids. Reciprocal relation of r is r + R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Graph:
    """Three splits as lists of triples, E entities and R relations."""

    E: int
    R: int
    train: list[tuple[int, int, int]]
    valid: list[tuple[int, int, int]] = field(default_factory=list)
    test: list[tuple[int, int, int]] = field(default_factory=list)

    def both(self, rows):
        return {(h, r, t) for h, r, t in rows} | {(t, r + self.R, h) for h, r, t in rows}

    @property
    def edges(self):
        return self.both(self.train)

    @property
    def known(self):
        return self.both(self.train + self.valid + self.test)

    def d_tail(self, v, r):
        return sum(1 for h, r2, t in self.edges if t == v and r2 == r)

    def d_in(self, v):
        return sum(1 for h, r, t in self.edges if t == v)

    def d_out(self, v):
        return sum(1 for h, r, t in self.edges if h == v)

    def queries(self, split):
        rows = getattr(self, split)
        return [(h, r, t) for h, r, t in rows] + [(t, r + self.R, h) for h, r, t in rows]


def rank_one(scores, answer, others_known, candidates=None):
    """(realistic, optimistic, pessimistic, candidates, missed) of one answer."""
    left = [entity for entity in range(len(scores)) if entity not in others_known - {answer}]
    if candidates is not None and answer not in candidates:
        return float(len(left)), len(left), len(left), len(left), True
    rivals = [e for e in left if e != answer and (candidates is None or e in candidates)]
    greater = sum(scores[entity] > scores[answer] for entity in rivals)
    equal = sum(scores[entity] == scores[answer] for entity in rivals)
    return 1 + greater + equal / 2, 1 + greater, 1 + greater + equal, 1 + len(rivals), False


def rank_all(graph, split, score_of, candidates=None):
    """One result of ``rank_one`` a query; ``score_of(h, r)`` lists the scores of all entities.

    ``candidates`` are sets by relation.
    """
    found = []
    for h, r, t in graph.queries(split):
        others = {t2 for h2, r2, t2 in graph.known if (h2, r2) == (h, r) and t2 != t}
        found.append(rank_one(score_of(h, r), t, others, candidates and candidates[r]))
    return found


def slots(graph):
    """The slots of each entity: relations of its training triples as their tail."""
    return [{r for _, r, t in graph.edges if t == entity} for entity in range(graph.E)]


def candidates(graph, rule, types=None):
    """The candidates of each relation, a set each."""
    everything, own = set(range(graph.E)), slots(graph)
    found = []
    for relation in range(2 * graph.R):
        answers = {t for _, r, t in graph.edges if r == relation}
        if rule == "all" or not answers:
            found.append(everything)
        elif rule == "observed":
            found.append(answers)
        elif rule == "typed":
            theirs = set().union(*(own[t] for t in answers))
            found.append({e for e in everything if own[e] <= theirs})
        else:
            shared = set().union(*(types[t] for t in answers))
            found.append({e for e in everything if types[e] & shared})
    return found


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def metrics(results):
    """From (rank, candidates) pairs."""
    ranks = [rank for rank, _ in results]
    expected = mean((candidates + 1) / 2 for _, candidates in results)
    return {
        "mrr": mean(1 / rank for rank in ranks),
        "mr": mean(ranks),
        "hits@1": mean(rank <= 1 for rank in ranks),
        "hits@3": mean(rank <= 3 for rank in ranks),
        "hits@10": mean(rank <= 10 for rank in ranks),
        "amri": 1 - (mean(ranks) - 1) / (expected - 1) if results and expected > 1 else None,
        "queries": len(ranks),
    }


def bin_of(degree, edges=(1, 10, 50)):
    for index, edge in enumerate(edges):
        if degree < edge:
            return index
    return len(edges)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def degree_ece(rows, bins):
    """From (rank, score, degree) rows: overall, then one value a bin (None where empty)."""
    overall, parts = 0.0, []
    for index in range(bins):
        members = [(rank, score) for rank, score, degree in rows if bin_of(degree) == index]
        if not members:
            parts.append(None)
            continue
        accuracy = mean(rank <= 10 for rank, _ in members)
        confidence = mean(sigmoid(score) for _, score in members)
        parts.append(abs(accuracy - confidence))
        overall += len(members) / len(rows) * parts[-1]
    return overall, parts


def distance(x, y):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def embedding_distances(graph, entities, relations, threshold):
    """D_head and D_rel with the number of triples that count in each."""
    heads, rels = [], []
    for h, r, t in graph.edges:
        if graph.d_tail(t, r) >= threshold:
            continue
        other_heads = {h2 for h2, _, t2 in graph.edges if t2 == t and h2 != h}
        other_rels = {r2 for _, r2, t2 in graph.edges if t2 == t and r2 != r}
        if other_heads:
            heads.append(mean(distance(entities[h], entities[h2]) for h2 in other_heads))
        if other_rels:
            rels.append(mean(distance(relations[r], relations[r2]) for r2 in other_rels))
    return mean(heads), len(heads), mean(rels), len(rels)
