"""What a page says of a run, worked out once: its ranks, account, intervals and calibration."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dglkgmix.config.classes import title
from dglkgmix.errors import DataError
from dglkgmix.evaluation.calibration import Point, reliability
from dglkgmix.evaluation.distances import embedding_distances
from dglkgmix.evaluation.negatives import labelled_scores
from dglkgmix.evaluation.platt import Platt
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.significance import mrr_intervals
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.paths import readable
from dglkgmix.report.figures.bars import Estimate
from dglkgmix.runs.run import Run

_ISOLATE, _END_OF_ISOLATE = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
# Bidirectional classes of Unicode: letters and digits, then marks that start such a text.
_RIGHT_TO_LEFT = {"R", "AL", "AN", "RLE", "RLO", "RLI"}


@dataclass(frozen=True)
class Subject:
    """One run of a page.

    Attributes:
        name: as the page calls it; unique on the page, :func:`isolated`.
        place: its number among the page's runs, from 0, which settles its colour.
        table: ranks of the split that the page is about.
        account: as ``dglkgmix evaluate --json``.
        intervals: bootstrap intervals of MRR, ``overall`` and by bin.
        diagram: reliability before and after scaling; empty where nothing could be fitted.
        distances: D_head and D_rel.
    """

    name: str
    place: int
    run: Run
    table: RankTable
    account: dict[str, Any]
    intervals: dict[str, tuple[float, float] | None]
    diagram: dict[str, list[Point]]
    distances: dict[str, Any]

    @property
    def model(self) -> str:
        """``ConvE``, or with its encoder ``R-GCN + DistMult``."""
        config = self.run.config.model
        decoder = title("decoder", config.decoder)
        if config.encoder == "lookup":
            return decoder
        return f"{title('encoder', config.encoder)} + {decoder}"

    def estimates(self, bins: DegreeBins) -> dict[str, Estimate]:
        """MRR by bin with its intervals."""
        found = {}
        for name in bins.names:
            group, (low, high) = self.account["bins"][name], self.intervals[name] or (None, None)
            found[name] = Estimate(group["mrr"], low, high, group["queries"])
        return found


def read_subjects(runs: Sequence[Run], split: str, bins: DegreeBins) -> list[Subject]:
    """Work out what a page says of each of ``runs``.

    Raises:
        DataError: the split holds no triples.
        CheckpointError: a run that has no weights yet, or whose folder is damaged.
    """
    names = unique_names([run.path for run in runs])
    subjects = []
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        if not len(run.kg.split(split)):
            raise DataError(
                f"{run.path}: its {split} split holds no triples to report on: choose another split"
            )
        table, platt, encoder = run.rank_table(split), run.calibration(), run.model.encoder
        diagram: dict[str, list[Point]] = {}
        if platt is not None:
            # Over the same true and sampled false triples as the account's calibration.
            found = labelled_scores(run.scorer, run.kg, split, table)
            for when, scaling in (("before scaling", Platt()), ("after scaling", platt)):
                diagram[when] = reliability(found.scores, found.labels, scaling)
        vectors = encoder.entity_table.cpu(), encoder.relation_table.cpu()
        distances = embedding_distances(run.kg, *vectors, run.config.strategy.threshold)
        intervals, account = mrr_intervals([table], bins), run.account(split, bins, table=table)
        subjects.append(
            Subject(isolated(name), place, run, table, account, intervals, diagram, distances)
        )
    return subjects


def unique_names(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that tell them apart; numbered where the paths are equal."""
    parts = [Path(readable(str(path.resolve()))).parts for path in paths]
    names = []
    for own in parts:
        others, depth = [other for other in parts if other != own], 1
        while depth < len(own) and any(other[-depth:] == own[-depth:] for other in others):
            depth += 1
        names.append("/".join(own[-depth:]))
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]


def isolated(name: str) -> str:
    """``name`` for use within a text: its direction, if right to left, orders nothing around it."""
    directions = set(map(unicodedata.bidirectional, name))
    left_to_right = directions.isdisjoint(_RIGHT_TO_LEFT)
    return name if left_to_right else f"{_ISOLATE}{name}{_END_OF_ISOLATE}"


def best_first(subjects: Sequence[Subject]) -> list[Subject]:
    """The run with the highest MRR, then the others in their order."""
    best = max(subjects, key=lambda s: s.account["overall"]["mrr"])
    return [best, *(s for s in subjects if s is not best)]
