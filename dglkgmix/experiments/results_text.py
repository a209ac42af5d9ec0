"""Results of an experiment as Markdown for people and as CSV for spreadsheets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dglkgmix.atomic import csv_lines
from dglkgmix.evaluation.metrics import METRICS
from dglkgmix.experiments.recipes import model_name
from dglkgmix.kg.degrees import readable
from dglkgmix.training.stages import PRETRAIN

_HOW_TESTED = (
    "Difference in MRR, 95 % bootstrap interval over test triples, p-value of a paired t-test; "
    "p-values of the bins are Holm-corrected, intervals are not."
)
_NO_PROBABILITIES = (
    "σ(score) is no probability for models trained with softmax cross-entropy, nor where scores "
    "are distances: their calibration error before scaling tells nothing, and is left out."
)
_COMPARISONS, _CALIBRATION = "Comparisons", "Calibration error over degree bins"
_SCALING = "Probabilities before and after scaling"
Row = Mapping[str, Any]
Columns = dict[str, Callable[[Row], str]]


def to_csv(results: Row) -> str:
    """One line a group; numbers unrounded, empty where there is nothing."""
    bins = results["bin_names"]
    lines = []
    for group in (group for group in results["groups"] if group["seeds"]):
        line = {key: group[key] for key in ("data", "model", "encoder", "strategy")}
        line |= group["options"] | {"seeds": " ".join(map(str, group["seeds"]))}
        places: dict[str, tuple[str, ...]] = {"valid_mrr": ("valid_mrr",)}
        places |= {name: ("account", "overall", name) for name in (*METRICS, "amri")}
        places |= {f"valid_mrr_{name}": ("valid_bins", name) for name in bins}
        places |= {f"mrr_{name}": ("account", "bins", name, "mrr") for name in bins}
        places |= {f"ece_{name}": ("account", "ece", name) for name in ("overall", *bins)}
        places |= {f"distance_{side}": ("distances", side) for side in ("head", "relation")}
        for column, path in places.items():
            shown = group["probabilities"] or not column.startswith("ece_")
            found = (_at(group, path) if shown else None) or {"mean": None, "sd": None}
            line |= {column: found["mean"], f"{column}_sd": found["sd"]}
        tests = group["test"] or {"overall": None, "bins": {}, "seeds": ()}
        of_bins = {"overall": tests["overall"], **{name: tests["bins"].get(name) for name in bins}}
        for name, test in of_bins.items():
            for key in ("difference", "ci_low", "ci_high", "p_value"):
                line[f"{key}_{name}"] = _at(test, ("mrr", key))
        line["test_seeds"] = " ".join(map(str, tests["seeds"]))
        line |= {key: group["budget"][key] for key in ("steps", "seconds")}
        lines.append(line | {f"paper {key}": value for key, value in group["paper"].items()})
    columns = list(dict.fromkeys(key for line in lines for key in line))
    return "".join(csv_lines([columns, *(map(line.get, columns) for line in lines)]))


def to_markdown(results: Row) -> str:
    """Tables: overall, by bin, against the baseline, calibration, distances and budget."""
    counts, cells = results["counts"], results["cells"]
    states = [f"{counts['done']} of {len(cells)} cells done"]
    states += [f"{counts[state]} {state}" for state in ("failed", "pending") if counts[state]]
    parts = [f"# {_escape(results['experiment'])}", _escape(results["about"])]
    parts.append(", ".join(states) + ".")
    odd = any(group["account"] and not group["probabilities"] for group in results["groups"])
    for title, table in tables(results).items():
        parts.append(f"## {title}")
        if title.startswith("Against") or title == _COMPARISONS:
            parts.append(_HOW_TESTED)
        if title in (_CALIBRATION, _SCALING) and odd:
            parts.append(_NO_PROBABILITIES)
        parts.append(table)
    failed = []
    for cell in (cell for cell in cells if cell["state"] == "failed"):
        options = [f"{option} = {value}" for option, value in cell["options"].items()]
        title = _escape(", ".join([*_names(cell), *options]))
        failed.append(f"- {title}, seed {cell['seed']}: {_escape(cell['error'])}")
    if failed:
        parts += ["## Failed", "\n".join(failed)]
    if results["finding"]:
        parts += ["## The paper's finding", _escape(results["finding"])]
    note = f"Fractions; mean ± standard deviation over seeds. dglkgmix {results['version']}."
    return "\n\n".join(part for part in [*parts, note] if part) + "\n"


def tables(results: Row) -> dict[str, str]:
    """Title → Markdown table of what there is to show."""
    groups = [group for group in results["groups"] if group["seeds"]]
    if not groups:
        return {}
    bins = {readable(name): name for name in results["bin_names"]}
    measured = [group for group in groups if group["account"] is not None]
    metrics = {"MRR": "mrr", "Hits@1": "hits@1", "Hits@10": "hits@10"}
    overall = {
        "valid MRR": _cell("valid_mrr"),
        **_beside(groups, {k: ("account", "overall", m) for k, m in metrics.items()}),
        "queries": _cell(
            "account",
            "overall",
            "queries",
            show=lambda found: "–" if found is None else f"{found['mean']:,.0f}",
        ),
    }
    by_bin = {label: ("account", "bins", name, "mrr") for label, name in bins.items()}
    tests = {"overall": _cell("test", "overall", "mrr", show=_test)}
    tests |= {label: _cell("test", "bins", name, "mrr", show=_test) for label, name in bins.items()}
    errors = {
        label: ("account", "ece", name) for label, name in {"overall": "overall", **bins}.items()
    }
    scaled = {
        f"{label}, {when}": _cell("account", "calibration", when, key, needs=needs)
        for label, key in (("ECE", "ece"), ("Brier", "brier"), ("log loss", "log_loss"))
        for when, needs in (("before", "probabilities"), ("after", None))
    }
    distances = {"heads": ("distances", "head"), "relations": ("distances", "relation")}
    found: dict[str, tuple[Sequence[Row], Columns]] = {
        "Overall": (groups, overall),
        "MRR by tail-relation degree": (measured, _beside(groups, by_bin)),
        "Validation MRR by tail-relation degree": (
            [group for group in groups if group["valid_bins"] is not None],
            {label: _cell("valid_bins", name) for label, name in bins.items()},
        ),
        f"Against {_escape(results['baseline'] or '')}": (
            [{**g, "seeds": g["test"]["seeds"]} for g in groups if g["test"] is not None],
            tests,
        ),
        _COMPARISONS: (
            [pair for pair in results["comparisons"] if pair["test"] is not None],
            {"against": _against, **tests},
        ),
        _CALIBRATION: (
            measured if any(group["probabilities"] for group in measured) else [],
            _beside(groups, errors, needs="probabilities"),
        ),
        _SCALING: ([g for g in measured if g["account"]["calibration"] is not None], scaled),
        "Mean embedding distance": (
            groups if any(group["distances"] for group in groups) else [],
            _beside(groups, distances),
        ),
        "Budget": (groups, _budget(groups)),
    }
    return {title: _table(rows, columns) for title, (rows, columns) in found.items() if rows}


def _cell(
    *path: str, show: Callable[[Any], str] | None = None, needs: str | None = None
) -> Callable[[Row], str]:
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
            columns[f"{label} (paper)"] = _cell("paper", key, show=_number(".4g"))
    return columns


def _against(pair: Row) -> str:
    """The values of the axes in which the other setting differs."""
    ours, theirs = ({**side, **side["options"]} for side in (pair, pair["against"]))
    axes = [axis for axis in theirs if axis != "options" and theirs[axis] != ours[axis]]
    return ", ".join(_escape(str(theirs[axis])) for axis in axes)


def _budget(groups: Sequence[Row]) -> Columns:
    found = dict.fromkeys(stage for group in groups for stage in group["budget"]["stages"])
    stages = sorted(found, key=lambda stage: stage != PRETRAIN)
    paths: dict[str, tuple[str, ...]] = {"": ("budget",)}
    if len(stages) > 1:
        paths |= {f"{stage}: ": ("budget", "stages", stage) for stage in stages}
    return {
        f"{label}{key}": _cell(*path, key, show=_number(form))
        for label, path in paths.items()
        for key, form in (("steps", ",.0f"), ("seconds", ",.1f"))
    }


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
    # Narrow columns must not part a mean from its deviation.
    spread = "" if value["sd"] is None else f"\u00a0±\u00a0{value['sd']:.4f}"
    return f"{value['mean']:.4f}{spread}"


def _number(form: str) -> Callable[[float | None], str]:
    """Writes a number, and nothing where there is none."""
    return lambda value: "" if value is None else format(value, form)


def _test(found: Row) -> str:
    if found["difference"] is None:
        return "–"
    p = found["p_value"]
    if p is None:  # Of a single triple: no interval either.
        return f"{found['difference']:+.4f}"
    p_value = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    interval = f"[{found['ci_low']:+.4f}, {found['ci_high']:+.4f}]"
    return f"{found['difference']:+.4f} {interval}, {p_value}"


def _escape(text: str) -> str:
    """Names are text, whatever Markdown would make of them."""
    for sign in "\\`*_{}[]<>|#":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")
