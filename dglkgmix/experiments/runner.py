"""Runs an experiment: trains what is not finished, and writes results after each cell."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dglkgmix.atomic import make_folder, write_atomic
from dglkgmix.experiments.execute import RUNS, Job
from dglkgmix.experiments.plan import Plan
from dglkgmix.experiments.pool import run_tasks
from dglkgmix.experiments.results import Results
from dglkgmix.experiments.results_text import to_csv, to_markdown
from dglkgmix.files import LOCK, lock_folder, refuse_others
from dglkgmix.plain import plain_values

SOURCE, FAILURES = "dglkgmix-experiment.toml", "failures"
Say = Callable[[str], None]


def run_experiment(
    plan: Plan,
    text: str,
    out: Path,
    *,
    jobs: int = 1,
    quiet: bool = False,
    say: Say = lambda line: None,
) -> dict[str, Any]:
    """Fill every cell of ``plan``; go on from whatever ``out`` holds of it already.

    ``results.md``, ``results.csv`` and ``results.json``, whose content is returned, are written
    anew after each training; ``text``, the experiment file, is kept beside them. Each of several
    ``jobs`` is a process of its own; ``say`` takes a line for each training that starts or ends.

    Raises:
        CheckpointError: the folder holds something else, or is in use.
        StorageError: it cannot be written.
    """
    experiment = plan.experiment
    job = Job(out, plan.trainings, experiment.bins, experiment.distances, quiet or jobs > 1)
    with _locked(out):
        write_atomic(out / SOURCE, text.encode())
        (out / RUNS).mkdir(exist_ok=True)
        results, failures = Results(plan, job), dict[str, str]()
        todo = [name for name in plan.trainings if job.summary(name) is None]
        needs = {name: plan.trainings[name].needs for name in todo}
        needs = {name: need if need in needs else None for name, need in needs.items()}
        found = _write(results, failures, out)
        count = itertools.count(1)

        def started(name: str) -> None:
            say(f"[{next(count)}/{len(todo)}] {name}")

        for name, error, details in run_tasks(needs, job, jobs=jobs, started=started):
            log = out / FAILURES / f"{name}.txt"
            if error is None:
                log.unlink(missing_ok=True)
            else:
                failures[name] = error
                say(f"FAILED {name}: {error}")
            if details:
                log.parent.mkdir(exist_ok=True)
                write_atomic(log, details.encode())
            found = _write(results, failures, out)
        return found


def _write(results: Results, failures: dict[str, str], out: Path) -> dict[str, Any]:
    found = results.collect(failures)
    text = json.dumps(plain_values(found), indent=1, allow_nan=False)
    write_atomic(out / "results.json", text.encode())
    write_atomic(out / "results.csv", to_csv(found).encode())
    write_atomic(out / "results.md", to_markdown(found).encode())
    return found


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """The folder, made where it is missing, for this process alone."""
    if out.is_dir() and not (out / SOURCE).exists():
        refuse_others(out, (LOCK,), " and no experiment's folder; choose another one")
    make_folder(out)
    descriptor = lock_folder(out, "experiment")
    try:
        yield
    finally:
        os.close(descriptor)
