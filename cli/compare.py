"""``dglkgmix compare``: is one run better than another, and where?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dglkgmix.cli.common import emit_json, json_option, metric_option, open_run, trust_option
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.paths import path_of

if TYPE_CHECKING:
    from dglkgmix.evaluation.rank_table import RankTable
    from dglkgmix.runs.run import Run


@click.command(
    epilog="Example: dglkgmix compare runs/standard runs/mixup",
    context_settings={"show_default": True},
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN_A RUN_B [RUN]...")
@click.option(
    "--split", type=click.Choice(["test", "valid"]), default="test", help="What to compare on."
)
@click.option("--bins", default="1,10,50", metavar="A,B,…", help="Edges of the degree bins.")
@json_option
@metric_option
@trust_option
def compare(runs: tuple[str, ...], *, split: str, bins: str, as_json: bool) -> None:
    """Compare every further RUN with the first, the baseline, on the same triples.

    Intervals (95 %) are of a paired bootstrap over triples, p-values of a paired t-test. A RUN
    may also be a folder that holds runs alone, one setting with several seeds, or a rank table
    that `evaluate --write-ranks` wrote.
    """
    from dglkgmix.evaluation.significance import compare as compare_tables
    from dglkgmix.kg.degrees import DegreeBins

    if len(runs) < 2:
        raise ConfigError("compare needs two runs or more: the baseline, then the others")
    chosen = DegreeBins.parse(bins)
    tables = {run: rank_tables(path_of(run), split) for run in runs}
    baseline = runs[0]
    if not len(tables[baseline][0]):
        raise DataError(f"{baseline}: its {split} split holds no triples")
    found = [
        {"run": run} | compare_tables(tables[baseline], tables[run], chosen, labels=(baseline, run))
        for run in runs[1:]
    ]
    if as_json:
        emit_json(found)
        return
    from dglkgmix.cli.compare_page import page

    seeds = {run: len(tables[run]) for run in runs}
    click.echo("\n\n".join(page(baseline, entry, chosen, split, seeds) for entry in found))


def rank_tables(path: Path, split: str) -> list[RankTable]:
    """One table a seed: of a run, of the runs that a folder holds, or a rank table's file."""
    from dglkgmix.evaluation.rank_table import RankTable

    if path.is_file():
        return [RankTable.from_bytes(path.read_bytes(), path)]
    if (path / "manifest.json").exists():
        return [open_run(path).rank_table(split)]
    inner = sorted(file.parent for file in path.glob("*/manifest.json"))
    runs = [open_run(folder) for folder in inner or [path]]
    _check_one_setting(path, runs)
    return [run.rank_table(split) for run in runs]


def _check_one_setting(path: Path, runs: list[Run]) -> None:
    first = _setting(runs[0])
    for run in runs[1:]:
        if _setting(run) != first:
            raise ConfigError(
                f"{path} holds runs of different settings ({runs[0].name}, {run.name}), not "
                "several seeds of one: name the runs one by one"
            )


def _setting(run: Run) -> tuple[object, ...]:
    config = run.config
    return config.model, config.training, config.strategy, config.pretrain, config.swa
