"""Facts of the data that a model finds implausible: the first to check for errors.

A model has memorised what it was trained on. So each training fact is judged by a model that was
trained without its fold (cross-fitting), facts of valid and test by the run's own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.config import Config
from dglkgmix.errors import CheckpointError, ConfigError
from dglkgmix.evaluation.list_probability import FOLDS
from dglkgmix.evaluation.shortlist import Array
from dglkgmix.files import MANIFEST, RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction.facts import SIDES, Fact, fact_row, judge_facts
from dglkgmix.processes import ALONE
from dglkgmix.runs import run_files
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import opened, resume, train
from dglkgmix.training.progress import Progress

COLUMNS: dict[str, type] = {"place": int, "head": str, "relation": str, "tail": str}
COLUMNS |= {"splits": str, "deviation": float, "judged_by": str}
COLUMNS |= {name: kind for name, kind in SIDES.items() if not name.endswith("probability")}
OWN = "run"
# Facts with the mean and variance of all that are added to those of each relation, so that few
# facts of a relation do not count as usual merely because they are few.
_PRIOR = 5


@dataclass(frozen=True)
class Suspect:
    """A fact of the data, judged by a model.

    Attributes:
        fact: its scores and filtered ranks in both queries.
        deviation: the mean of its two scores, in standard deviations from the mean of the facts of
            its relation: the lower, the less plausible.
        judged_by: "fold 1" … for the model that was trained without that fold, "run" for the run's
            own.
    """

    fact: Fact
    deviation: float
    judged_by: str

    def row(self, place: int) -> dict[str, Any]:
        """The values by the names of ``COLUMNS``."""
        own = {"place": place, "deviation": self.deviation, "judged_by": self.judged_by}
        row = fact_row(self.fact) | own
        return {column: row[column] for column in COLUMNS}


@dataclass(frozen=True)
class Suspects:
    """Facts of the data, the least plausible first.

    Attributes:
        facts: those judged.
        not_judged: number of training facts that were left out: of entities or relations that are
            in no other one, so that no model can be trained without them.
    """

    facts: list[Suspect]
    not_judged: int


def detect_errors(
    run: Run, runs: Path, folds: int = FOLDS, progress: Progress | None = None
) -> Suspects:
    """Judge every fact of a run's data.

    Args:
        run: whose settings the models of the folds are trained with.
        runs: folder for their run folders, ``fold-1`` and so on; those that are there already are
            used, or their training goes on.
        folds: number of trainings; with 0 the run's own model judges training facts, too.
        progress: of the trainings.

    Raises:
        ConfigError: one fold or fewer than none; a run that began with weights of another one,
            which has seen the facts of every fold.
        CheckpointError: ``runs`` holds runs on other facts.
        NumericError: a training diverged.
    """
    if folds < 0 or folds == 1:
        raise ConfigError(f"folds must be 0, or 2 and more, not {folds}")
    earlier = run.config.training.parent or run.config.pretrain.run
    if folds and earlier:
        raise ConfigError(
            f"{run.path}: began with weights of {earlier}, which has seen the facts of every fold: "
            "choose another run, or --folds 0"
        )
    kg = run.kg
    triples = torch.cat([kg.train, kg.valid, kg.test])
    first = np.unique(triples.numpy(), axis=0, return_index=True)[1]
    triples = triples[np.sort(first)]
    count = kg.num_edges // 2  # the distinct training triples come first
    held = assign_folds(triples[:count], folds)

    def judge(run_: Run, rows: Tensor) -> list[Fact]:
        return judge_facts(kg, run_.scorer, rows, candidates=run.candidates)

    facts: list[tuple[Fact, str]] = []
    for number in np.unique(held[held >= 0]).tolist():  # with few facts some folds have none
        model = _without(run, held != number, runs / f"fold-{number + 1}", progress)
        judged = judge(model, triples[:count][held == number])
        facts += [(fact, f"fold {number + 1}") for fact in judged]
    rest = triples[count if folds else 0 :]
    facts += [(fact, OWN) for fact in judge(run, rest)]
    if not facts:
        return Suspects([], len(held))
    deviations = _deviations(
        np.array([np.mean([side.score for side in f.directions.values()]) for f, _ in facts]),
        np.unique([fact.relation for fact, _ in facts], return_inverse=True)[1],
    )
    order = np.argsort(deviations, kind="stable").tolist()
    found = [Suspect(facts[i][0], float(deviations[i]), facts[i][1]) for i in order]
    return Suspects(found, int((held < 0).sum()) if folds else 0)


def assign_folds(triples: Tensor, folds: int, seed: int = 0) -> Tensor:
    """(N,) the fold, 0 … folds − 1, of each of N distinct triples (N, 3); −1 for none.

    Without the triples of one fold every entity and relation still occurs among the others. A
    triple of an entity or relation that occurs nowhere else is in no fold.
    """
    names = [{("entity", h), ("relation", r), ("entity", t)} for h, r, t in triples.tolist()]
    total = Counter(name for own in names for name in own)
    left = [total.copy() for _ in range(folds)]
    found = torch.full((len(names),), -1)
    order = torch.randperm(len(names), generator=torch.Generator().manual_seed(seed))
    for place, row in enumerate(order.tolist()):
        for fold in ((place + step) % folds for step in range(folds)):
            if all(left[fold][name] > 1 for name in names[row]):
                left[fold].subtract(names[row])
                found[row] = fold
                break
    return found


def _without(run: Run, kept: Tensor, out: Path, progress: Progress | None) -> Run:
    """A run with the same settings on the distinct training triples that are ``kept``, (N,)."""
    kg, weights = run.kg, run_files.read_sample_weight(run.folder)
    kept = kept[kg.train_edges]
    rows = kg.train[kept]
    if weights is not None:
        weights = weights[kept]
    part = KnowledgeGraph(
        *(kg.entities, kg.relations, rows, kg.valid, kg.test),
        node_types=kg.node_types,
        node_type_names=kg.node_type_names,
        edge_types=kg.edge_types,
    )
    config = _with_batches_of(run.config, part)
    if not ((out / MANIFEST).exists() and RunFolder.open(out).has(run_files.CONFIG)):
        train(part, config, out, overwrite=True, progress=progress, sample_weight=weights)
    found = Run.open(out)
    if found.config != config or not torch.equal(found.kg.train, rows):
        raise CheckpointError(
            f"{out}: a run with other facts or settings: choose another folder for the runs"
        )
    if not found.finished:
        with opened(out, ALONE) as folder:
            resume(folder, part, config, progress=progress)
    return Run.open(out)


def _with_batches_of(config: Config, kg: KnowledgeGraph) -> Config:
    """With batches that are no larger than ``kg``."""
    sections = {}
    for name in ("training", "pretrain"):
        section = getattr(config, name)
        most = len(kg.train_index.heads) if section.regime == "1-n" else kg.num_edges
        sections[name] = replace(section, batch_size=min(section.batch_size, most))
    return replace(config, **sections)


def _deviations(scores: Array, relations: Array) -> Array:
    """(N,) standard deviations of scores (N,) from the mean of their relation, ids (N,)."""
    mean, variance = scores.mean(), scores.var()
    count = np.bincount(relations) + _PRIOR
    means = (np.bincount(relations, scores) + _PRIOR * mean) / count
    squares = np.bincount(relations, (scores - means[relations]) ** 2)
    spread = np.sqrt((squares + _PRIOR * variance) / count)
    found: Array = (scores - means[relations]) / np.maximum(spread, 1e-12)[relations]
    return found
