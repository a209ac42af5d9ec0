"""``dglkgmix demo``: what the program does, on a graph of well-known facts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli.columns import aligned
from dglkgmix.cli.common import printable, quiet_option
from dglkgmix.cli.outputs import OUT_FOLDER, overwrite_option
from dglkgmix.cli.threads import use_free_cores

if TYPE_CHECKING:
    from dglkgmix.prediction.answers import Predictor

# The experiment that trains over five seeds what the demonstration trains with one.
EXPERIMENT = "evidence-world-default"
# The folder of each run, and the strategy of the experiment that it is trained with.
RUNS = {"standard": "standard", "mixup": "mixup, β = 0.1 + SWA"}
QUESTIONS = (
    ("Which countries border Germany?", "Germany", "borders"),
    ("Through which countries does the Danube flow?", "Danube", "flows through"),
    ("Which organisations is Austria a member of?", "Austria", "member of"),
)
ANSWERS = 6


@click.command(epilog="Example: dglkgmix demo --out world-demo")
@click.option(
    "--out",
    type=OUT_FOLDER,
    default=Path("dglkgmix-demo"),
    help="Folder for the two runs and the report.",
)
@click.option("--seed", type=int, default=0, help="Seed of both trainings.")
@overwrite_option("an earlier demonstration in --out")
@quiet_option
def demo(out: Path, *, seed: int, overwrite: bool, quiet: bool) -> None:
    """Train with and without mixup on the bundled world graph, compare, and ask questions.

    Takes about a minute and a half on two cores and needs no network.
    """
    use_free_cores()
    from dglkgmix.experiments.grid import parse_experiment
    from dglkgmix.experiments.plan import cell_config
    from dglkgmix.experiments.recipes import packaged_text
    from dglkgmix.kg.sources import load
    from dglkgmix.prediction.answers import Predictor
    from dglkgmix.report.page import write_report
    from dglkgmix.runs.run import Run
    from dglkgmix.training.launch import train
    from dglkgmix.training.progress import make_progress

    experiment = parse_experiment(packaged_text("experiments", EXPERIMENT))
    (graph,) = experiment.axes["data"]
    kg = load(graph)
    click.echo(
        f"{graph}: {kg.num_entities:,} entities, {kg.num_relations} relations, "
        f"{len(kg.train):,} training triples about the countries of today."
    )
    accounts = {}
    for name, strategy in RUNS.items():
        click.echo(f"\nTraining {name} …")
        (axes,) = [axes for axes in experiment.combinations() if axes["strategy"] == strategy]
        config, progress = cell_config(experiment, axes, seed), make_progress(quiet=quiet)
        result = train(kg, config, out / name, overwrite=overwrite, progress=progress)
        accounts[name] = result.test or {}
    click.echo(f"\n{comparison(accounts)}")
    click.echo("Both had as many training steps. One seed tells little of small differences.")
    predictor = Predictor.of(Run.open(out / "standard"))
    for question, head, relation in QUESTIONS:
        click.echo(f"\n{question} (answers in training left out)")
        for place, (name, right) in enumerate(new_answers(predictor, head, relation), 1):
            click.echo(f"  {place}. {name}" + ("   <- right, and held out" if right else ""))
    write_report([out / name for name in RUNS], out / "report.html")
    # In an environment that is not active, with the path that was typed.
    typed = sys.argv[0] if Path(sys.argv[0]).name == "dglkgmix" else "dglkgmix"
    click.echo(printable(f"\nReport: {out / 'report.html'}"))
    click.echo(
        printable(f"Ask more: {typed} predict {out / 'standard'} --head Kenya --relation borders")
    )


def comparison(accounts: Mapping[str, Mapping[str, Any]]) -> str:
    """Test MRR by degree bin, one column for each run."""
    groups = [{"all": account["overall"], **account["bins"]} for account in accounts.values()]
    rows = [["MRR by degree of the answer", "queries", *accounts]]
    for label, first in groups[0].items():
        figures = [f"{group[label]['mrr']:.3f}" for group in groups]
        rows.append([label, f"{first['queries']:,}", *figures])
    return aligned(rows, indent="")


def new_answers(predictor: Predictor, head: str, relation: str) -> list[tuple[str, bool]]:
    """The best answers, and whether validation or test triples hold them.

    Those of training triples are left out, and the entity itself; so one that is known is held
    out, and right.
    """
    from dglkgmix.prediction.answers import Query

    kg = predictor.kg
    ids = kg.entities.ids([head]), kg.relations.ids([relation])
    trained = {kg.entities[int(tail)] for tail in kg.train_index.tails_of(*ids)[1]} | {head}
    found = predictor.predict(Query(head, relation), top=ANSWERS + len(trained)).answers
    return [(given.name, given.known) for given in found if given.name not in trained][:ANSWERS]
