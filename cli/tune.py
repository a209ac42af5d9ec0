"""``dglkgmix tune``: search for settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from dglkgmix.cli.common import (
    emit_json,
    json_option,
    printable,
    quiet_option,
    resumed_by_the_same_command,
    source_options,
)
from dglkgmix.cli.outputs import OUT_FOLDER, NonEmpty, check_text, overwrite_option
from dglkgmix.cli.threads import use_free_cores
from dglkgmix.errors import ConfigError


@click.command(epilog="Example: dglkgmix tune codex-s --space paper-conve --trials 50 --out search")
@click.argument("source", required=False)
@click.option("--space", required=True, help="Space file, or paper-conve or paper-tucker.")
@click.option("--trials", type=click.IntRange(min=1), default=20, help="Trials of the study.")
@click.option("--out", type=OUT_FOLDER, help="Folder of runs and the best recipe.")
@click.option(
    "--storage",
    type=NonEmpty(),
    metavar="URL",
    help="Any Optuna storage. [default: SQLite in --out]",
)
@click.option(
    "--objective",
    type=click.Choice(["mrr", "low", "mix"]),
    default="mrr",
    help="Validation MRR, that of the low degree bin, or both.",
)
@click.option("--weight", type=float, help="With mix: the weight of the low bin.  [default: 0.5]")
@click.option("--recipe", type=NonEmpty(), metavar="NAME", help="What trials start from.")
@click.option("--set", "sets", multiple=True, metavar="K=V", help="An option of every trial.")
@click.option(
    "--sampler-seed",
    type=int,
    help="Repeatable choices, in a single process, also where a search is continued.",
)
@overwrite_option("the best recipe of another search in --out; its trials stay")
@click.option("--show-space", is_flag=True, help="Print the space file and stop.")
@quiet_option
@source_options
@json_option
def tune(source: str | None, space: str, **options: Any) -> None:
    """Search for the settings of a model on SOURCE with Optuna, by validation.

    Started several times with the same --out, or on several machines with the same --storage, the
    processes work on one study until it holds --trials trials; one that was interrupted does not
    count. With --objective mrr, hopeless trials are ended early; with another, all run to their
    end, as epochs are validated by MRR alone. The best settings are written to best.toml in --out:
    a recipe for `dglkgmix train --recipe`. A folder that holds a search of another objective, space
    or setting is refused.

    A space file lists what may vary, and what all trials share:

    \b
      [settings]
      recipe = "codex-s-conve"
      [space]
      training.lr = { low = 1e-4, high = 1e-2, log = true }
      model.input_dropout = [0.1, 0.2, 0.3]
    """  # noqa: D301 - click reads the backspace
    use_free_cores()
    from dglkgmix.config.settings import READING
    from dglkgmix.experiments.recipes import packaged_text
    from dglkgmix.experiments.space import parse_space
    from dglkgmix.experiments.tune import Goal, Search, search, starting_point

    text = packaged_text("spaces", space)
    if options["show_space"]:
        click.echo(text, nl=False)
        return
    if source is None:
        raise ConfigError("SOURCE is missing: a catalog name, a folder or a file of triples")
    if options["out"] is None:
        raise ConfigError("--out is missing: name the folder for runs and the best recipe")
    check_text(options["out"], "--out")
    objective, weight = options["objective"], options["weight"]
    if weight is not None and objective != "mix":
        raise ConfigError(f"--weight has no use with --objective {objective}: it is for mix")
    searched = parse_space(text, space)
    data = {o.key: options[flag] for flag, o in READING.items() if options[flag] is not None}
    data["data.source"] = source
    plan = Search(
        starting_point(searched, data, options["recipe"], options["sets"]),
        searched,
        Goal(objective) if weight is None else Goal(objective, weight),
        options["out"],
        options["storage"],
        options["sampler_seed"],
    )
    say: Callable[[str], None] = (
        (lambda line: None) if options["quiet"] else partial(click.echo, err=True)
    )
    with resumed_by_the_same_command():
        found = search(plan, options["trials"], say, overwrite=options["overwrite"])
    if options["as_json"]:
        emit_json(found)
        return
    if (best := found["best"]) is None:
        why = f"; the last: {found['error']}" if found["error"] else ""
        raise click.ClickException(f"none of {found['trials']} trials could be completed{why}")
    click.echo(
        f"Best of {found['trials']} trials: number {best['number']}, "
        f"{objective} of validation {best['value']:.4f}"
    )
    for option, value in best["options"].items():
        click.echo(printable(f"  {option} = {value}"))
    click.echo(printable(f"Recipe: {found['recipe']}"))
