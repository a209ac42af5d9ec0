"""The demonstration: the bundled graph, trained twice, compared by degree and asked questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.sources import load
from dglkgmix.prediction.answers import Predictor, Query
from dglkgmix.report.page import write_report
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import train
from dglkgmix.training.progress import Progress

GRAPH = "world"
# ComplEx with a softmax loss learns this graph best in a minute.
SETTINGS = (
    f"data.source={GRAPH}",
    "model.decoder=complex",
    "training.loss=ce",
    "training.n3=0.01",
    "training.lr=0.003",
    "training.batch_size=64",
    "training.validate_every=3",
    "training.epochs=30",
)
# As many optimiser steps as plain training has, over both stages.
RUNS = {
    "standard": (),
    "mixup": (
        "strategy.name=mixup",
        "strategy.partners=1",
        "strategy.synthetic_weight=0.3",
        "pretrain.epochs=15",
        "training.epochs=15",
        "swa.start=3",
        "swa.every=3",
        "swa.lr=0.003",
    ),
}
QUESTIONS = (
    ("Which countries border Germany?", "Germany", "borders"),
    ("Through which countries does the Danube flow?", "Danube", "flows through"),
    ("Which organisations is Austria a member of?", "Austria", "member of"),
)
ANSWERS = 6


@dataclass(frozen=True)
class Answered:
    """A question with what a run answers, best first, facts it was trained on left out.

    Attributes:
        answers: names, with whether validation or test triples hold the fact.
    """

    question: str
    answers: tuple[tuple[str, bool], ...]


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
    kg = load(GRAPH)
    say(_introduction(kg))
    accounts = {}
    for name, overrides in RUNS.items():
        say(f"\nTraining {name} …")
        config = apply_overrides(Config(), [*SETTINGS, *overrides, f"runtime.seed={seed}"])
        result = train(kg, config, out / name, overwrite=overwrite, progress=progress)
        accounts[name] = result.test or {}
    say("\n" + comparison(accounts))
    say("Both had as many training steps. One seed tells little of small differences.")
    for answered in answer(Run.open(out / "mixup")):
        say("\n" + _shown(answered))
    write_report([out / name for name in RUNS], out / "report.html")
    return accounts


def comparison(accounts: Mapping[str, Mapping[str, Any]]) -> str:
    """Test MRR by degree bin, one column for each run."""
    rows = [["MRR by degree of the answer", "queries", *accounts]]
    for label in ("all", *next(iter(accounts.values()))["bins"]):
        groups = [_group(account, label) for account in accounts.values()]
        figures = [f"{group['mrr']:.3f}" for group in groups]
        rows.append([label, f"{groups[0]['queries']:,}", *figures])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )


def _group(account: Mapping[str, Any], label: str) -> Mapping[str, Any]:
    group: Mapping[str, Any] = account["overall"] if label == "all" else account["bins"][label]
    return group


def answer(run: Run) -> list[Answered]:
    """What ``run`` answers to the demonstration's questions."""
    predictor = Predictor(run.kg, ModelScorer(run.model), run.list_probability())
    return [
        Answered(question, _new_answers(run.kg, predictor, head, relation))
        for question, head, relation in QUESTIONS
    ]


def _new_answers(
    kg: KnowledgeGraph, predictor: Predictor, head: str, relation: str
) -> tuple[tuple[str, bool], ...]:
    """The best answers that no training triple holds, the entity itself left out.

    Of those, one that is known is held out, so it is right.
    """
    ids = kg.entities.ids([head]), kg.relations.ids([relation])
    trained = {kg.entities[int(tail)] for tail in kg.train_index.tails_of(*ids)[1]} | {head}
    found = predictor.predict(Query(head, relation), top=ANSWERS + len(trained)).answers
    new = [(given.name, given.known) for given in found if given.name not in trained]
    return tuple(new[:ANSWERS])


def _introduction(kg: KnowledgeGraph) -> str:
    return (
        f"{GRAPH}: {kg.num_entities:,} entities, {kg.num_relations} relations, "
        f"{len(kg.train):,} training triples about the countries of today."
    )


def _shown(answered: Answered) -> str:
    lines = [f"{answered.question} (what it was taught left out)"]
    for place, (name, right) in enumerate(answered.answers, 1):
        lines.append(f"  {place}. {name}" + ("   <- right, and held out" if right else ""))
    return "\n".join(lines)
