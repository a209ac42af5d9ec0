"""What ``compare`` shows people: differences with their intervals, overall and by bin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dglkgmix.cli.columns import aligned
from dglkgmix.cli.common import printable
from dglkgmix.cli.evaluate_page import EMPTY, bin_labels, number

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins


def page(
    baseline: str,
    entry: Mapping[str, Any],
    bins: DegreeBins,
    split: str,
    seeds: Mapping[str, int],
) -> str:
    """One run against the baseline."""
    from dglkgmix.evaluation.metrics import METRICS

    run = entry["run"]
    triples = entry["overall"]["mrr"]["triples"]
    title = (
        f"{_name(run, seeds)} against {_name(baseline, seeds)}: "
        f"{split} split, {triples:,} distinct triples"
    )
    heading = ["", "", "queries", "baseline", "run", "difference", "95 % interval", "p"]
    rows = [heading]
    for metric in entry["overall"]:
        rows.append([METRICS[metric].title, "overall", *_cells(entry["overall"][metric])])
        rows += [
            ["", name, *_cells(entry["bins"][key][metric])]
            for key, name in zip(bins.names, bin_labels(bins), strict=True)
        ]
    notes = ["  p over bins is Holm-corrected."]
    if max(seeds[run], seeds[baseline]) > 1:
        notes.append(
            "  ± is the standard deviation over seeds; tests average a query's seeds first."
        )
    return "\n".join([title, "", aligned(rows, right=range(2, 8)), "", *notes])


def _name(run: str, seeds: Mapping[str, int]) -> str:
    return printable(run) + (f" ({seeds[run]} seeds)" if seeds[run] > 1 else "")


def _cells(part: Mapping[str, Any]) -> list[str]:
    if not part["queries"]:
        return ["0", *[EMPTY] * 5]
    return [
        f"{part['queries']:,}",
        _mean(part["a"], part["a_sd"]),
        _mean(part["b"], part["b_sd"]),
        number(part["difference"], "{:+.4f}"),
        f"{part['ci_low']:+.4f} … {part['ci_high']:+.4f}",
        _p_value(part["p_value"]),
    ]


def _mean(mean: float, spread: float | None) -> str:
    return number(mean) if spread is None else f"{number(mean)} ± {number(spread)}"


def _p_value(value: float | None) -> str:
    return "< 0.0001" if value is not None and value < 1e-4 else number(value)
