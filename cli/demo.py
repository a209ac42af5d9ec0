"""``dglkgmix demo``: what the program does, on a graph that everybody can judge."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dglkgmix.cli.common import printable
from dglkgmix.cli.outputs import OUT_FOLDER
from dglkgmix.cli.threads import use_free_cores


@click.command(
    epilog="Example: dglkgmix demo --out world-demo", context_settings={"show_default": True}
)
@click.option(
    "--out",
    type=OUT_FOLDER,
    default=Path("dglkgmix-demo"),
    help="Folder for the two runs and the report.",
)
@click.option("--seed", type=int, default=0, help="Seed of both trainings.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier demonstration in --out.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def demo(out: Path, *, seed: int, overwrite: bool, quiet: bool) -> None:
    """Train with and without mixup on the bundled world graph, compare, and ask questions.

    Takes about a minute and a half on two cores and needs no network.
    """
    use_free_cores()
    from dglkgmix.experiments.demo import run_demo
    from dglkgmix.training.progress import make_progress

    run_demo(
        out, overwrite=overwrite, seed=seed, progress=make_progress(quiet=quiet), say=click.echo
    )
    click.echo(printable(f"\nReport: {out / 'report.html'}"))
    click.echo(
        printable(f"Ask more: {_called()} predict {out / 'mixup'} --head Kenya --relation borders")
    )


def _called() -> str:
    """The command as it was typed: in an environment that is not active, with its path."""
    typed = Path(sys.argv[0])
    return str(typed) if typed.name == "dglkgmix" else "dglkgmix"
