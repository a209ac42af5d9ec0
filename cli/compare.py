"""``dglkgmix compare``: is one run better than another, and where?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli import common
from dglkgmix.cli.columns import EMPTY, aligned, number
from dglkgmix.cli.evaluate_page import bin_labels
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.paths import path_of

if TYPE_CHECKING:
    from dglkgmix.evaluation.rank_table import RankTable
    from dglkgmix.kg.degrees import DegreeBins


@click.command(epilog="Example: dglkgmix compare runs/standard runs/mixup")
@click.argument("runs", nargs=-1, required=True, metavar="RUN_A RUN_B [RUN]...")
@click.option(
    "--split", type=click.Choice(["test", "valid"]), default="test", help="What to compare on."
)
@common.bins_option
@common.json_option
@common.metric_option
@common.trust_option
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
        common.emit_json(found)
        return
    seeds = {run: len(tables[run]) for run in runs}
    click.echo("\n\n".join(_page(baseline, entry, chosen, split, seeds) for entry in found))


def rank_tables(path: Path, split: str) -> list[RankTable]:
    """One table a seed: of a run, of the runs that a folder holds, or a rank table's file."""
    from dglkgmix.evaluation.rank_table import RankTable
    from dglkgmix.files import MANIFEST

    if path.is_file():
        return [RankTable.from_bytes(path.read_bytes(), path)]
    if (path / MANIFEST).exists():
        return [common.open_run(path).rank_table(split)]
    inner = sorted(file.parent for file in path.glob(f"*/{MANIFEST}"))
    runs = [common.open_run(folder) for folder in inner or [path]]
    settings = [
        (c.model, c.training, c.strategy, c.pretrain, c.swa) for c in (run.config for run in runs)
    ]
    for run, setting in zip(runs, settings, strict=True):
        if setting != settings[0]:
            raise ConfigError(
                f"{path} holds runs of different settings ({runs[0].name}, {run.name}), not "
                "several seeds of one: name the runs one by one"
            )
    return [run.rank_table(split) for run in runs]


def _page(
    baseline: str,
    entry: Mapping[str, Any],
    bins: DegreeBins,
    split: str,
    seeds: Mapping[str, int],
) -> str:
    """One run against the baseline."""
    from dglkgmix.evaluation.metrics import METRICS

    run = entry["run"]
    triples = entry["overall"]["mrr"]["triples"]
    named = [
        common.printable(name) + (f" ({seeds[name]} seeds)" if seeds[name] > 1 else "")
        for name in (run, baseline)
    ]
    title = f"{' against '.join(named)}: {split} split, {triples:,} distinct triples"
    heading = ["", "", "queries", "baseline", "run", "difference", "95 % interval", "p"]
    rows = [heading]
    for metric in entry["overall"]:
        rows.append([METRICS[metric].title, "overall", *_cells(entry["overall"][metric])])
        rows += [
            ["", name, *_cells(entry["bins"][key][metric])]
            for key, name in zip(bins.names, bin_labels(bins), strict=True)
        ]
    notes = ["  p over bins is Holm-corrected, intervals are not."]
    if max(seeds[run], seeds[baseline]) > 1:
        notes.append(
            "  ± is the standard deviation over seeds; tests average a query's seeds first."
        )
    return "\n".join([title, "", aligned(rows, right=range(2, 8)), "", *notes])


def _cells(part: Mapping[str, Any]) -> list[str]:
    if not part["queries"]:
        return ["0", *[EMPTY] * 5]
    small = part["p_value"] is not None and part["p_value"] < 1e-4
    means = [
        number(part[side]) + ("" if (sd := part[f"{side}_sd"]) is None else f" ± {number(sd)}")
        for side in ("a", "b")
    ]
    return [
        f"{part['queries']:,}",
        *means,
        number(part["difference"], "{:+.4f}"),
        EMPTY if part["ci_low"] is None else f"{part['ci_low']:+.4f} … {part['ci_high']:+.4f}",
        "< 0.0001" if small else number(part["p_value"]),
    ]
