"""``dglkgmix experiment``: many trainings, compared."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli.common import emit_json, json_option, printable
from dglkgmix.cli.outputs import OUT_FOLDER
from dglkgmix.cli.threads import use_free_cores
from dglkgmix.errors import ConfigError

if TYPE_CHECKING:
    from dglkgmix.experiments.plan import Plan


@click.command(
    epilog="Example: dglkgmix experiment compare.toml --out compare --jobs 2",
)
@click.argument("file")
@click.option("--out", type=OUT_FOLDER, help="Folder of runs and results.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Trainings at once."
)
@click.option("--dry-run", is_flag=True, help="Print cells and an estimate of time; train nothing.")
@click.option("--show", is_flag=True, help="Print the experiment file and stop.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@json_option
def experiment(file: str, out: Path | None, jobs: int, **options: Any) -> None:
    """Train and compare all cells of a grid: data, models, strategies, options and seeds.

    FILE is a TOML file, or the name of one that comes with the package:

    \b
      paper-main, paper-ablation, paper-parameters, paper-calibration,
      paper-distances, precision, evidence-world, evidence-codex-s-conve,
      evidence-codex-s-tucker, evidence-codex-s-rgcn,
      evidence-codex-s-parameters, evidence-fb15k-237-conve

    Stopped half way, the same command goes on. results.md, results.csv and results.json are
    written after each cell. A cell that fails is reported, the others go on, and the exit status
    is 1.

    A small one:

    \b
      [experiment]
      name = "mixup on world"
      seeds = [0, 1, 2]
      [grid]
      data = ["world"]
      model = ["conve", "tucker"]
      strategy = ["standard", "two-stage", "mixup"]
      [variants.two-stage]
      strategy.name = "standard"
      pretrain.enabled = true
      [settings]
      training.epochs = 50
      swa.enabled = false
    """  # noqa: D301 - click reads the backspace
    use_free_cores()
    from dglkgmix.experiments.grid import experiment_text, parse_experiment

    text = experiment_text(file)
    if options["show"]:
        click.echo(text, nl=False)
        return
    grid = parse_experiment(text, file)
    if options["dry_run"]:
        _dry_run(_plan(grid, jobs), jobs, options["as_json"], _sayer(options["quiet"]))
        return
    if out is None:
        raise ConfigError("--out is missing: name the folder for runs and results")
    found = _run(_plan(grid, jobs), text, out, jobs, options["quiet"])
    _print(found, out, options["as_json"])
    sys.exit(1 if found["counts"]["failed"] else 0)


def _plan(grid: Any, jobs: int) -> Plan:
    from dglkgmix.experiments.execute import load_graph
    from dglkgmix.experiments.plan import make_plan

    return make_plan(grid, load_graph, jobs=jobs)


def _run(plan: Plan, text: str, out: Path, jobs: int, quiet: bool) -> dict[str, Any]:
    from dglkgmix.experiments.runner import run_experiment

    try:
        return run_experiment(plan, text, out, jobs=jobs, quiet=quiet, say=_sayer(quiet))
    except KeyboardInterrupt:
        click.echo("Interrupted. What is done is kept; the same command goes on.", err=True)
        sys.exit(130)


def _sayer(quiet: bool) -> Callable[[str], None]:
    def say(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    return say


def _dry_run(plan: Plan, jobs: int, as_json: bool, say: Callable[[str], None]) -> None:
    from dglkgmix.experiments.estimate import estimate
    from dglkgmix.experiments.execute import load_graph
    from dglkgmix.experiments.plan import describe

    found = estimate(plan, load_graph, plan.trainings, say)
    seconds = sum(e.seconds for e in found)
    rows = [
        {"training": e.name, "steps": e.steps, "seconds": e.seconds, "cells": []} for e in found
    ]
    by_name = {row["training"]: row for row in rows}
    for cell in plan.cells:
        by_name[cell.training]["cells"].append(describe(cell.axes, cell.seed))  # type: ignore[attr-defined]
    if as_json:
        emit_json({"trainings": rows, "seconds": seconds, "jobs": jobs})
        return
    for row in rows:
        shown = "; ".join(row["cells"]) or "shared pre-training"  # type: ignore[arg-type]
        click.echo(f"{_duration(row['seconds']):>9}  {row['steps']:>10,} steps  {shown}")
    click.echo(
        f"{len(plan.cells)} cells, {len(rows)} trainings, at most about {_duration(seconds)} of "
        f"computing{f', {jobs} at once' if jobs > 1 else ''}; early stopping ends most sooner."
    )


def _duration(seconds: Any) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _print(found: dict[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        emit_json(found)
        return
    from dglkgmix.experiments.results_text import to_markdown

    click.echo(printable(to_markdown(found)))
    click.echo(f"Results: {out / 'results.md'}, results.csv, results.json", err=True)
