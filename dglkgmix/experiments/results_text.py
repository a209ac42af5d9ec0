"""Results of an experiment as Markdown for people and as CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dglkgmix.evaluation.metrics import METRICS
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
Cell = Callable[[Row], str]
Columns = dict[str, Cell]
Tables = dict[str, tuple[Sequence[Row], Columns]]
_BUDGET: dict[str, Callable[[float | None], str]] = {
    "steps": lambda value: "" if value is None else f"{value:,.0f}",
    "seconds": lambda value: "" if value is None else f"{value:,.1f}",
}


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
    found = {
        **_accuracy(groups, results["bin_names"]),
        **_significance(groups, results),
        **_probabilities(groups, results["bin_names"]),
        "Mean embedding distance": (
            groups if any(group["distances"] for group in groups) else [],
            _beside(
                groups, {"heads": ("distances", "head"), "relations": ("distances", "relation")}
            ),
        ),
        "Budget": (groups, _budget(groups)),
    }
    return {title: _table(rows, columns) for title, (rows, columns) in found.items() if rows}


def _accuracy(groups: Sequence[Row], bins: Sequence[str]) -> Tables:
    metrics = {"MRR": "mrr", "Hits@1": "hits@1", "Hits@10": "hits@10"}
    overall = {
        "valid MRR": _cell("valid_mrr"),
        **_beside(groups, {k: ("account", "overall", m) for k, m in metrics.items()}),
        "queries": _cell("account", "overall", "queries", show=_count),
    }
    by_bin = {readable(name): ("account", "bins", name, "mrr") for name in bins}
    return {
        "Overall": (groups, overall),
        "MRR by tail-relation degree": (_measured(groups), _beside(groups, by_bin)),
        "Validation MRR by tail-relation degree": (
            [group for group in groups if group["valid_bins"] is not None],
            {readable(name): _cell("valid_bins", name) for name in bins},
        ),
    }


def _significance(groups: Sequence[Row], results: Row) -> Tables:
    tests = {"overall": _cell("test", "overall", "mrr", show=_test)}
    for name in results["bin_names"]:
        tests[readable(name)] = _cell("test", "bins", name, "mrr", show=_test)
    tested = [{**g, "seeds": g["test"]["seeds"]} for g in groups if g["test"] is not None]
    compared = [pair for pair in results["comparisons"] if pair["test"] is not None]
    return {
        f"Against {_escape(results['baseline'] or '')}": (tested, tests),
        _COMPARISONS: (compared, {"against": _against, **tests}),
    }


def _probabilities(groups: Sequence[Row], bins: Sequence[str]) -> Tables:
    accounts = _measured(groups)
    errors = {readable(name): ("account", "ece", name) for name in ("overall", *bins)}
    scaled = {
        f"{label}, {when}": _cell("account", "calibration", when, key, needs=needs)
        for label, key in (("ECE", "ece"), ("Brier", "brier"), ("log loss", "log_loss"))
        for when, needs in (("before", "probabilities"), ("after", None))
    }
    return {
        _CALIBRATION: (
            accounts if any(group["probabilities"] for group in accounts) else [],
            _beside(groups, errors, needs="probabilities"),
        ),
        _SCALING: ([g for g in accounts if g["account"]["calibration"] is not None], scaled),
    }


def _measured(groups: Sequence[Row]) -> list[Row]:
    return [group for group in groups if group["account"] is not None]


def _notes(title: str, results: Row) -> list[str]:
    if title.startswith("Against") or title == _COMPARISONS:
        return [_HOW_TESTED]
    odd = any(group["account"] and not group["probabilities"] for group in results["groups"])
    return [_NO_PROBABILITIES] if title in (_CALIBRATION, _SCALING) and odd else []


def _cell(*path: str, show: Callable[[Any], str] | None = None, needs: str | None = None) -> Cell:
    """The value at a path of a group; none where the group has not what it ``needs``."""
    write = show or _mean
    return lambda group: write(_at(group, path) if needs is None or group[needs] else None)


def _beside(
    groups: Sequence[Row], paths: Mapping[str, Sequence[str]], needs: str | None = None
) -> Columns:
    """Columns of our figures, each with the paper's own where it has that for any group."""
    columns: Columns = {}
    for label, path in paths.items():
        columns[label] = _cell(*path, needs=needs)
        key = ".".join(path).removeprefix("account.")
        if any(key in group["paper"] for group in groups):
            columns[f"{label} (paper)"] = _cell("paper", key, show=_number)
    return columns


def _against(pair: Row) -> str:
    """The values of the axes in which the other setting differs."""
    ours, theirs = ({**side, **side["options"]} for side in (pair, pair["against"]))
    axes = [axis for axis in theirs if axis != "options" and theirs[axis] != ours[axis]]
    return ", ".join(_escape(str(theirs[axis])) for axis in axes)


def _budget(groups: Sequence[Row]) -> Columns:
    found = dict.fromkeys(stage for group in groups for stage in group["budget"]["stages"])
    stages = sorted(found, key=lambda stage: stage != PRETRAIN)
    columns = {key: _cell("budget", key, show=show) for key, show in _BUDGET.items()}
    for stage in stages if len(stages) > 1 else ():
        for key, show in _BUDGET.items():
            columns[f"{stage}: {key}"] = _cell("budget", "stages", stage, key, show=show)
    return columns


def _state(results: Row) -> str:
    counts = results["counts"]
    parts = [f"{counts['done']} of {len(results['cells'])} cells done"]
    parts += [f"{counts[state]} {state}" for state in ("failed", "pending") if counts[state]]
    return ", ".join(parts) + "."


def _failures(cells: Iterable[Row]) -> list[str]:
    failed = [cell for cell in cells if cell["state"] == "failed"]
    lines = []
    for cell in failed:
        title = ", ".join([*_names(cell), *(f"{k} = {v}" for k, v in cell["options"].items())])
        lines.append(f"- {_escape(title)}, seed {cell['seed']}: {_escape(cell['error'])}")
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
    p = found["p_value"]
    p_value = "" if p is None else ", p < 0.001" if p < 0.001 else f", p = {p:.3f}"
    return f"{found['difference']:+.4f} [{found['ci_low']:+.4f}, {found['ci_high']:+.4f}]{p_value}"


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
