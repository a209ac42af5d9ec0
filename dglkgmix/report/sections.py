"""What the template shows in the sections of a page: tables, pictures, and the words that vary."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

from dglkgmix.config.toml import differences, dumps
from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.calibration import Point
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.significance import compare
from dglkgmix.kg.degrees import DegreeBins, degree_summary
from dglkgmix.kg.statistics import split_warnings
from dglkgmix.report import tables
from dglkgmix.report.figures import bars, calibration, degree_curves, degrees, training_curves
from dglkgmix.report.figures import entity_map as maps
from dglkgmix.report.figures.canvas import page_svg
from dglkgmix.report.subject import Subject, best_first
from dglkgmix.report.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGES = ("dglkgmix", "torch", "dgl", "numpy", "pyarrow", "scipy")
Subjects = Sequence[Subject]


class Picture(NamedTuple):
    """An inline SVG with its caption."""

    svg: str
    caption: str
    wide: bool = False


def picture(
    name: str, drawn: tuple[Figure, str], title: str, caption: str, *, wide: bool = False
) -> Picture:
    """A figure, drawn and described, for the page; ``name`` is unique on it."""
    return Picture(page_svg(drawn[0], name, title, drawn[1]), caption, wide)


def data(subject: Subject, bins: DegreeBins) -> dict[str, Any]:
    """What the data is, and how biased."""
    kg, strategy = subject.run.kg, subject.run.config.strategy
    summary = degree_summary(kg, bins, strategy.threshold, strategy.partners, strategy.partner_rule)
    mixing = (
        f"{summary['below_threshold']:,} of {kg.num_edges:,} training triples (both directions) "
        f"have a tail-relation degree below {strategy.threshold}; "
        f"{summary['without_partner']:,} of these share their tail with no other triple."
    )
    return {
        "warnings": split_warnings(kg),
        "degrees": picture(
            "degrees",
            degrees.draw_degrees(degrees.distribution_of(kg, bins)),
            "Distribution of tail-relation degrees",
            "Left: the number of training triples of each pair of relation and tail. Right: the "
            "test queries by the degree of their answer.",
            wide=True,
        ),
        "sizes": tables.data_table(kg.summary()),
        "bias": tables.bias_table(summary, bins).noted(mixing),
    }


def results(subjects: Subjects, bins: DegreeBins, popular: RankTable) -> dict[str, Any]:
    """Metrics overall and by degree bin."""
    note = (
        "Filtered ranks over both directions. AMRI is 1 for perfect ranks and 0 for chance. "
        f"“{tables.POPULARITY}” ranks answers by how often training has them with the relation."
    )
    among = subjects[0].account["candidates"]
    if among["rule"] != "all":
        note += (
            f" Candidates: {among['rule']}; {among['missed']:,} answers "
            f"({tables.percent(among['share'])}) are none and have the last rank."
        )
    return {
        "warnings": [s.run.warning for s in subjects if not s.run.finished],
        "overall": tables.overall_table(subjects, popular).noted(note),
        "mrr": picture(
            "mrr-by-bin",
            bars.draw_mrr_by_bin({s.name: s.estimates(bins) for s in subjects}),
            "MRR by degree bin",
            "MRR by tail-relation degree of the answer, with 95 % bootstrap intervals over "
            "triples.",
        ),
        "bins": tables.bins_table(subjects, bins, popular),
        "directions": tables.directions_table(subjects),
    }


def comparison(subjects: Subjects, bins: DegreeBins) -> Table:
    """Every further run against the first."""
    first, *others = subjects
    found = [
        (s, compare([first.table], [s.table], bins, labels=(first.name, s.name))) for s in others
    ]
    note = (
        "Differences in MRR and Hits@10 with their 95 % bootstrap intervals over triples, and the "
        "p-values of paired t-tests over triples; those of the bins are Holm-corrected, for each "
        "metric separately, and intervals are not. Bold: p < 0.05."
    )
    return tables.tests_table(first, found, bins.names).noted(note)


def degree_panels(subject: Subject) -> list[Picture]:
    """The paper's Figure 2."""
    entity = degree_curves.entity_degree_curves(subject.table)
    relation = degree_curves.tail_relation_curves(subject.table)
    prefix = f"run{subject.place}"
    return [
        picture(
            f"{prefix}-entity",
            degree_curves.draw_curves(entity, degree_curves.ENTITY_DEGREE),
            "MRR by entity degree",
            "By degree of both entities. In- and out-degree are the same where every triple "
            "counts in both directions.",
        ),
        picture(
            f"{prefix}-relation",
            degree_curves.draw_curves(relation, degree_curves.ANSWER_DEGREE),
            "MRR by tail-relation degree",
            "By the answer's triples with the query's relation, and with others.",
        ),
        picture(
            f"{prefix}-joint",
            degree_curves.draw_joint(degree_curves.joint_grid(subject.table)),
            "MRR by both degrees",
            "By other-relation degree, within ranges of the tail-relation degree.",
        ),
    ]


def relations(subjects: Subjects) -> dict[str, Table]:
    """The worst relations, and classes of relations."""
    classes = metrics.relation_classes(subjects[0].run.kg)
    note = (
        f"Sorted by the MRR of {subjects[0].name}; relations with fewer than "
        f"{tables.FEWEST_QUERIES} queries are left out. In a 1-n relation a head has several tails."
    )
    return {
        "worst": tables.relations_table(subjects, classes).noted(note),
        "classes": tables.classes_table(subjects, classes),
    }


def calibrations(subjects: Subjects, bins: DegreeBins) -> dict[str, Any]:
    """Ranked answers, scaled scores, then the paper's error over degree bins.

    The first two are None where no run has them.
    """
    odd = ", ".join(s.name for s in subjects if not s.run.config.sigmoid_is_probability)
    warning = f"Before scaling, σ(score) is no probability for: {odd}." if odd else ""
    listed = [s for s in subjects if s.account["shortlist"] is not None]
    points = {
        s.name: [
            Point(part["probability"], part["precision@10"], part["answers"])
            for part in s.account["shortlist"]["bands"].values()
            if part["answers"]
        ]
        for s in listed
    }
    scaled = [s for s in subjects if s.diagram]
    return {
        "shortlist": listed
        and [
            picture(
                "shortlist",
                calibration.draw_reliability(points),
                "Probabilities of ranked answers",
                "In bands of equal width; above the dashed line more answers are true.",
            ),
            tables.shortlist_table(listed, bins),
        ],
        "scaled": scaled and best_first(scaled),
        "scaling": scaled and tables.scaling_table(scaled).noted(warning),
        "ece": tables.ece_table(subjects, bins).noted(warning),
    }


def scaling_panels(subject: Subject, bins: DegreeBins) -> list[Picture]:
    """What scaling does to a run's probabilities."""
    found = subject.account["calibration"]
    groups = {"overall": found} | {name: found["bins"][name] for name in bins.names}
    errors = {name: (g["before"]["ece"], g["after"]["ece"]) for name, g in groups.items()}
    prefix = f"run{subject.place}"
    return [
        picture(
            f"{prefix}-reliability",
            calibration.draw_reliability(subject.diagram),
            "Reliability diagram",
            f"{subject.name}: on the dashed line, probabilities are right.",
        ),
        picture(
            f"{prefix}-ece",
            calibration.draw_errors(errors),
            "Calibration error before and after scaling",
            f"{subject.name}: error before and after scaling, by degree bin.",
        ),
    ]


def entity_map(subject: Subject, projection: str) -> Picture:
    """Where a run puts the entities."""
    shown = maps.entity_map(subject.run, projection)
    return picture(
        f"run{subject.place}-map",
        maps.draw_entity_map(shown),
        "Map of the entities",
        f"{len(shown.names):,} of {shown.total:,} entities.",
        wide=True,
    )


def training(subjects: Subjects) -> dict[str, Any]:
    """Curves, budget and embedding distances."""
    histories = {s.name: s.run.history for s in subjects if s.run.history}
    pictures = [
        picture(
            f"training-{column}",
            training_curves.draw_training_curves(histories, column),
            training_curves.LABELS[column],
            training_curves.LABELS[column],
        )
        for column in ("valid_mrr", "loss")
    ]
    found = {s.name: (s.distances["head"], s.distances["relation"]) for s in subjects}
    pictures.append(
        picture(
            "distances",
            bars.draw_distances(found),
            "Embedding distances",
            "Mean Euclidean distance of the embeddings of low-degree triples to others with the "
            "same tail, which mixing should reduce.",
        )
    )
    return {"pictures": pictures, "stages": tables.training_table(subjects)}


def settings(subjects: Subjects) -> dict[str, Any]:
    """Exact settings, the versions at work, and digests of the ranks."""
    first, *others = [s.run.config for s in subjects]
    options = dict.fromkeys(key for other in others for key in differences(first, other))
    held = [{made.key: value for made, value in c.items()} for c in (first, *others)]
    values = {key: [config.get(key, "-") for config in held] for key in options}
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    return {
        "differences": values and tables.differences_table([s.name for s in subjects], values),
        "files": [(s.name, dumps(s.run.config)) for s in subjects],
        "digests": tables.digests_table(subjects),
        "made": f"{versions} on Python {platform.python_version()}",
    }
