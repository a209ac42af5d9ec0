"""The report page: one HTML file that needs no network and no script."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dglkgmix.atomic import write_atomic
from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.popularity import PopularityScorer
from dglkgmix.evaluation.rank_table import RankTable, rank_split
from dglkgmix.evaluation.significance import align
from dglkgmix.kg.degrees import DegreeBins, readable
from dglkgmix.report import sections
from dglkgmix.report.examples import find_examples
from dglkgmix.report.figures.canvas import SERIES
from dglkgmix.report.figures.degree_curves import FEW
from dglkgmix.report.figures.entity_map import MOST_POINTS
from dglkgmix.report.subject import Subject, best_first, isolated, read_subjects, unique_names
from dglkgmix.report.tables import number, percent
from dglkgmix.runs.run import Run
from dglkgmix.version import __version__

MOST_RUNS = len(SERIES)


class Headline(NamedTuple):
    """One of the large numbers at the head of the page."""

    label: str
    value: str
    note: str


def write_report(
    runs: Sequence[Path | Run],
    out: Path,
    *,
    split: str = "test",
    bins: DegreeBins | None = None,
    projection: str = "pca",
) -> None:
    """Write the page of one or several runs on the same data to ``out``.

    The first run is the one that others are compared with. The map of the entities is made by
    ``projection``, ``"pca"`` or ``"tsne"``.

    Raises:
        CheckpointError: a run that is missing, damaged or has no weights yet.
        DataError: runs on different data, or a split without triples.
        StorageError: ``out`` cannot be written.
    """
    opened = [run if isinstance(run, Run) else Run.open(run) for run in runs]
    text = render(opened, split=split, bins=bins or DegreeBins(), projection=projection)
    write_atomic(out, text.encode())


def render(runs: Sequence[Run], *, split: str, bins: DegreeBins, projection: str = "pca") -> str:
    """The page as text; see :func:`write_report`."""
    import jinja2

    if not 1 <= len(runs) <= MOST_RUNS:
        raise ValueError(f"a page shows 1 to {MOST_RUNS} runs, not {len(runs)}")
    subjects = read_subjects(runs, split, bins)
    align([s.table for s in subjects], unique_names([run.path for run in runs]))
    first = subjects[0].run
    block = first.config.runtime.block
    scorer = PopularityScorer(first.kg)
    popular = rank_split(scorer, first.kg, split, block, candidates=first.candidates)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dglkgmix.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"readable": readable, "percent": percent}
    return environment.get_template("report.html.j2").render(
        source=isolated(Path(first.config.data.source).name) or "a graph",
        figures=_figures(subjects, popular, bins),
        subjects=subjects,
        best_first=best_first(subjects),
        split=split,
        few_queries=FEW,
        most_points=MOST_POINTS,
        projection=projection,
        data=sections.data(subjects[0], bins),
        results=sections.results(subjects, bins, popular),
        comparison=sections.comparison(subjects, bins) if len(subjects) > 1 else None,
        degree_panels=sections.degree_panels,
        relations=sections.relations(subjects),
        examples=lambda s: find_examples(s, bins),
        calibration=sections.calibrations(subjects, bins),
        scaling_panels=lambda s: sections.scaling_panels(s, bins),
        entity_map=lambda s: sections.entity_map(s, projection),
        training=sections.training(subjects),
        settings=sections.settings(subjects),
        version=__version__,
    )


def _figures(subjects: Sequence[Subject], popular: RankTable, bins: DegreeBins) -> list[Headline]:
    """The best run's MRR, its rarest answers, and what popularity alone reaches."""
    best = best_first(subjects)[0]
    overall = best.account["overall"]
    interval = best.intervals["overall"]
    ends = ""
    if interval is not None:
        ends = f"{percent(0.95)} interval {interval[0]:.3f} to {interval[1]:.3f}"
    found = [
        Headline(f"MRR of {best.name}", number(overall["mrr"]), ends),
        Headline("Hits@10", number(overall["hits@10"]), f"over {overall['queries']:,} queries"),
    ]
    rare = [best.account["bins"][name] for name in bins.names[:2]]
    queries = sum(group["queries"] for group in rare)
    if queries:
        mrr = sum(group["mrr"] * group["queries"] for group in rare if group["queries"]) / queries
        share, limit = percent(queries / overall["queries"]), bins.edges[:2][-1]
        note = f"{share} of the queries: answers of degree below {limit}"
        found.append(Headline("MRR on rare facts", number(mrr), note))
    base = metrics.overall(popular)["mrr"]
    return [*found, Headline("MRR by popularity alone", number(base), "a model should be above it")]
