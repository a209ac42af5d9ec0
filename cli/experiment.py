"""``dglkgmix experiment``: many trainings, compared."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli.common import (
    emit_json,
    json_option,
    printable,
    quiet_option,
    resumed_by_the_same_command,
)
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
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Trainings at once.")
@click.option("--dry-run", is_flag=True, help="Print cells and an estimate of time; train nothing.")
@click.option("--show", is_flag=True, help="Print the experiment file and stop.")
@quiet_option
@json_option
def experiment(file: str, out: Path | None, jobs: int, **options: Any) -> None:
    """Train and compare all cells of a grid: data, models, strategies, options and seeds.

    FILE is a TOML file, or the name of one that comes with the package:

    \b
      paper-main, paper-ablation, paper-parameters, paper-calibration, paper-distances,
      precision, evidence-world-default, evidence-codex-s-complex, evidence-codex-m-complex,
      evidence-codex-m-strategies, evidence-codex-m-strategies-bf16,
      evidence-fb15k-237-complex, evidence-fb15k-237-seeds, evidence-fb15k-237-settings,
      evidence-fb15k-237-strategies, evidence-nell-995-complex, evidence-nell-995-strategies,
      evidence-wn18rr-complex, evidence-codex-s-distmult, evidence-codex-s-encoder,
      evidence-codex-s-conve-draws, evidence-codex-s-tucker-draws, evidence-world,
      evidence-codex-s-conve, evidence-codex-s-tucker, evidence-codex-s-rgcn,
      evidence-codex-s-parameters,
      evidence-fb15k-237-conve, evidence-fb15k-237-conve-long,
      evidence-fb15k-237-conve-long-float32

    After an interrupt, the same command resumes. results.md, results.csv and results.json are
    written after each cell. A cell that fails is reported, the others run, and the exit status is
    1.

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
    from dglkgmix.experiments.execute import load_graph
    from dglkgmix.experiments.grid import parse_experiment
    from dglkgmix.experiments.plan import make_plan
    from dglkgmix.experiments.recipes import packaged_text
    from dglkgmix.experiments.results_text import to_markdown
    from dglkgmix.experiments.runner import run_experiment

    text = packaged_text("experiments", file)
    if options["show"]:
        click.echo(text, nl=False)
        return
    if out is None and not options["dry_run"]:
        raise ConfigError("--out is missing: name the folder for runs and results")
    plan = make_plan(parse_experiment(text, file), load_graph, jobs=jobs)
    quiet, as_json = options["quiet"], options["as_json"]
    say: Callable[[str], None] = (lambda line: None) if quiet else partial(click.echo, err=True)
    if options["dry_run"] or out is None:
        _dry_run(plan, jobs, as_json=as_json, say=say)
        return
    with resumed_by_the_same_command():
        found = run_experiment(plan, text, out, jobs=jobs, quiet=quiet, say=say)
    if as_json:
        emit_json(found)
    else:
        click.echo(printable(to_markdown(found)))
        click.echo(printable(f"Results: {out / 'results.md'}, results.csv, results.json"), err=True)
    sys.exit(1 if found["counts"]["failed"] else 0)


def _dry_run(plan: Plan, jobs: int, *, as_json: bool, say: Callable[[str], None]) -> None:
    from dglkgmix.experiments.estimate import estimate
    from dglkgmix.experiments.execute import load_graph
    from dglkgmix.experiments.plan import describe

    rows: list[dict[str, Any]] = []
    for found in estimate(plan.trainings, load_graph, say):
        cells = [describe(c.axes, c.seed) for c in plan.cells if c.training == found.name]
        own = {"training": found.name, "steps": found.steps, "seconds": found.seconds}
        rows.append(own | {"cells": cells})
    seconds = sum(row["seconds"] for row in rows)
    if as_json:
        emit_json({"trainings": rows, "seconds": seconds, "jobs": jobs})
        return
    for row in rows:
        shown = "; ".join(row["cells"]) or "shared pre-training"
        click.echo(f"{_duration(row['seconds']):>9}  {row['steps']:>10,} steps  {shown}")
    click.echo(
        f"{len(plan.cells)} cells, {len(rows)} trainings, at most about {_duration(seconds)} of "
        f"computing{f', {jobs} at once' if jobs > 1 else ''}; early stopping ends most sooner."
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
