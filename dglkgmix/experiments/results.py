"""What an experiment has found so far, as one plain value: the content of ``results.json``.

What its keys mean stands in ``docs/guides/experiments.md``, which tests hold to this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from dglkgmix.errors import CheckpointError
from dglkgmix.evaluation.account import over_seeds
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.significance import compare, mrr_intervals
from dglkgmix.experiments.execute import RUNS, Job
from dglkgmix.experiments.grid import AXES
from dglkgmix.experiments.plan import Cell, Plan, slug
from dglkgmix.experiments.recipes import model_name, paper_numbers
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.runs.run import Run
from dglkgmix.training.stages import PRETRAIN
from dglkgmix.version import __version__

# Of a summary: told otherwise, or of no use to a reader.
_UNTOLD = ("budget", "graph", "bin_edges", "format")


class Results:
    """Reads the finished trainings of a plan; what was read or tested once is kept."""

    def __init__(self, plan: Plan, job: Job) -> None:
        self._plan, self._job = plan, job
        self._bins = DegreeBins(plan.experiment.bins)
        self._summaries: dict[str, dict[str, Any]] = {}
        self._table = cache(self._read_table)
        self._compared = cache(
            lambda a, b: compare([*map(self._table, a)], [*map(self._table, b)], self._bins)
        )
        self._intervals = cache(lambda names: mrr_intervals([*map(self._table, names)], self._bins))

    def collect(self, failures: Mapping[str, str]) -> dict[str, Any]:
        """Everything so far. ``failures`` maps trainings that failed to what went wrong."""
        experiment = self._plan.experiment
        axes = experiment.combinations()
        cells = [self._cell(cell, failures) for cell in self._plan.cells]
        pairs = [(own, c.partner(own)) for c in experiment.comparisons for own in axes]
        tests = [(own, other, self._test(own, other)) for own, other in pairs if other is not None]
        states = [cell["state"] for cell in cells]
        return {
            "experiment": experiment.name,
            "about": experiment.about,
            "finding": experiment.finding,
            "version": __version__,
            "bins": list(experiment.bins),
            "bin_names": list(self._bins.names),
            "baseline": experiment.baseline,
            "counts": {s: states.count(s) for s in ("done", "failed", "pending")},
            "groups": [self._group(own) for own in axes],
            "comparisons": [
                _named(own)
                | {"against": _named(other), "seeds": test["seeds"] if test else [], "test": test}
                for own, other, test in tests
            ],
            "cells": cells,
        }

    def _summary(self, name: str) -> dict[str, Any] | None:
        if name not in self._summaries:
            found = self._job.summary(name)
            if found is None:
                return None
            self._summaries[name] = found
        return self._summaries[name]

    def _cell(self, cell: Cell, failures: Mapping[str, str]) -> dict[str, Any]:
        summary = self._summary(cell.training)
        error = None if summary else failures.get(cell.training)
        state = "done" if summary else "failed" if error else "pending"
        found = _named(cell.axes) | {"seed": cell.seed, "state": state, "error": error}
        found["run"] = f"{RUNS}/{cell.training}"
        if summary is not None:
            found |= {key: value for key, value in summary.items() if key not in _UNTOLD}
            found["mrr"] = summary["account"] and summary["account"]["overall"]["mrr"]
            found["budget"] = self._budget(cell.training)
        return found

    def _group(self, axes: Mapping[str, Any]) -> dict[str, Any]:
        cells = self._done(axes)
        names = [cell.training for cell in cells]
        summaries = [self._summaries[name] for name in names]

        def together(key: str) -> Any:
            """Means and deviations; None where there is nothing, or a seed has none."""
            return over_seeds([{key: s[key]} for s in summaries])[key] if summaries else None

        intervals = None
        if names and summaries[0]["account"] is not None:
            found = self._intervals(tuple(names))
            intervals = {k: None if v is None else list(v) for k, v in found.items()}
        baseline, strategy = self._plan.experiment.baseline, axes["strategy"]
        alone = baseline is None or strategy == baseline
        model = model_name(axes["encoder"], axes["model"])
        paper = paper_numbers(slug(axes["data"]), model, strategy)
        return _named(axes) | {
            "seeds": [cell.seed for cell in cells],
            "account": together("account"),
            "valid_mrr": together("valid_mrr"),
            "valid_bins": together("valid_bins"),
            "probabilities": all(s["probabilities"] for s in summaries) if summaries else None,
            "distances": together("distances"),
            "budget": _mean_budget([self._budget(name) for name in names]),
            "intervals": intervals,
            "test": None if alone else self._test(axes, {**axes, "strategy": baseline}),
            "paper": paper if len(axes) == len(AXES) else {},
        }

    def _done(self, axes: Mapping[str, Any]) -> list[Cell]:
        cells = [cell for cell in self._plan.cells if cell.axes == axes]
        return [cell for cell in cells if self._summary(cell.training) is not None]

    def _budget(self, name: str) -> dict[str, dict[str, Any]]:
        """By stage; a first stage that other cells share counts in full for each of them."""
        own: dict[str, Any] = self._summaries[name]["budget"]
        needs = self._plan.trainings[name].needs
        first = None if needs is None else self._summary(needs)
        if first is None:
            return own
        return {PRETRAIN: _total(first["budget"])} | own

    def _test(self, axes: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any] | None:
        """One setting against another, over the seeds that both have; None where there is none."""
        ours = {c.seed: c.training for c in self._done(axes)}
        theirs = {c.seed: c.training for c in self._done(other)}
        both = [seed for seed in ours if seed in theirs]
        names = (tuple(theirs[s] for s in both), tuple(ours[s] for s in both))
        if not both or any(self._summaries[n]["account"] is None for n in (*names[0], *names[1])):
            return None
        return self._compared(*names) | {"seeds": both}

    def _read_table(self, name: str) -> RankTable:
        path = self._job.out / RUNS / name
        try:
            return Run.open(path).rank_table("test")
        except CheckpointError as error:
            raise CheckpointError(
                f"{str(error).partition('. Restore it')[0]}. Remove the folder {path}, and the "
                "same command trains it anew"
            ) from None


def _named(axes: Mapping[str, Any]) -> dict[str, Any]:
    options = {axis: value for axis, value in axes.items() if axis not in AXES}
    return {axis: axes[axis] for axis in AXES} | {"options": options}


def _mean_budget(budgets: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, Any] | None:
    if not budgets:
        return None
    stages = {
        stage: {
            key: float(np.mean([budget[stage][key] for budget in budgets if stage in budget]))
            for key in ("steps", "seconds")
        }
        for stage in dict.fromkeys(stage for budget in budgets for stage in budget)
    }
    return _total(stages) | {"stages": stages}


def _total(stages: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {key: sum(stage[key] for stage in stages.values()) for key in ("steps", "seconds")}
