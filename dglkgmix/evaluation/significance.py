"""Is one model better than another? Paired tests and intervals over test triples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dglkgmix.errors import DataError
from dglkgmix.evaluation.metrics import METRICS, Array, bin_of, per_query
from dglkgmix.evaluation.rank_table import DEGREES, NAMES, RankTable
from dglkgmix.kg import ROLES

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins

RESAMPLES = 2000
LEVEL = 0.95
# Resampling weights held at once.
_BLOCK = 2**22


def compare(
    a: Sequence[RankTable],
    b: Sequence[RankTable],
    bins: DegreeBins,
    *,
    labels: tuple[str, str] = ("the first run", "the second run"),
    seed: int = 0,
) -> dict[str, Any]:
    """What setting b gains over setting a, the baseline; one table each seed of a setting.

    The unit is the test triple. Its queries (in a bin: those in the bin) are averaged for a paired
    t-test; the bootstrap resamples triples, and a mean is a ratio of sums. Over several seeds a
    query's reciprocal rank is averaged first.

    Returns:
        ``overall.<metric>`` and ``bins.<name>.<metric>`` for the tested metrics, each with a, b,
        difference (b − a), ci_low, ci_high (of the difference, 95 %), p_value, queries, triples,
        and a_sd and b_sd over seeds (None for one). p-values of bins are Holm-corrected over the
        bins. None for what an empty bin cannot tell, and a single triple: no interval, no p-value.

    Raises:
        DataError: the tables come from different data.
    """
    aligned = align([*a, *b], [labels[0]] * len(a) + [labels[1]] * len(b))
    values = [per_query(table) for table in aligned]
    names = tested()
    seeds = np.array([[of_seed[name] for name in names] for of_seed in values])
    unit, groups = triples(aligned[0]), bin_of(aligned[0], bins)

    def test(mask: Array) -> dict[str, dict[str, Any]]:
        return _test(names, np.split(seeds, [len(a)]), unit, mask, seed)

    by_bin = {name: test(groups == i) for i, name in enumerate(bins.names)}
    for metric in names:
        known = [f[metric] for f in by_bin.values() if f[metric]["p_value"] is not None]
        for found, p_value in zip(known, holm([f["p_value"] for f in known]), strict=True):
            found["p_value"] = p_value
    return {"overall": test(np.ones(len(groups), dtype=bool)), "bins": by_bin}


def _test(
    names: Sequence[str], pair: Sequence[Array], unit: Array, mask: Array, seed: int
) -> dict[str, dict[str, Any]]:
    """Each metric on the queries of a mask; the two of ``pair`` are (seeds, metrics, Q)."""
    (a, b), queries = pair, int(mask.sum())
    if not queries:
        empty = ("a", "b", "difference", "ci_low", "ci_high", "p_value", "a_sd", "b_sd")
        return {name: dict.fromkeys(empty) | {"queries": 0, "triples": 0} for name in names}
    first, counts = _unit_sums(a.mean(0), unit, mask)
    second, _ = _unit_sums(b.mean(0), unit, mask)
    ends = [[None, None]] * len(names)
    if len(counts) > 1:
        ends = bootstrap(second - first, counts, seed).tolist()
    own_a, own_b = a[:, :, mask].mean(2), b[:, :, mask].mean(2)
    return {
        name: {
            "a": float(own_a[:, i].mean()),
            "b": float(own_b[:, i].mean()),
            "difference": float((second[i] - first[i]).sum() / counts.sum()),
            "ci_low": ends[i][0],
            "ci_high": ends[i][1],
            "p_value": paired_t_test(first[i] / counts, second[i] / counts),
            "queries": queries,
            "triples": len(counts),
            "a_sd": float(own_a[:, i].std(ddof=1)) if len(a) > 1 else None,
            "b_sd": float(own_b[:, i].std(ddof=1)) if len(b) > 1 else None,
        }
        for i, name in enumerate(names)
    }


def tested() -> list[str]:
    """The metrics that settings are compared by."""
    return [name for name, metric in METRICS.items() if metric.tested]


def mrr_intervals(
    tables: Sequence[RankTable], bins: DegreeBins, *, seed: int = 0
) -> dict[str, tuple[float, float] | None]:
    """Bootstrap interval (95 %) of one MRR, overall and by bin; None for fewer than two triples."""
    aligned = align(tables)
    values = np.mean([1 / table["rank"] for table in aligned], axis=0)
    unit, groups = triples(aligned[0]), bin_of(aligned[0], bins)
    masks = {"overall": np.ones(len(groups), dtype=bool)}
    masks |= {name: groups == i for i, name in enumerate(bins.names)}
    found: dict[str, tuple[float, float] | None] = {}
    for name, mask in masks.items():
        sums, counts = _unit_sums(values[None], unit, mask)
        found[name] = tuple(bootstrap(sums, counts, seed)[0]) if len(counts) > 1 else None
    return found


def _unit_sums(values: Array, unit: Array, mask: Array) -> tuple[Array, Array]:
    """Sums (K, N) of (K, Q) values over the N units with queries in the mask, and their counts."""
    used, place = np.unique(unit[mask], return_inverse=True)
    sums = [np.bincount(place, weights=row[mask], minlength=len(used)) for row in values]
    return np.array(sums), np.bincount(place, minlength=len(used))


def paired_t_test(a: Array, b: Array) -> float | None:
    """Two-sided p-value of (N,) pairs; 1 where they are identical, None for fewer than two."""
    from scipy import stats

    if len(a) < 2:
        return None
    if bool((a == b).all()):
        return 1.0
    with warnings.catch_warnings():
        # Differences that are all alike lose precision, and scipy says so.
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(stats.ttest_rel(b, a).pvalue)


def bootstrap(sums: Array, counts: Array, seed: int) -> Array:
    """Percentile intervals of Σ sums / Σ counts over resampled units.

    All quantities share the draws and a matrix product sums them: four times as fast as
    ``scipy.stats.bootstrap`` (three metrics, 20,000 units).

    ``sums`` (K, N) are of K quantities in N units, ``counts`` (N,) the queries of each unit, all
    above 0. Returns (K, 2) lower and upper ends, 95 %, of 2,000 resamples.
    """
    generator, units = np.random.default_rng(seed), len(counts)
    columns = np.concatenate([sums, counts[None]]).T  # (N, K + 1)
    rows = max(1, _BLOCK // units)
    means = []
    for start in range(0, RESAMPLES, rows):
        size = min(rows, RESAMPLES - start)
        drawn = generator.integers(0, units, (size, units)) + np.arange(size)[:, None] * units
        times = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
        totals = times.astype(np.float64) @ columns
        means.append(totals[:, :-1] / totals[:, -1:])
    tail = (1 - LEVEL) / 2
    return np.asarray(np.quantile(np.concatenate(means), [tail, 1 - tail], axis=0).T)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given."""
    order, corrected = np.argsort(p_values), np.empty(len(p_values))
    left = len(p_values) - np.arange(len(p_values))
    corrected[order] = np.maximum.accumulate(left * np.asarray(p_values)[order]).clip(max=1)
    found: list[float] = corrected.tolist()
    return found


def align(tables: Sequence[RankTable], labels: Sequence[str] | None = None) -> list[RankTable]:
    """The tables sorted by (head, relation, tail, direction), row for row the same query.

    Raises:
        DataError: the runs rank different queries, or their degrees or filters differ: they come
            from different data; or their candidates were chosen by different rules.
    """
    labels = labels or [f"run {i + 1}" for i in range(len(tables))]
    aligned = []
    for table in tables:
        names = pa.table({name: table.names(name).cast(pa.string()) for name in NAMES})
        order = pc.sort_indices(names, [(name, "ascending") for name in NAMES])
        aligned.append(table.select(order.to_numpy()))
    for other, label in zip(aligned[1:], labels[1:], strict=True):
        _check(aligned[0], other, f"{labels[0]} and {label}")
    return aligned


def triples(table: RankTable) -> Array:
    """(Q,) int64: the triple of each query, 0 … T − 1; both its queries share one."""
    return table.codes(ROLES)


def _check(first: RankTable, other: RankTable, both: str) -> None:
    """Refuse tables, sorted alike, whose rows are not the same queries of the same data."""
    rules = first.rule, other.rule
    if None not in rules and rules[0] != rules[1]:
        raise DataError(
            f"{both} were ranked among different candidates, {rules[0]!r} and {rules[1]!r}: "
            "evaluate both with the same --candidates"
        )
    if not len(first) or not len(other):
        raise DataError(f"{both}: one of them has no queries of this split: compare another split")
    if len(first) != len(other):
        raise DataError(
            f"{both} were evaluated on different data: {len(first):,} and {len(other):,} queries"
        )
    for column in (*NAMES, "candidates", *DEGREES):
        values = [table.table.column(column).to_numpy() for table in (first, other)]
        different = np.flatnonzero(values[0] != values[1])
        if not len(different):
            continue
        row = int(different[0])
        if column in NAMES:  # sorted, so that the lesser of two is in one table alone
            query, place = min((_query(other, row), "second"), (_query(first, row), "first"))
            raise DataError(
                f"{both} were evaluated on different data: they do not rank the same queries "
                f"({_described(query)} is one of the {place} only)"
            )
        raise DataError(
            f"{both} come from different data: {column} of {_described(_query(first, row))} is "
            f"{values[0][row]} and {values[1][row]}"
        )


def _query(table: RankTable, row: int) -> tuple[str, ...]:
    return tuple(table.table.column(name)[row].as_py() for name in NAMES)


def _described(query: tuple[str, ...]) -> str:
    return f"({', '.join(query[:3])}), {query[3]} asked for"
