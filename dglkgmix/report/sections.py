"""The sections of a page, each from the runs' accounts to blocks."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from importlib import metadata

from dglkgmix.config.toml import differences, dumps
from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.calibration import Point
from dglkgmix.evaluation.popularity import better_bins
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.significance import compare
from dglkgmix.kg.degrees import DegreeBins, degree_summary
from dglkgmix.kg.mirrors import mirror_warnings
from dglkgmix.report import tables
from dglkgmix.report.blocks import (
    Block,
    Code,
    Fold,
    Picture,
    Queries,
    Row,
    Section,
    Text,
    picture,
)
from dglkgmix.report.examples import find_examples
from dglkgmix.report.figures import (
    bars,
    calibration,
    degree_curves,
    degrees,
    entity_map,
    training_curves,
)
from dglkgmix.report.subject import Subject, best_first

PACKAGES = ("dglkgmix", "torch", "dgl", "numpy", "pyarrow", "scipy")
Subjects = Sequence[Subject]


def data_section(subject: Subject, bins: DegreeBins) -> Section:
    """What the data is, and how biased."""
    kg, strategy = subject.run.kg, subject.run.config.strategy
    summary = degree_summary(kg, bins, strategy.threshold, strategy.partners, strategy.partner_rule)
    figure = picture(
        "degrees",
        degrees.draw_degrees(degrees.distribution_of(kg, bins)),
        "Distribution of tail-relation degrees",
        "Left: the number of training triples of each pair of relation and tail. Right: the test "
        "queries by the degree of their answer.",
        wide=True,
    )
    mixing = (
        f"{summary['below_threshold']:,} of {kg.num_edges:,} training triples (both directions) "
        f"have a tail-relation degree below {strategy.threshold}; "
        f"{summary['without_partner']:,} of these share their tail with no other triple."
    )
    return Section(
        "data",
        "The data and its bias",
        *(Text(f"Warning: {warning}.") for warning in mirror_warnings(kg)),
        Text(
            "Every triple makes two queries, one for its tail and one for its head. The "
            "tail-relation degree of a query is the number of training triples with its answer and "
            "its relation. Low degrees are rare facts."
        ),
        figure,
        Row(tables.data_table(kg.summary()), tables.bias_table(summary, bins).noted(mixing)),
    )


def results_section(
    subjects: Subjects, bins: DegreeBins, yardstick: RankTable, split: str
) -> Section:
    """How the runs do, overall and by degree bin."""
    figure = picture(
        "mrr-by-bin",
        bars.draw_mrr_by_bin({s.name: s.estimates(bins) for s in subjects}),
        "MRR by degree bin",
        "MRR by tail-relation degree of the answer, with 95 % bootstrap intervals over triples.",
    )
    note = (
        "Filtered ranks over both directions. AMRI is 1 for perfect ranks and 0 for chance. "
        f"“{tables.YARDSTICK}” ranks answers by how often training has them with the relation."
    )
    among = subjects[0].account["candidates"]
    if among["rule"] != "all":
        note += (
            f" Candidates: {among['rule']}; {among['missed']:,} answers "
            f"({tables.percent(among['share'])}) are none and have the last rank."
        )
    base = metrics.by_bin(yardstick, bins)
    below = any(better_bins(base, s.account["bins"]) for s in subjects)
    starred = f"* Below “{tables.YARDSTICK}” in this bin." if below else ""
    return Section(
        "results",
        f"Results on the {split} split, by degree",
        *(Text(f"Warning: {s.run.warning}") for s in subjects if not s.run.finished),
        tables.overall_table(subjects, yardstick).noted(note),
        Row(figure, tables.bins_table(subjects, bins, yardstick).noted(starred)),
        Fold("Heads and tails separately", tables.directions_table(subjects)),
    )


def degree_section(subjects: Subjects) -> Section:
    """The paper's Figure 2 for every run, the best one open."""
    of = f" of {best_first(subjects)[0].name}" if len(subjects) > 1 else ""
    return Section(
        "degrees-and-mrr",
        f"MRR{of} by degree",
        Text(
            "MRR by the degrees of the given entity (“head”) and of the answer (“tail”). If the "
            "bars within each group of the last chart are about equal while the groups differ, it "
            "is the tail-relation degree that matters. Hollow points are means over fewer than "
            f"{degree_curves.FEW} queries."
        ),
        *_best_open(subjects, _panels),
    )


def comparison_section(subjects: Subjects, bins: DegreeBins) -> Section:
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
    table = tables.tests_table(first, found, bins.names).noted(note)
    return Section("comparison", f"Compared with {first.name}", table)


def relation_section(subjects: Subjects) -> Section:
    """The worst relations, and classes of relations."""
    classes = metrics.relation_classes(subjects[0].run.kg)
    note = (
        f"Sorted by the MRR of {subjects[0].name}; relations with fewer than "
        f"{tables.FEWEST_QUERIES} queries are left out. In a 1-n relation a head has several tails."
    )
    return Section(
        "relations",
        "The hardest relations",
        tables.relations_table(subjects, classes).noted(note),
        Fold("By class of the relation", tables.classes_table(subjects, classes)),
    )


def calibration_section(subjects: Subjects, bins: DegreeBins) -> Section:
    """Ranked answers, scaled scores, then the paper's error over degree bins."""
    blocks: list[Block] = []
    listed = [s for s in subjects if s.account["shortlist"] is not None]
    if listed:
        points = {
            s.name: [
                Point(part["probability"], part["precision@10"], part["answers"])
                for part in s.account["shortlist"]["bands"].values()
                if part["answers"]
            ]
            for s in listed
        }
        blocks += [
            Text(
                "Probabilities of ranked answers: of the first ten answers of each query that "
                "are not in train or valid, how many are in the split? Each has a "
                "probability that was fitted on validation queries, and a fact that nobody "
                "recorded counts as wrong: it is a lower bound."
            ),
            Row(
                picture(
                    "shortlist",
                    calibration.draw_reliability(points),
                    "Probabilities of ranked answers",
                    "In bands of equal width; above the dashed line more answers are true.",
                ),
                tables.shortlist_table(listed, bins),
            ),
        ]
    odd = ", ".join(s.name for s in subjects if not s.run.config.sigmoid_is_probability)
    warning = f"Before scaling, σ(score) is no probability for: {odd}." if odd else ""
    scaled = [s for s in subjects if s.diagram]
    if scaled:
        blocks += [
            Text(
                "Each triple against a random candidate, as in triple classification: are 80 % of "
                "the triples with probability 0.8 true? Measured on true triples and as many "
                "random false ones, before and after Platt scaling that was fitted on validation "
                "triples. All three errors are best at 0."
            ),
            tables.scaling_table(scaled).noted(warning),
            *_best_open(scaled, lambda s: _scaling(s, bins)),
        ]
    blocks += [
        Text(
            "The calibration error of the KG-Mixup paper: the gap between mean Hits@10 and mean "
            "σ(score) of the true answers in a degree bin. A small gap does not mean that "
            "probabilities are right: it is also small where the model ranks hardly any answer in "
            "the first ten and scores all of them low, as it may for rare facts."
        ),
        tables.ece_table(subjects, bins).noted(warning),
    ]
    return Section("calibration", "Calibration", *blocks)


def examples_section(subjects: Subjects, bins: DegreeBins) -> Section:
    """An easy and a hard query of every bin."""
    best = "The run with the highest MRR. " if len(subjects) > 1 else ""
    return Section(
        "examples",
        _of_best("Example predictions", subjects),
        Text(
            f"{best}From every degree bin one query that it finds easy and one that it finds "
            "hard (the quarter points of its ranks there), with its first guesses. Other answers "
            "that are known already are left out. Percentages are the chance that an answer is "
            "among the held-out facts of its query, a lower bound (see Calibration). Below each "
            "list stands what training holds beside its first answers: evidence to look at, not "
            "what the model did."
        ),
        *_best_open(subjects, lambda s: Queries(find_examples(s, bins))),
    )


def map_section(subjects: Subjects, projection: str) -> Section:
    """Where each run puts the entities."""
    how = {
        "pca": "the two directions in which the vectors vary most (PCA); what lies in the others "
        "is not seen",
        "tsne": "t-SNE, which keeps neighbours together; distances between groups and their sizes "
        "mean nothing",
    }[projection]
    return Section(
        "map",
        _of_best("Map of the entities", subjects),
        Text(
            f"Each point is an entity's vector, by {how}. Colours are degrees, the training "
            "triples of an entity; the names are those of the highest. Vectors of few triples are "
            f"poorly trained. Of more than {entity_map.MOST_POINTS:,} entities so many are drawn, "
            "evenly spaced in the order of their degrees."
        ),
        *_best_open(subjects, lambda s: _map(s, projection)),
    )


def _map(subject: Subject, projection: str) -> Picture:
    shown = entity_map.entity_map(subject.run, projection)
    return picture(
        f"run{subject.place}-map",
        entity_map.draw_entity_map(shown),
        "Map of the entities",
        f"{len(shown.names):,} of {shown.total:,} entities.",
        wide=True,
    )


def training_section(subjects: Subjects) -> Section:
    """Curves, budget and embedding distances."""
    histories = {s.name: s.run.history for s in subjects if s.run.history}
    figures = [
        picture(
            f"training-{column}",
            training_curves.draw_training_curves(histories, column),
            training_curves.LABELS[column],
            training_curves.LABELS[column],
        )
        for column in ("valid_mrr", "loss")
    ]
    found = {s.name: (s.distances["head"], s.distances["relation"]) for s in subjects}
    figures.append(
        picture(
            "distances",
            bars.draw_distances(found),
            "Embedding distances",
            "Mean Euclidean distance of the embeddings of low-degree triples to others with the "
            "same tail, which mixing should reduce.",
        )
    )
    return Section("training", "Training", Row(*figures), tables.training_table(subjects))


def settings_section(subjects: Subjects) -> Section:
    """Exact settings, the versions at work, and digests of the ranks."""
    blocks: list[Block] = []
    first, *others = [s.run.config for s in subjects]
    options = dict.fromkeys(key for other in others for key in differences(first, other))
    if options:
        names = [s.name for s in subjects]
        held = [{made.key: value for made, value in c.items()} for c in (first, *others)]
        values = {key: [config.get(key, "-") for config in held] for key in options}
        blocks += [Text("Where the runs differ:"), tables.differences_table(names, values)]
    blocks += [
        Fold(f"All settings of {s.name} (config.toml)", Code(dumps(s.run.config))) for s in subjects
    ]
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    made = f"This page was made with {versions} on Python {platform.python_version()}."
    blocks += [tables.digests_table(subjects), Text(made)]
    return Section("settings", "Settings and versions", *blocks)


def _best_open(subjects: Subjects, show: Callable[[Subject], Block]) -> list[Block]:
    """The best run's block, those of the others folded below it."""
    first, *others = best_first(subjects)
    return [show(first), *(Fold(f"The same for {s.name}", show(s)) for s in others)]


def _of_best(title: str, subjects: Subjects) -> str:
    return f"{title} of {best_first(subjects)[0].name}" if len(subjects) > 1 else title


def _panels(subject: Subject) -> Row:
    entity = degree_curves.entity_degree_curves(subject.table)
    relation = degree_curves.tail_relation_curves(subject.table)
    prefix = f"run{subject.place}"
    return Row(
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
    )


def _scaling(subject: Subject, bins: DegreeBins) -> Row:
    found = subject.account["calibration"]
    groups = {"overall": found} | {name: found["bins"][name] for name in bins.names}
    errors = {name: (g["before"]["ece"], g["after"]["ece"]) for name, g in groups.items()}
    prefix = f"run{subject.place}"
    return Row(
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
    )
