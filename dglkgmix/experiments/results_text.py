"""Results of an experiment as Markdown for people and as CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dglkgmix.evaluation.metrics import METRICS
from dglkgmix.evaluation.significance import tested
from dglkgmix.experiments.recipes import model_name
from dglkgmix.kg.degrees import readable
from dglkgmix.training.stages import PRETRAIN

# Narrow columns must not part a mean from its deviation.
_PLUS_MINUS = "\u00a0±\u00a0"
_HOW_TESTED = (
    "Difference in MRR, 95 % bootstrap interval over test triples, p-value of a paired t-test; "
    "p-values of the bins are Holm-corrected, intervals are not."
)
_NO_PROBABILITIES = (
    "σ(score) is no probability for models trained with softmax cross-entropy, nor for TransE: "
    "their calibration error before scaling tells nothing, and is left out."
)
_COMPARISONS, _CALIBRATION = "Comparisons", "Calibration error over degree bins"
_SCALING = "Probabilities before and after scaling"
Row = Mapping[str, Any]
Cells = list[str]


def to_csv(results: Row) -> str:
    """One line a group; numbers unrounded, empty where there is nothing."""
    groups = [group for group in results["groups"] if group["seeds"]]
    lines = [_csv_line(group, results["bin_names"]) for group in groups]
    buffer = io.StringIO()
    columns = list(dict.fromkeys(key for line in lines for key in line))
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return buffer.getvalue()


def to_markdown(results: Row) -> str:
    """Tables: overall, by bin, against the baseline, calibration, distances and budget."""
    parts = [f"# {_escape(results['experiment'])}", _escape(results["about"]), _state(results)]
    for title, table in tables(results).items():
        parts += [f"## {title}", *_notes(title, results), table]
    parts += _failures(results["cells"])
    if results["finding"]:
        parts += ["## The paper's finding", _escape(results["finding"])]
    note = f"Fractions; mean ± standard deviation over seeds. dglkgmix {results['version']}."
    return "\n\n".join(part for part in [*parts, note] if part) + "\n"


def tables(results: Row) -> dict[str, str]:
    """Title → Markdown table of what there is to show."""
    groups = [group for group in results["groups"] if group["seeds"]]
    if not groups:
        return {}
    bins, baseline = results["bin_names"], results["baseline"]
    measured = [group for group in groups if group["account"] is not None]
    tested = [g | {"seeds": g["test"]["seeds"]} for g in groups if g["test"] is not None]
    probable = [group for group in measured if group["probabilities"]]
    chosen = [group for group in groups if group["valid_bins"] is not None]
    compared = [pair for pair in results["comparisons"] if pair["test"] is not None]
    scaled = [group for group in measured if group["account"]["calibration"] is not None]
    distant = [group for group in groups if group["distances"]]
    found = {
        "Overall": (groups, _overall(groups)),
        "MRR by tail-relation degree": (measured, _by_bin(groups, bins)),
        "Validation MRR by tail-relation degree": (chosen, _valid_by_bin(bins)),
        f"Against {_escape(baseline or '')}": (tested, _tests(bins)),
        _COMPARISONS: (compared, {"against": _against, **_tests(bins)}),
        _CALIBRATION: (measured if probable else [], _ece(groups, bins)),
        _SCALING: (scaled, _scaling()),
        "Mean embedding distance": (groups if distant else [], _distances(groups)),
        "Budget": (groups, _budget(groups)),
    }
    return {title: _table(rows, columns) for title, (rows, columns) in found.items() if rows}


Columns = dict[str, Callable[[Row], str]]


def _notes(title: str, results: Row) -> list[str]:
    if title.startswith("Against") or title == _COMPARISONS:
        return [_HOW_TESTED]
    odd = any(group["account"] and not group["probabilities"] for group in results["groups"])
    return [_NO_PROBABILITIES] if title in (_CALIBRATION, _SCALING) and odd else []


def _overall(groups: Sequence[Row]) -> Columns:
    columns: Columns = {"valid MRR": lambda g: _mean(g["valid_mrr"])}
    for metric in tested():
        columns |= _beside(groups, METRICS[metric].title, ("overall", metric))
    return columns | {"queries": lambda g: _count(_at(g["account"], ("overall", "queries")))}


def _by_bin(groups: Sequence[Row], bins: Sequence[str]) -> Columns:
    columns: Columns = {}
    for name in bins:
        columns |= _beside(groups, readable(name), ("bins", name, "mrr"))
    return columns


def _valid_by_bin(bins: Sequence[str]) -> Columns:
    return {readable(name): _valid(name) for name in bins}


def _valid(name: str) -> Callable[[Row], str]:
    return lambda g: _mean(g["valid_bins"][name])


def _ece(groups: Sequence[Row], bins: Sequence[str]) -> Columns:
    columns: Columns = {}
    for name in ("overall", *bins):
        columns |= _beside(groups, readable(name), ("ece", name), shown="probabilities")
    return columns


def _scaling() -> Columns:
    """ECE over probability bins, Brier score and log loss, before and after Platt scaling."""
    names = {"ECE": "ece", "Brier": "brier", "log loss": "log_loss"}
    return {
        f"{label}, {when}": _scaled(when, key)
        for label, key in names.items()
        for when in ("before", "after")
    }


def _scaled(when: str, key: str) -> Callable[[Row], str]:
    def cell(group: Row) -> str:
        shown = group["probabilities"] or when == "after"
        return _mean(_at(group["account"], ("calibration", when, key)) if shown else None)

    return cell


def _beside(
    groups: Sequence[Row], label: str, path: Sequence[str], shown: str = "account"
) -> Columns:
    """A column of an account, and the paper's own where it has that figure for any group.

    A group without ``shown`` has a dash in it.
    """
    key = ".".join(path)
    columns: Columns = {label: lambda g: _mean(_at(g["account"], path) if g[shown] else None)}
    if any(key in group["paper"] for group in groups):
        columns[f"{label} (paper)"] = lambda g: _number(g["paper"].get(key))
    return columns


def _distances(groups: Sequence[Row]) -> Columns:
    columns: Columns = {}
    for label, key in (("heads", "head"), ("relations", "relation")):
        columns[label] = _distance(key)
        if any(f"distances.{key}" in group["paper"] for group in groups):
            columns[f"{label} (paper)"] = _paper_number(f"distances.{key}")
    return columns


def _distance(key: str) -> Callable[[Row], str]:
    return lambda g: _mean((g["distances"] or {}).get(key))


def _paper_number(key: str) -> Callable[[Row], str]:
    return lambda g: _number(g["paper"].get(key))


def _tests(bins: Sequence[str]) -> Columns:
    columns: Columns = {"overall": lambda g: _test(g["test"]["overall"]["mrr"])}
    for name in bins:
        columns[readable(name)] = _bin_test(name)
    return columns


def _bin_test(name: str) -> Callable[[Row], str]:
    return lambda g: _test(g["test"]["bins"][name]["mrr"])


def _against(pair: Row) -> str:
    """The values of the axes in which the other setting differs."""
    ours, theirs = ({**side, **side["options"]} for side in (pair, pair["against"]))
    axes = [axis for axis in theirs if axis != "options" and theirs[axis] != ours[axis]]
    return ", ".join(_escape(str(theirs[axis])) for axis in axes)


def _budget(groups: Sequence[Row]) -> Columns:
    found = dict.fromkeys(stage for group in groups for stage in group["budget"]["stages"])
    stages = sorted(found, key=lambda stage: stage != PRETRAIN)
    columns: Columns = {"steps": lambda g: f"{g['budget']['steps']:,.0f}"}
    columns["seconds"] = lambda g: f"{g['budget']['seconds']:,.1f}"
    for stage in stages if len(stages) > 1 else ():
        columns[f"{stage}: steps"] = _stage(stage, "steps", ",.0f")
        columns[f"{stage}: seconds"] = _stage(stage, "seconds", ",.1f")
    return columns


def _stage(stage: str, key: str, style: str) -> Callable[[Row], str]:
    def cell(group: Row) -> str:
        found = group["budget"]["stages"].get(stage)
        return "" if found is None else format(found[key], style)

    return cell


def _state(results: Row) -> str:
    counts = results["counts"]
    parts = [f"{counts['done']} of {len(results['cells'])} cells done"]
    parts += [f"{counts[state]} {state}" for state in ("failed", "pending") if counts[state]]
    return ", ".join(parts) + "."


def _failures(cells: Iterable[Row]) -> list[str]:
    failed = [cell for cell in cells if cell["state"] == "failed"]
    lines = [
        f"- {_escape(_title(cell))}, seed {cell['seed']}: {_escape(cell['error'])}"
        for cell in failed
    ]
    return ["## Failed", "\n".join(lines)] if failed else []


def _table(groups: Sequence[Row], columns: Columns) -> str:
    options = dict.fromkeys(option for group in groups for option in group["options"])
    head = ["data", "model", "strategy", *options, "seeds", *columns]
    rows = [
        [
            *(_escape(name) for name in _names(group)),
            *(_escape(str(group["options"][option])) for option in options),
            str(len(group["seeds"])),
            *(column(group) for column in columns.values()),
        ]
        for group in groups
    ]
    align = ["---"] * (len(head) - len(columns) - 1) + ["---:"] * (len(columns) + 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows])


def _names(group: Row) -> list[str]:
    return [group["data"], model_name(group["encoder"], group["model"]), group["strategy"]]


def _title(cell: Row) -> str:
    return ", ".join([*_names(cell), *(f"{k} = {v}" for k, v in cell["options"].items())])


def _at(tree: Any, path: Sequence[str]) -> Any:
    for key in path:
        tree = None if tree is None else tree.get(key)
    return tree


def _mean(value: Any) -> str:
    if value is None:
        return "–"
    spread = "" if value["sd"] is None else f"{_PLUS_MINUS}{value['sd']:.4f}"
    return f"{value['mean']:.4f}{spread}"


def _count(value: Row | None) -> str:
    return "–" if value is None else f"{value['mean']:,.0f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _test(found: Row) -> str:
    if found["difference"] is None:
        return "–"
    p_value = "" if found["p_value"] is None else f", p {_p(found['p_value'])}"
    return f"{found['difference']:+.4f} [{found['ci_low']:+.4f}, {found['ci_high']:+.4f}]{p_value}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _escape(text: str) -> str:
    """Names are text, whatever Markdown would make of them."""
    for sign in "\\`*_{}[]<>|#":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")


def _csv_line(group: Row, bins: Sequence[str]) -> dict[str, Any]:
    line = {"data": group["data"], "model": group["model"], "encoder": group["encoder"]}
    line |= {"strategy": group["strategy"], **group["options"]}
    line |= {"seeds": " ".join(map(str, group["seeds"])), **_pair("valid_mrr", group["valid_mrr"])}
    for metric in (*METRICS, "amri"):
        line |= _pair(metric, _at(group["account"], ("overall", metric)))
    for name in bins:
        line |= _pair(f"valid_mrr_{name}", _at(group["valid_bins"], (name,)))
    for name in bins:
        line |= _pair(f"mrr_{name}", _at(group["account"], ("bins", name, "mrr")))
    for name in ("overall", *bins):
        error = _at(group["account"], ("ece", name))
        line |= _pair(f"ece_{name}", error if group["probabilities"] else None)
    for key in ("head", "relation"):
        line |= _pair(f"distance_{key}", _at(group["distances"], (key,)))
    for name, path in [("overall", ("overall",)), *((n, ("bins", n)) for n in bins)]:
        found = _at(group["test"], (*path, "mrr"))
        for key in ("difference", "ci_low", "ci_high", "p_value"):
            line[f"{key}_{name}"] = None if found is None else found[key]
    line["test_seeds"] = " ".join(map(str, (group["test"] or {"seeds": []})["seeds"]))
    line |= {key: group["budget"][key] for key in ("steps", "seconds")}
    return line | {f"paper {key}": value for key, value in group["paper"].items()}


def _pair(name: str, value: Any) -> dict[str, Any]:
    found = value or {"mean": None, "sd": None}
    return {name: found["mean"], f"{name}_sd": found["sd"]}
