"""``dglkgmix report``: one page about one or several runs."""

from __future__ import annotations

from pathlib import Path

import click

from dglkgmix.cli import common
from dglkgmix.cli.outputs import IN, OUT_FILE, check_new, overwrite_option


@click.command(epilog="Example: dglkgmix report runs/standard runs/mixup --out page.html")
@click.argument("runs", nargs=-1, required=True, type=IN)
@click.option("--out", required=True, type=OUT_FILE, help="HTML file to write.")
@click.option("--split", type=click.Choice(["test", "valid"]), default="test", help="What to rank.")
@common.bins_option
@common.candidate_options
@click.option(
    "--map",
    "projection",
    type=click.Choice(["pca", "tsne"]),
    default="pca",
    help="How the map of the entities is made; t-SNE takes longer.",
)
@overwrite_option("an existing file")
@common.metric_option
@common.trust_option
def report(
    runs: tuple[Path, ...],
    out: Path,
    *,
    split: str,
    bins: str,
    candidates: str | None,
    types: Path | None,
    projection: str,
    overwrite: bool,
) -> None:
    """Write a page about RUNS: data, bias, results by degree, tests, examples, settings.

    The page is one HTML file that needs no network and no script. RUNS must be of the same data;
    the first is the one that others are compared with.
    """
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.report.page import write_report

    check_new(out, "--out", overwrite=overwrite, endings=(".html", ".htm"))
    opened = [common.open_run(run, candidates, types) for run in runs]
    write_report(opened, out, split=split, bins=DegreeBins.parse(bins), projection=projection)
    click.echo(common.printable(f"Report: {out}"))
