"""The demonstration: the bundled graph, trained twice, compared by degree and asked questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.experiments.grid import parse_experiment
from dglkgmix.experiments.plan import cell_config
from dglkgmix.experiments.recipes import packaged_text
from dglkgmix.kg.sources import load
from dglkgmix.prediction.answers import Predictor, Query
from dglkgmix.report.page import write_report
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import train
from dglkgmix.training.progress import Progress

# The experiment that trains over five seeds what the demonstration trains with one.
EXPERIMENT = packaged_text("experiments", "evidence-world")
RUNS = ("standard", "mixup")
QUESTIONS = (
    ("Which countries border Germany?", "Germany", "borders"),
    ("Through which countries does the Danube flow?", "Danube", "flows through"),
    ("Which organisations is Austria a member of?", "Austria", "member of"),
)
ANSWERS = 6


def run_demo(
    out: Path,
    *,
    overwrite: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """Train both strategies on the bundled graph into ``out`` and write ``out/report.html``.

    Returns:
        the test account of each run by its name.

    Raises:
        CheckpointError: ``out`` holds runs already and ``overwrite`` is not set.
    """
    experiment = parse_experiment(EXPERIMENT)
    (graph,) = experiment.axes["data"]
    kg = load(graph)
    say(
        f"{graph}: {kg.num_entities:,} entities, {kg.num_relations} relations, "
        f"{len(kg.train):,} training triples about the countries of today."
    )
    accounts = {}
    for name in RUNS:
        say(f"\nTraining {name} …")
        (axes,) = [axes for axes in experiment.combinations() if axes["strategy"] == name]
        config = cell_config(experiment, axes, seed)
        result = train(kg, config, out / name, overwrite=overwrite, progress=progress)
        accounts[name] = result.test or {}
    say("\n" + comparison(accounts))
    say("Both had as many training steps. One seed tells little of small differences.")
    run = Run.open(out / "mixup")
    predictor = Predictor(kg, ModelScorer(run.model), run.list_probability())
    for question, head, relation in QUESTIONS:
        say(f"\n{question} (what it was taught left out)")
        for place, (name, right) in enumerate(new_answers(predictor, head, relation), 1):
            say(f"  {place}. {name}" + ("   <- right, and held out" if right else ""))
    write_report([out / name for name in RUNS], out / "report.html")
    return accounts


def comparison(accounts: Mapping[str, Mapping[str, Any]]) -> str:
    """Test MRR by degree bin, one column for each run."""
    groups = [{"all": account["overall"], **account["bins"]} for account in accounts.values()]
    rows = [["MRR by degree of the answer", "queries", *accounts]]
    for label, first in groups[0].items():
        figures = [f"{group[label]['mrr']:.3f}" for group in groups]
        rows.append([label, f"{first['queries']:,}", *figures])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )


def new_answers(predictor: Predictor, head: str, relation: str) -> list[tuple[str, bool]]:
    """The best answers, and whether validation or test triples hold them.

    Those of training triples are left out, and the entity itself; so one that is known is held
    out, and right.
    """
    kg = predictor.kg
    ids = kg.entities.ids([head]), kg.relations.ids([relation])
    trained = {kg.entities[int(tail)] for tail in kg.train_index.tails_of(*ids)[1]} | {head}
    found = predictor.predict(Query(head, relation), top=ANSWERS + len(trained)).answers
    return [(given.name, given.known) for given in found if given.name not in trained][:ANSWERS]
