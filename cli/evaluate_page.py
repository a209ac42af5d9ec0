"""What ``evaluate`` shows people: metrics, bins, calibration and further groupings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dglkgmix.cli.columns import EMPTY, aligned, number
from dglkgmix.cli.common import one_line, printable

if TYPE_CHECKING:
    from dglkgmix.cli.subject import Subject
    from dglkgmix.kg.degrees import DegreeBins

TITLES = {
    "relation": "By relation",
    "relation-class": "By class of the relation and end asked for",
    "head-in": "By in-degree of the given entity",
    "head-out": "By out-degree of the given entity",
    "tail-in": "By in-degree of the answer",
    "tail-out": "By out-degree of the answer",
    "other-relation": "By other-relation degree of the answer",
    "joint": "MRR (queries) by tail-relation degree, down, and other-relation degree, across",
    "macro": "Means over distinct queries and over relations",
    "ties": "With the other tie rules",
    "shortlist": "First ten answers by relation",
}


def page(
    subject: Subject,
    found: Mapping[str, Any],
    bins: DegreeBins,
    groups: Mapping[str, Any],
    popular: Mapping[str, Any],
) -> str:
    """The whole text; ``popular`` holds the figures by bin of ranking by popularity alone."""
    from dglkgmix.evaluation.popularity import better_bins

    queries = found["overall"]["queries"]
    title = (
        f"{printable(subject.title)}: {subject.split} split, {queries // 2:,} triples, "
        "both directions, filtered"
    )
    if found["candidates"]["rule"] not in (None, "all"):
        title += f", candidates: {found['candidates']['rule']}"
    groupings = {f"{end} asked for": group for end, group in found["directions"].items()}
    groupings |= {f"{age} entities": group for age, group in (found["entities"] or {}).items()}
    by_bin = [["", *_headings(), "ECE"]]
    below = better_bins(popular, found["bins"])
    for name, label in zip(bins.names, bin_labels(bins), strict=True):
        mark = f"{label} *" if name in below else label
        by_bin.append([mark, *_cells(found["bins"][name]), number(found["ece"][name])])
    by_bin.append(["all", *_cells(found["overall"]), number(found["ece"]["overall"])])
    named = ", ".join(f"{one_line(name)} {number(value)}" for name, value in below.items())
    parts = [
        title,
        _table({"overall": found["overall"]} | groupings),
        "By tail-relation degree of the answer; ECE: distance of mean σ(score) from Hits@10\n"
        + aligned(by_bin)
        + (f"\n  * MRR of ranking by popularity alone: {named}" if below else ""),
    ]
    if found["shortlist"] is not None:
        listed = dict(zip(bin_labels(bins), found["shortlist"]["bins"].values(), strict=True))
        listed |= {"all": found["shortlist"]["overall"]} | found["shortlist"]["bands"]
        parts.append(
            "First ten answers of each query, without the facts of earlier splits: their "
            "probability, a lower bound,\nand the share that the split holds, by tail-relation "
            f"degree and by probability\n{_listed(listed)}"
        )
    if found["calibration"] is not None:
        parts.append(_calibration(found["calibration"], bins))
    if "classification" in found:
        parts.append(_classification(found["classification"]))
    # Where σ(score), shown in the tables above, cannot be read as a probability.
    if found["ece"]["overall"] is not None:
        if subject.scorer is None:
            parts.append(
                "σ(score) is a probability only where that tool trained scores as log odds."
            )
        elif not subject.sigmoid_is_probability:
            parts.append(
                "This model's σ(score) is no probability: ECE by degree and the columns before "
                "scaling say little."
            )
    parts += [f"{TITLES[kind]}\n{_group(kind, group)}" for kind, group in groups.items()]
    return "\n\n".join(parts)


def bin_labels(bins: DegreeBins) -> list[str]:
    """Names with their intervals: ``low [1,10)``."""
    from dglkgmix.kg.degrees import readable

    shown = [readable(interval) for interval in bins.intervals]
    if bins.names == bins.intervals:
        return shown
    width = max(map(len, bins.names))
    return [f"{n.ljust(width)} {i}" for n, i in zip(bins.names, shown, strict=True)]


def _listed(groups: Mapping[str, Mapping[str, Any]]) -> str:
    heading = ["", "answers", "probability", "true", "true at 1", "at 1-3", "ECE", "Brier", "base"]
    precisions = ("precision@10", "precision@1", "precision@3")
    keys = ("probability", *precisions, "ece", "brier", "brier_base")
    rows = [
        [one_line(name), f"{part['answers']:,}", *(number(part[key]) for key in keys)]
        for name, part in groups.items()
    ]
    return aligned([heading, *rows])


def _calibration(calibration: Mapping[str, Any], bins: DegreeBins) -> str:
    sign = "−" if calibration["offset"] < 0 else "+"
    title = (
        "Calibration against random or given false triples, before: σ(score), after: "
        f"σ({calibration['scale']:.4g} · score {sign} {abs(calibration['offset']):.4g})"
    )
    heading = ["", "triples", "ECE before", "after", "Brier before", "after"]
    heading += ["log loss before", "after"]
    parts = calibration["bins"]
    total = sum(part["triples"] for part in parts.values())
    rows = [heading]
    for name, label in zip(bins.names, bin_labels(bins), strict=True):
        rows.append([label, f"{parts[name]['triples']:,}", *_pairs(parts[name])])
    rows.append(["all", f"{total:,}", *_pairs(calibration)])
    return f"{title}\n{aligned(rows)}"


def _classification(found: Mapping[str, Any]) -> str:
    own = len(found["thresholds"]["relations"])
    title = (
        f"Triple classification: {found['true']:,} true against {found['false']:,} given false "
        f"triples, thresholds from validation, of their own for {own:,} relations"
    )
    names = ("accuracy", "roc_auc", "average_precision")
    heading = ["accuracy", "ROC AUC", "average precision"]
    return f"{title}\n{aligned([heading, [number(found[name]) for name in names]], range(3))}"


def _pairs(part: Mapping[str, Any]) -> list[str]:
    names = ("ece", "brier", "log_loss")
    return [number(part[when][name]) for name in names for when in ("before", "after")]


def _group(kind: str, group: Mapping[str, Any]) -> str:
    from dglkgmix.kg.degrees import readable

    if kind == "joint":
        rows = [["", *map(readable, group["columns"])]]
        for name, mrr, queries in zip(group["rows"], group["mrr"], group["queries"], strict=True):
            cells = [
                f"{number(value)} ({count:,})" if count else EMPTY
                for value, count in zip(mrr, queries, strict=True)
            ]
            rows.append([readable(name), *cells])
        return aligned(rows)
    if kind == "macro":
        heading = ["", "groups", *_headings()[1:]]
        rows = [[over, f"{part['groups']:,}", *_cells(part)[1:]] for over, part in group.items()]
        return aligned([heading, *rows])
    if kind == "shortlist":
        return _listed(group)
    if kind == "relation":
        group = dict(sorted(group.items(), key=lambda item: -item[1]["queries"]))
    else:
        group = {readable(name): part for name, part in group.items()}
    return _table(group)


def _table(groups: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [[one_line(name), *_cells(group)] for name, group in groups.items()]
    return aligned([["", *_headings()], *rows])


def _headings() -> list[str]:
    from dglkgmix.evaluation.metrics import columns

    return ["queries", *(metric.title for metric in columns()), "AMRI"]


def _cells(group: Mapping[str, Any]) -> list[str]:
    from dglkgmix.evaluation.metrics import columns

    figures = [number(group[metric.name], metric.style) for metric in columns()]
    return [f"{group['queries']:,}", *figures, number(group["amri"])]
