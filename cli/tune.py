"""``dglkgmix tune``: search for settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli.common import emit_json, json_option, printable, source_options
from dglkgmix.cli.outputs import OUT_FOLDER, NonEmpty, check_text, overwrite_option
from dglkgmix.cli.threads import use_free_cores
from dglkgmix.errors import ConfigError

if TYPE_CHECKING:
    from dglkgmix.experiments.tune import Goal


@click.command(
    epilog="Example: dglkgmix tune codex-s --space paper-conve --trials 50 --out search",
    context_settings={"show_default": True},
)
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
@click.option("--weight", type=float, help="Of the low bin in the mix.  [default: 0.5]")
@click.option("--recipe", type=NonEmpty(), metavar="NAME", help="What trials start from.")
@click.option("--set", "sets", multiple=True, metavar="K=V", help="An option of every trial.")
@click.option(
    "--sampler-seed",
    type=int,
    help="Repeatable choices, in a single process, also where a search is continued.",
)
@overwrite_option("the best recipe of another search in --out; its trials stay")
@click.option("--show-space", is_flag=True, help="Print the space file and stop.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@source_options
@json_option
def tune(source: str | None, space: str, **options: Any) -> None:
    """Search for the settings of a model on SOURCE with Optuna, by validation.

    Started several times with the same --out, or on several machines with the same --storage, the
    processes work on one study until it holds --trials trials; one that was interrupted does not
    count. With --objective mrr, hopeless
    trials are ended early; with another, all run to their end, as epochs are validated by MRR
    alone. The best settings are written to best.toml in --out: a recipe for `dglkgmix train
    --recipe`. A folder that holds a search of another objective, space or setting is refused.

    A space file lists what may vary, and what all trials share:

    \b
      [settings]
      recipe = "codex-s-conve"
      [space]
      training.lr = { low = 1e-4, high = 1e-2, log = true }
      model.input_dropout = [0.1, 0.2, 0.3]
    """  # noqa: D301 - click reads the backspace
    use_free_cores()
    from dglkgmix.experiments.space import space_text

    text = space_text(space)
    if options["show_space"]:
        click.echo(text, nl=False)
        return
    if source is None:
        raise ConfigError("SOURCE is missing: a catalog name, a folder or a file of triples")
    if options["out"] is None:
        raise ConfigError("--out is missing: name the folder for runs and the best recipe")
    check_text(options["out"], "--out")
    found = _search(text, source, space, options)
    _print(found, options["as_json"])


def _search(text: str, source: str, where: str, options: dict[str, Any]) -> dict[str, Any]:
    from dglkgmix.config.settings import READING
    from dglkgmix.experiments.space import parse_space
    from dglkgmix.experiments.tune import Search, search, starting_point

    space = parse_space(text, where)
    given = {o.key: options[flag] for flag, o in READING.items() if options[flag] is not None}
    data = {"data.source": source, **given}
    plan = Search(
        starting_point(space, data, options["recipe"], options["sets"]),
        space,
        _goal(options["objective"], options["weight"]),
        options["out"],
        options["storage"],
        options["sampler_seed"],
    )

    def say(line: str) -> None:
        if not options["quiet"]:
            click.echo(line, err=True)

    return search(plan, options["trials"], say, overwrite=options["overwrite"])


def _goal(objective: Any, weight: float | None) -> Goal:
    from dglkgmix.experiments.tune import Goal

    if weight is None:
        return Goal(objective)
    if objective != "mix":
        raise ConfigError(f"--weight has no use with --objective {objective}: it is for mix")
    return Goal(objective, weight)


def _print(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(found)
        return
    if found["best"] is None:
        raise click.ClickException(f"none of {found['trials']} trials could be completed")
    best = found["best"]
    click.echo(f"Best of {found['trials']} trials: number {best['number']}, {best['value']:.4f}")
    for option, value in best["options"].items():
        click.echo(printable(f"  {option} = {value}"))
    click.echo(f"Recipe: {found['recipe']}")
