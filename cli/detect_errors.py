"""``dglkgmix detect-errors``: which facts of the data to check first."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dglkgmix.cli import common
from dglkgmix.cli.columns import aligned
from dglkgmix.cli.outputs import IN, OUT_FILE, OUT_FOLDER, check_new, overwrite_option
from dglkgmix.cli.threads import use_free_cores
from dglkgmix.errors import ConfigError

if TYPE_CHECKING:
    from dglkgmix.prediction.error_detection import Suspect, Suspects
    from dglkgmix.runs.run import Run


@click.command(epilog="Example: dglkgmix detect-errors runs/mixup --folds 5 --out suspects.tsv")
@click.argument("run", type=IN)
@click.option(
    "--folds",
    type=click.IntRange(min=0),
    default=5,
    help="Trainings, each without one fold of the training facts. 0: none; RUN's own model judges "
    "the facts that it was trained on.",
)
@click.option(
    "--runs",
    type=OUT_FOLDER,
    metavar="FOLDER",
    help="Keep the trainings there: a later call uses them, and goes on with one that was "
    "interrupted. Without it they are removed.",
)
@click.option("--relation", metavar="NAME", help="List facts of this relation alone.")
@click.option("--top", type=click.IntRange(min=1), default=10, help="Facts to print.")
@click.option(
    "--out",
    type=OUT_FILE,
    metavar="FILE",
    help="Write all facts, suspects first: .csv, .tsv, .jsonl or .parquet.",
)
@overwrite_option("an existing file of facts")
@common.quiet_option
@common.json_option
@common.trust_option
def detect_errors(
    run: Path,
    *,
    folds: int,
    runs: Path | None,
    relation: str | None,
    top: int,
    out: Path | None,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find errors: list the facts of RUN's data that are least plausible to a model.

    A model has memorised the facts it was trained on. So they are divided into folds, and each fold
    is judged by a model with RUN's settings that was trained without it; facts of valid and test
    are judged by RUN's own. Facts are ordered by the mean score of both of their queries, in
    standard deviations from the mean of their relation. Suspects are not errors yet: true facts
    that nothing else in the data supports are among them.
    """
    use_free_cores()
    from dglkgmix.prediction.error_detection import COLUMNS
    from dglkgmix.prediction.files import ENDINGS, check_names, write_rows

    check_new(out, "--out", overwrite=overwrite, endings=ENDINGS)
    if folds == 1:
        raise ConfigError("--folds must be 0 or at least 2: with one, nothing is left to train on")
    if runs is not None and not folds:
        raise ConfigError("--runs has no use with --folds 0: there are no trainings to keep")
    opened = common.open_run(run)
    if relation is not None:
        opened.kg.relations.id(relation)
    if out is not None:  # refused before the trainings
        check_names(out, [*opened.kg.entities, *opened.kg.relations])
    found = _judged(opened, folds, runs, quiet=quiet)
    listed = [s for s in found.facts if relation in (None, s.fact.relation)]
    if out is not None:
        write_rows(out, (s.row(place) for place, s in enumerate(listed, 1)), COLUMNS)
        click.echo(f"{len(listed):,} facts: {common.printable(str(out))}", err=True)
    if as_json:
        rows = [suspect.row(place) for place, suspect in enumerate(listed[:top], 1)]
        counts = {"judged": len(found.facts), "not_judged": found.not_judged}
        common.emit_json({"folds": folds, **counts, "facts": rows})
    else:
        click.echo(_page(listed[:top], len(listed)))


def _judged(run: Run, folds: int, runs: Path | None, *, quiet: bool) -> Suspects:
    from dglkgmix.atomic import make_folder
    from dglkgmix.prediction.error_detection import detect_errors as detect
    from dglkgmix.training.progress import make_progress

    count = run.kg.num_edges // 2
    if folds:
        click.echo(
            f"{folds} trainings with the settings of {common.printable(run.name)}, each without "
            f"1/{folds} of the {count:,} training facts, which it judges",
            err=True,
        )
    else:
        common.warn(
            f"the model judges the {count:,} facts that it was trained on and has memorised, "
            "errors as well: --folds 5 finds far more of them"
        )
    progress = make_progress(quiet=quiet)
    if runs is None:
        with tempfile.TemporaryDirectory(prefix="dglkgmix-") as folder:
            found = detect(run, Path(folder), folds, progress)
    else:
        make_folder(runs)
        with common.resumed_by_the_same_command():
            found = detect(run, runs, folds, progress)
    if found.not_judged:
        click.echo(
            f"{found.not_judged:,} training facts are not judged: an entity or the relation is in "
            "no other one",
            err=True,
        )
    return found


def _page(facts: list[Suspect], total: int) -> str:
    figures = ["deviation", "tail's rank", "head's rank", "split", "judged by"]
    rows = [["", "head", "relation", "tail", *figures]]
    for place, suspect in enumerate(facts, 1):
        fact = suspect.fact
        names = [common.one_line(name) for name in (fact.head, fact.relation, fact.tail)]
        ranks = [f"{fact.directions[end].rank:,.4g}" for end in ("tail", "head")]
        where = [" ".join(fact.splits), suspect.judged_by]
        rows.append([str(place), *names, f"{suspect.deviation:.2f}", *ranks, *where])
    title = f"The {len(facts):,} least plausible of {total:,} facts"
    return f"{title}\n\n{aligned(rows, right=(0, 4, 5, 6))}"
