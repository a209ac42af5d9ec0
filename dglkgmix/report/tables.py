"""The tables of a page, as rows of shown text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.popularity import better_bins
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.files import digest
from dglkgmix.kg.degrees import DegreeBins, readable
from dglkgmix.report.subject import Subject

# Relations with fewer test queries say little about a model.
FEWEST_QUERIES, WORST = 10, 12
DASH = "–"
POPULARITY = "popularity alone"
# What further runs are tested by.
TESTED = {"mrr": "MRR", "hits@10": "Hits@10"}


@dataclass(frozen=True)
class Cell:
    """A text with what it is: ``number``, ``best``, ``name``, ``aside`` or ``code``.

    ``run`` is a run's place, for its dot; ``small`` stands on a line of its own below the text.
    """

    text: str
    kinds: tuple[str, ...] = ("number",)
    run: int | None = None
    small: str = ""


# A run is shown by its name, a whole number with its thousands apart, another with three digits.
Value = Cell | Subject | str | int | float | None


@dataclass(frozen=True)
class Table:
    """``head`` are column titles; the first ``labels`` columns hold names, the others numbers.

    A title breaks at its line ends, so that titles of a kind break alike. ``note`` stands below.
    """

    head: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    labels: int = 1
    note: str = ""

    @classmethod
    def of(cls, head: Iterable[str], rows: Iterable[Sequence[Value]], labels: int = 1) -> Table:
        """From the values of each row."""
        shown = [[_cell(v, is_label=i < labels) for i, v in enumerate(row)] for row in rows]
        return cls(tuple(head), shown, labels)

    def noted(self, note: str) -> Table:
        """With a note."""
        return replace(self, note=note)


def _cell(value: Value, *, is_label: bool) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, Subject):
        return Cell(value.name, ("name",), value.place)
    if isinstance(value, int):
        value = f"{value:,}"
    text = value if isinstance(value, str) else number(value)
    return Cell(text, ("name",) if is_label else ("number",))


_POPULAR = Cell(POPULARITY, ("name", "aside"))


def overall_table(subjects: Sequence[Subject], popular: RankTable) -> Table:
    """Each run, and popularity alone, on the whole split."""
    found = [s.account["overall"] for s in subjects]
    rows: list[Sequence[Value]] = [
        [s, s.model, *_metric_cells(values, found)]
        for s, values in zip(subjects, found, strict=True)
    ]
    rows.append([_POPULAR, "", *_metric_cells(metrics.overall(popular), ())])
    head = ("run", "model", *(metric.title for metric in metrics.columns()), "AMRI")
    return Table.of(head, rows, labels=2)


def bins_table(subjects: Sequence[Subject], bins: DegreeBins, popular: RankTable) -> Table:
    """MRR by degree bin with its interval; the last row is popularity alone.

    A star marks what is below popularity alone.
    """
    rows: list[Sequence[Value]] = []
    base, note = metrics.by_bin(popular, bins), ""
    for s in subjects:
        if below := better_bins(base, s.account["bins"]):
            note = f"* Below “{POPULARITY}” in this bin."
        row: list[Value] = [s]
        for name in bins.names:
            mrr, pair = number(s.account["bins"][name]["mrr"]), s.intervals[name]
            ends = "" if pair is None else f"{pair[0]:.3f}–{pair[1]:.3f}"
            row.append(Cell(mrr + (" *" if name in below else ""), small=ends))
        rows.append(row)
    rows.append([_POPULAR, *(base[name]["mrr"] for name in bins.names)])
    titles = zip(bins.names, bins.intervals, strict=True)
    shown = (readable(n) if n == i else f"{n}\n{readable(i)}" for n, i in titles)
    return Table.of(("MRR", *shown), rows).noted(note)


def directions_table(subjects: Sequence[Subject]) -> Table:
    """Heads and tails asked for, apart."""
    pairs = [(end, metric) for end in ("head", "tail") for metric in TESTED]
    rows = [[s, *(s.account["directions"][end][metric] for end, metric in pairs)] for s in subjects]
    return Table.of(("run", *(f"{end}: {TESTED[metric]}" for end, metric in pairs)), rows)


def data_table(summary: Mapping[str, int]) -> Table:
    """Sizes, and what is odd about the data, where anything is."""
    sizes = {
        "entities": "entities",
        "relations": "relations",
        "train": "training triples",
        "valid": "validation triples",
        "test": "test triples",
    }
    oddities = {
        "duplicates": "rows that repeat an earlier row of their split",
        "overlap": "triples in more than one split",
        "reciprocal_leakage": "test triples whose reverse is in training",
        "valid_mirrors": "validation triples whose mirror is in training",
        "test_mirrors": "test triples whose mirror is in training",
        "inverse_pairs": "pairs of inverse relations",
        "self_loops": "training triples from an entity to itself",
        "entities_not_in_train": "entities without a training triple",
        "relations_not_in_train": "relations without a training triple",
    }
    shown = sizes | {key: label for key, label in oddities.items() if summary[key]}
    return Table.of(("", "count"), [[label, summary[key]] for key, label in shown.items()])


def bias_table(summary: Mapping[str, Any], bins: DegreeBins) -> Table:
    """Queries of each split by degree bin, with their shares below."""
    rows: list[Sequence[Value]] = []
    for split, counts in summary["bins"].items():
        total = sum(counts.values())
        shares = {name: percent(counts[name] / total) if total else "" for name in bins.names}
        rows.append([split, *(Cell(f"{counts[n]:,}", small=shares[n]) for n in bins.names)])
    return Table.of(("queries", *map(readable, bins.names)), rows)


def tests_table(
    baseline: Subject, others: Sequence[tuple[Subject, Mapping[str, Any]]], names: Sequence[str]
) -> Table:
    """Differences to the baseline, overall and by bin, with intervals and p-values."""
    rows: list[Sequence[Value]] = []
    for subject, found in others:
        groups = [found["overall"], *(found["bins"][name] for name in names)]
        for metric, label in TESTED.items():
            rows.append([subject, label, *(_test_cell(group[metric]) for group in groups)])
    head = (f"against {baseline.name}", "", "overall", *map(readable, names))
    return Table.of(head, rows, labels=2)


def relations_table(subjects: Sequence[Subject], classes: Mapping[str, str]) -> Table:
    """The relations with the lowest MRR under the first run, and how the others do on them."""
    found = [metrics.by_relation(s.table) for s in subjects]
    first = found[0]
    enough = [name for name, group in first.items() if group["queries"] >= FEWEST_QUERIES]
    worst = sorted(enough or first, key=lambda name: (first[name]["mrr"], name))[:WORST]
    rows = [
        [name, classes.get(name, ""), first[name]["queries"], *(of[name]["mrr"] for of in found)]
        for name in worst
    ]
    head = ("relation", "class", "queries", *(f"MRR, {s.name}" for s in subjects))
    return Table.of(head, rows, labels=2)


def classes_table(subjects: Sequence[Subject], classes: dict[str, str]) -> Table:
    """MRR by class of the relation and end asked for."""
    found = [metrics.by_relation_class(s.table, classes) for s in subjects]
    rows = [
        [label, group["queries"], *(of[label]["mrr"] for of in found)]
        for label, group in found[0].items()
    ]
    head = ("relation, end asked for", "queries", *(f"MRR, {s.name}" for s in subjects))
    return Table.of(head, rows)


def ece_table(subjects: Sequence[Subject], bins: DegreeBins) -> Table:
    """The paper's calibration error over degree bins."""
    names = ("overall", *bins.names)
    rows = [[s, *(s.account["ece"][name] for name in names)] for s in subjects]
    return Table.of(("run", *map(readable, names)), rows)


def scaling_table(subjects: Sequence[Subject]) -> Table:
    """ECE, Brier score and log loss before and after Platt scaling, of runs that have it."""
    titles = {"ece": "ECE", "brier": "Brier score", "log_loss": "log loss"}
    pairs = [(key, when) for key in titles for when in ("before", "after")]
    rows = []
    for s in subjects:
        found = s.account["calibration"]
        figures = [found[when][key] for key, when in pairs]
        rows.append([s, *figures, found["scale"], found["offset"]])
    head = (f"{titles[key]} {when}" for key, when in pairs)
    return Table.of(("run", *head, "scale", "offset"), rows)


def shortlist_table(subjects: Sequence[Subject], bins: DegreeBins) -> Table:
    """The first ten answers of each query, overall and by degree bin."""
    keys = ("answers", "probability", "precision@10", "precision@1", "ece", "brier", "brier_base")
    rows = []
    for s in subjects:
        shortlist = s.account["shortlist"]
        groups = {"overall": shortlist["overall"]}
        groups |= {readable(name): shortlist["bins"][name] for name in bins.names}
        rows += [[s, name, *map(part.get, keys)] for name, part in groups.items()]
    head = ("run", "degree", "answers", "probability", "true", "true at\nplace 1", "ECE")
    return Table.of((*head, "Brier score", "Brier score of\nthe true share"), rows, labels=2)


def training_table(subjects: Sequence[Subject]) -> Table:
    """Epochs, steps and time of every stage."""
    rows = []
    for s in subjects:
        for stage in dict.fromkeys(row["stage"] for row in s.run.history):
            own = [row for row in s.run.history if row["stage"] == stage]
            valid = [row["valid_mrr"] for row in own if row["valid_mrr"] is not None]
            steps, seconds = (sum(row[key] for row in own) for key in ("batches", "seconds"))
            rows.append([s, stage, len(own), steps, f"{seconds:,.1f}", max(valid, default=None)])
    head = ("run", "stage", "epochs", "steps", "seconds", "best validation MRR")
    return Table.of(head, rows, labels=2)


def differences_table(names: Sequence[str], values: Mapping[str, Sequence[Any]]) -> Table:
    """Options in which the runs differ."""
    rows = [
        [Cell(option, ("name", "code")), *(Cell(str(value), ("code",)) for value in row)]
        for option, row in values.items()
    ]
    return Table.of(("option", *names), rows, labels=1 + len(names))


def digests_table(subjects: Sequence[Subject]) -> Table:
    """Seed, selected epoch and the SHA-256 of the ranks of every run."""
    rows = []
    for s in subjects:
        epoch = s.run.metrics["best_epoch"] if s.run.finished else None
        sha256 = Cell(digest(s.table.to_bytes()), ("code", "digest"))
        rows.append([s, str(s.run.config.runtime.seed), epoch, sha256])
    return Table.of(("run", "seed", "epoch selected", "SHA-256 of its ranks"), rows)


def number(value: float | None, style: str = ".3f") -> str:
    """A figure of the page; a dash where there is none."""
    return DASH if value is None else format(value, style)


def signed(value: float) -> str:
    """A difference with its sign, minus as print has it."""
    return f"{value:+.3f}".replace("-", "−")


def percent(share: float) -> str:
    """``56 %``, which no line end separates."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def p_value(value: float | None) -> str:
    """``p < 0.001`` or ``p = 0.034``."""
    if value is None:
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _test_cell(found: Mapping[str, Any]) -> Cell:
    if found["difference"] is None:
        return Cell(DASH)
    sure = found["p_value"] is not None and found["p_value"] < 0.05
    small = ""
    if found["ci_low"] is not None:
        pair = f"{signed(found['ci_low'])} to {signed(found['ci_high'])}"
        small = f"{pair}\n{p_value(found['p_value'])}"
    kinds = ("number", "best") if sure else ("number",)
    return Cell(signed(found["difference"]), kinds, small=small)


def _metric_cells(values: Mapping[str, Any], among: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """All metrics and AMRI, the best of several runs marked."""
    cells = []
    for column in (*(metric.name for metric in metrics.columns()), "amri"):
        metric = metrics.METRICS.get(column)
        is_rank = metric is not None and metric.style != metrics.Metric.style
        text = number(values[column], ",.1f" if is_rank else ".3f")
        known = [found[column] for found in among if found[column] is not None]
        best = (min if metric is not None and metric.low_is_good else max)(known, default=None)
        is_best = len(among) > 1 and values[column] is not None and values[column] == best
        cells.append(Cell(text, ("number", "best") if is_best else ("number",)))
    return cells
