"""``dglkgmix evaluate``: the account of a run, of a baseline, or of another tool's ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dglkgmix.cli import common
from dglkgmix.cli.evaluate_page import TITLES, page
from dglkgmix.cli.outputs import IN, IN_FILE, OUT_FILE, NonEmpty, check_new, overwrite_option
from dglkgmix.cli.threads import use_free_cores
from dglkgmix.errors import ConfigError

KINDS = list(TITLES)


@click.command(epilog="Example: dglkgmix evaluate runs/mixup --by relation")
@click.argument("run", required=False, type=IN)
@click.option(
    "--split", type=click.Choice(["test", "valid"]), default="test", help="What to evaluate on."
)
@common.bins_option
@click.option("--by", multiple=True, type=click.Choice(KINDS), help="Show this grouping, too.")
@click.option(
    "--ranks",
    type=IN_FILE,
    metavar="FILE",
    help="In place of RUN: ranks of another tool (.parquet, .csv, .tsv) with the columns head, "
    "relation, tail, direction, rank and, where there is one, score. Needs --data.",
)
@click.option(
    "--baseline",
    type=click.Choice(["popularity"]),
    help="In place of RUN: rank by how often an entity answers the relation. Needs --data.",
)
@click.option(
    "--data", type=NonEmpty(), metavar="SOURCE", help="The graph of --ranks or --baseline."
)
@click.option(
    "--false-triples",
    type=IN_FILE,
    metavar="FILE",
    help="Assess calibration with these false triples, not with sampled ones, and tell them from "
    "the true ones.",
)
@click.option(
    "--fit-false-triples",
    type=IN_FILE,
    metavar="FILE",
    help="Fit the scaling, and the thresholds of --false-triples, to validation triples and these "
    "false ones.",
)
@click.option(
    "--write-ranks", type=OUT_FILE, metavar="FILE", help="Keep the rank table, as Parquet."
)
@overwrite_option("an existing file of ranks")
@click.option(
    "--block", type=click.IntRange(min=1), help="Scores held at once; less needs less memory."
)
@common.candidate_options
@common.source_options
@common.json_option
@common.metric_option
@common.trust_option
def evaluate(run: Path | None, *, as_json: bool, **options: Any) -> None:
    """Say how good RUN is on test triples, where it is good, and how far to trust its scores.

    Both directions of every triple are ranked, known triples filtered. Bins are of the
    tail-relation degree: how many training triples lead to the answer by the query's relation.
    """
    use_free_cores()
    from dglkgmix.atomic import write_atomic
    from dglkgmix.cli.subject import find_subject, ranker
    from dglkgmix.evaluation.account import account, details
    from dglkgmix.evaluation.list_probability import FEWEST
    from dglkgmix.kg.degrees import DegreeBins

    bins = DegreeBins.parse(options["bins"])
    out, overwrite = options["write_ranks"], options["overwrite"]
    check_new(out, "--write-ranks", overwrite=overwrite, endings=(".parquet",))
    subject = find_subject(run, options)
    common.warn_of_splits(subject.kg)
    false = [subject.triples(options[name]) for name in ("false_triples", "fit_false_triples")]
    calibration = subject.calibration(bins, *false)
    answers = subject.answers()
    shortlist = None if answers is None else answers.account(bins)
    found = account(subject.table, bins, calibration, shortlist, subject.new)
    classified = subject.classification(*false)
    if classified is not None:
        found["classification"] = classified
    if missed := found["candidates"]["missed"]:
        queries, share = found["overall"]["queries"], 100 * found["candidates"]["share"]
        common.warn(
            f"{missed:,} of {queries:,} answers ({share:.1f} %) are no candidates "
            f"({found['candidates']['rule']}): their rank is the last one of all entities"
        )
    groups: dict[str, Any] = {}
    for kind in options["by"]:
        if kind != "shortlist":
            groups[kind] = details(subject.table, subject.kg, kind)
        elif answers is None:
            raise ConfigError(
                "--by shortlist needs probabilities of ranked answers: a model, and a validation "
                f"split with {FEWEST} facts among the first answers of their queries"
            )
        else:
            groups[kind] = answers.by_relation(subject.kg)
    if out is not None:
        write_atomic(out, subject.table.to_bytes())
        click.echo(common.printable(f"Ranks: {out}"), err=True)
    if as_json:
        common.emit_json(found | ({"by": groups} if groups else {}))
        return
    from dglkgmix.evaluation.metrics import by_bin
    from dglkgmix.evaluation.popularity import PopularityScorer

    popular = subject.table
    if options["baseline"] is None:
        scorer = PopularityScorer(subject.kg)
        popular = ranker(scorer, subject.kg, options, subject.candidates)(subject.split)
    click.echo(page(subject, found, bins, groups, by_bin(popular, bins)))
