"""Metrics of groups of a rank table's queries, never of batches (docs/numbers.md, Metrics)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dglkgmix.config.classes import import_named
from dglkgmix.errors import ConfigError
from dglkgmix.evaluation.rank_table import RankTable

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.kg.graph import KnowledgeGraph

Metrics = dict[str, Any]
Array = np.ndarray[Any, Any]
TIES = {"realistic": "rank", "optimistic": "rank_optimistic", "pessimistic": "rank_pessimistic"}
# Keys beside the metrics: of groups, and of the values of queries.
_TAKEN = ("amri", "queries", "groups", "expected")
# Bordes et al. (2013): an end with this many partners or more on average is "many".
MANY = 1.5
RELATION_CLASSES = ("1-1", "1-n", "n-1", "n-n", "unseen")


@dataclass(frozen=True)
class Metric:
    """One metric of filtered ranks; ``METRICS`` holds those that are computed and shown.

    Attributes:
        name: its key in JSON.
        title: its column.
        values: makes (Q,) values of (Q,) ranks.
        summary: one figure of a group's values; None for their mean.
        tested: whether settings are compared by it; only means can be.
        style: how a figure is shown.
        low_is_good: whether the lowest figure is the best.
    """

    name: str
    title: str
    values: Callable[[Array], Array]
    summary: Callable[[Array], float] | None = None
    tested: bool = False
    style: str = "{:.4f}"
    low_is_good: bool = False

    def of(self, ranks: Array) -> Array:
        """The values (Q,) of ranks (Q,).

        Raises:
            ConfigError: ``values`` gives something else than a number for each.
        """
        found = np.asarray(self.values(ranks))
        if found.shape != ranks.shape or found.dtype.kind not in "biuf":
            raise ConfigError(
                f"metric {self.name!r}: its values for {len(ranks):,} ranks are of the type "
                f"{found.dtype} and the shape {found.shape}: give one number for each rank"
            )
        return found


def hits(k: int, *, tested: bool = False) -> Metric:
    """Hits@k: the share of ranks of at most k."""
    return Metric(f"hits@{k}", f"Hits@{k}", lambda r: (r <= k).astype(float), tested=tested)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("mrr", "MRR", lambda ranks: 1 / ranks, tested=True),
        Metric("mr", "mean rank", lambda ranks: ranks, style="{:,.1f}", low_is_good=True),
        hits(1, tested=True),
        hits(3),
        hits(10, tested=True),
    )
}


def metric_named(path: str) -> Metric:
    """The metric that ``module:name`` stands for.

    Raises:
        ConfigError: it cannot be imported, or is not a :class:`Metric`.
    """
    found = import_named(path)
    if not isinstance(found, Metric):
        raise ConfigError(f"{path} is not a dglkgmix.evaluation.metrics.Metric")
    return found


@contextmanager
def further(metrics: Iterable[Metric]) -> Iterator[None]:
    """Within it, these metrics are computed and shown, too.

    Raises:
        ConfigError: a name that a metric has already.
    """
    added: list[str] = []
    try:
        for metric in metrics:
            if metric.name in METRICS or metric.name in _TAKEN:
                raise ConfigError(f"there is a metric {metric.name!r} already: take another name")
            METRICS[metric.name] = metric
            added.append(metric.name)
        yield
    finally:
        for name in added:
            del METRICS[name]


def columns() -> list[Metric]:
    """The metrics in the order of tables: shares first, then ranks."""
    return sorted(METRICS.values(), key=lambda metric: metric.style != Metric.style)


def per_query(table: RankTable, ties: str = "realistic") -> dict[str, Array]:
    """(Q,) values of every metric; and ``expected``, whose mean is E[MR]."""
    ranks = table[TIES[ties]]
    values = {name: metric.of(ranks) for name, metric in METRICS.items()}
    return values | {"expected": (table["candidates"] + 1) / 2}


def grouped(
    table: RankTable, groups: Array, names: Sequence[str], ties: str = "realistic"
) -> dict[str, Metrics]:
    """The metrics of each group of queries: ``groups`` (Q,) are places in ``names``.

    Each has mrr, mr, hits@1, hits@3, hits@10, amri and queries; without queries None, and 0 of
    these. ``ties`` is realistic, optimistic or pessimistic.
    """
    figures = _summaries(per_query(table, ties), groups, len(names))
    queries = np.bincount(groups, minlength=len(names))
    return {
        name: _metrics({key: float(found[i]) for key, found in figures.items()}, int(queries[i]))
        for i, name in enumerate(names)
    }


def overall(table: RankTable, ties: str = "realistic") -> Metrics:
    """Of the whole table."""
    return grouped(table, np.zeros(len(table), dtype=np.int64), ["overall"], ties)["overall"]


def by_direction(table: RankTable) -> dict[str, Metrics]:
    """Head and tail prediction apart."""
    return grouped(table, (~table.asks_head).astype(np.int64), ("head", "tail"))


def by_bin(table: RankTable, bins: DegreeBins) -> dict[str, Metrics]:
    """By tail-relation degree of the answer."""
    return by_degree(table, "tail_relation", bins)


def by_age(table: RankTable, new: Collection[str]) -> dict[str, Metrics]:
    """Queries of old entities alone, and those whose head or tail is one of ``new``."""
    has_new = [
        np.array([name in new for name in names.dictionary.to_pylist()], bool)[names.indices]
        for names in map(table.names, ("head", "tail"))
    ]
    return grouped(table, np.maximum(*has_new).astype(int), ("old", "new"))


def by_degree(table: RankTable, column: str, bins: DegreeBins) -> dict[str, Metrics]:
    """By any degree: a column of the table, or ``other_relation``; names are the intervals'."""
    return grouped(table, bin_of(table, bins, column), bins.names)


def by_relation(table: RankTable) -> dict[str, Metrics]:
    """By relation, both directions together, in the order of the names."""
    return _by_name(table, table.names("relation").to_pylist())


def by_relation_class(table: RankTable, classes: dict[str, str]) -> dict[str, Metrics]:
    """By class of the relation (:func:`relation_classes`), the two directions apart.

    Keys are ``1-n head``, ``1-n tail`` and so on: in a 1-n relation, heads are easy and tails hard.
    """
    relations, ends = (table.names(name).to_pylist() for name in ("relation", "direction"))
    pairs = zip(relations, ends, strict=True)
    found = _by_name(table, [f"{classes.get(name, 'unseen')} {end}" for name, end in pairs])
    order = [f"{kind} {end}" for kind in RELATION_CLASSES for end in ("head", "tail")]
    return {label: found[label] for label in order if label in found}


def _by_name(table: RankTable, labels: list[str]) -> dict[str, Metrics]:
    """By (Q,) labels, sorted."""
    names, groups = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    return grouped(table, groups, names.tolist())


def macro(table: RankTable, over: str) -> Metrics:
    """Means over groups of the groups' means; ``over`` is ``queries`` or ``relations``.

    Distinct queries are distinct (head, relation, ?) and (?, relation, tail). Frequent relations,
    and queries with many answers, then weigh no more than the rest. ``groups`` tells how many.
    """
    groups = table.codes(["relation"])
    if over == "queries":
        asks_head, head, tail = table.asks_head, table.codes(["head"]), table.codes(["tail"])
        keys = np.stack([np.where(asks_head, tail, head), groups, asks_head], axis=1)
        groups = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    count = int(groups.max()) + 1 if len(groups) else 0
    figures = _summaries(per_query(table), groups, count)
    means = {name: float(found.mean()) if count else 0.0 for name, found in figures.items()}
    return _metrics(means, len(table)) | {"groups": count}


def joint(table: RankTable, rows: DegreeBins, columns: DegreeBins) -> dict[str, Any]:
    """By tail-relation degree (``rows``) × other-relation degree (paper, Figure 2 c).

    Returns:
        The names of ``rows`` and ``columns``; ``mrr`` and ``queries`` as lists of rows, the MRR
        None where no query falls.
    """
    shape = len(rows.names), len(columns.names)
    groups = bin_of(table, rows) * shape[1] + bin_of(table, columns, "other_relation")
    queries = np.bincount(groups, minlength=shape[0] * shape[1])
    sums = np.bincount(groups, weights=1 / table["rank"], minlength=shape[0] * shape[1])
    mrr = (sums / np.maximum(queries, 1)).astype(object)
    mrr[queries == 0] = None
    return {
        "rows": list(rows.names),
        "columns": list(columns.names),
        "mrr": mrr.reshape(shape).tolist(),
        "queries": queries.reshape(shape).tolist(),
    }


def relation_classes(kg: KnowledgeGraph) -> dict[str, str]:
    """Class of every relation after Bordes et al. (2013), from the distinct training triples.

    ``1-n``: a head has 1.5 tails or more on average, a tail fewer heads; relations that training
    lacks are ``unseen``.
    """
    index, count = kg.train_index, kg.num_relations
    answers, relation = np.diff(index.indptr.numpy()), index.relations.numpy()
    pairs = np.bincount(relation, minlength=2 * count)
    average = np.bincount(relation, weights=answers, minlength=2 * count) / np.maximum(pairs, 1)
    many = np.where(average >= MANY, "n", "1")
    return {
        kg.relations[r]: f"{many[r + count]}-{many[r]}" if pairs[r] else "unseen"
        for r in range(count)
    }


def bin_of(table: RankTable, bins: DegreeBins, column: str = "tail_relation") -> Array:
    """(Q,) the bin by a degree of the table, or ``other_relation``: tail_in less tail_relation."""
    if column == "other_relation":
        degrees = table["tail_in"] - table["tail_relation"]
    else:
        degrees = table[column].copy()
    return np.asarray(bins.assign(degrees).numpy())


def _summaries(values: dict[str, Array], groups: Array, count: int) -> dict[str, Array]:
    """(count,) figures of each metric: of a group without queries 0, which is not shown."""
    size = np.bincount(groups, minlength=count)
    found = {}
    for name, column in values.items():
        summary = METRICS[name].summary if name in METRICS else None
        if summary is None:
            found[name] = np.bincount(groups, weights=column, minlength=count) / np.maximum(size, 1)
        else:
            parts = [column[groups == i] for i in range(count)]
            found[name] = np.array([summary(part) if len(part) else 0.0 for part in parts])
    return found


def _metrics(means: dict[str, float], queries: int) -> Metrics:
    """Means with the adjusted mean rank index; all None where there are no queries."""
    if not queries:
        return dict.fromkeys((*METRICS, "amri")) | {"queries": 0}
    expected = means["expected"]
    # With a single candidate each, every rank is 1 and the index says nothing.
    amri = 1 - (means["mr"] - 1) / (expected - 1) if expected > 1 else None
    return {name: means[name] for name in METRICS} | {"amri": amri, "queries": queries}
