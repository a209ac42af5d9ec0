"""``dglkgmix train``: triples in, a run folder out."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli import common, processes
from dglkgmix.cli.options import flags
from dglkgmix.cli.outputs import IN_FILE, OUT, OUT_FOLDER, NonEmpty, check_text
from dglkgmix.cli.threads import use_free_cores
from dglkgmix.config.classes import admit, any_named
from dglkgmix.config.settings import OPTIONS, READING, TRAINING
from dglkgmix.errors import ConfigError, PeerError

if TYPE_CHECKING:
    from dglkgmix.config import Config
    from dglkgmix.files import RunFolder
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.processes import Processes
    from dglkgmix.runs.results import Result


@click.command(epilog="Example: dglkgmix train world --strategy mixup --out runs/world-mixup")
@click.argument("source", required=False)
@click.option("--out", type=OUT, help="Run folder to write.")
@flags(TRAINING.values())
@click.option(
    "--recipe",
    type=NonEmpty(),
    metavar="NAME",
    help="Start from a recipe, see `dglkgmix recipes`; an option given here changes that option "
    "alone.",
)
@click.option(
    "--config",
    "config_file",
    type=IN_FILE,
    help="Start from a TOML file (on top of the recipe).",
)
@click.option(
    "--from",
    "parent",
    type=NonEmpty(),
    metavar="RUN",
    help="Start from RUN's weights, matched by name, and its settings; a quarter of its epochs, or "
    "as many where RUN was trained with --from.",
)
@click.option("--set", "sets", multiple=True, metavar="K=V", help="Any option: training.lr=1e-3.")
@click.option(
    "--show-config",
    is_flag=True,
    help="Print the configuration and what each auto in it becomes, and stop.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on from the last complete state of --out; with SOURCE, begin where there is none.",
)
@click.option("--overwrite", is_flag=True, help="Replace the run in --out; other files stay.")
@click.option(
    "--tensorboard", type=OUT_FOLDER, metavar="DIR", help="Write TensorBoard events to DIR."
)
@click.option(
    "--processes",
    type=int,
    metavar="N",
    help="Train in N processes of this machine. [default: 1]",
)
@common.quiet_option
@common.source_options
@common.json_option
@common.trust_option
def train(**options: Any) -> None:
    """Train a model on SOURCE and evaluate it on validation and test triples.

    SOURCE is a catalog name, a folder with train, valid and test files, or one file, which is
    split. The run folder holds everything needed to evaluate, predict and resume. With --resume,
    SOURCE is not needed; a run goes on with its own settings, of which --epochs, --patience,
    --device and, by --set, runtime.threads, .block, .check_memory and .save_every may be others.
    """
    _check_together(options)
    if options["show_config"]:
        _show_config(options)
        return
    if options["out"] is None:
        raise ConfigError("--out is missing: name the folder that the run is to be written to")
    use_free_cores()
    before = _begun(options)
    try:
        if processes.are_to_be_started(options["processes"]):
            sys.exit(_in_processes(options))
        with processes.one_of_all(options) as group:
            result = (_resume if options["resume"] else _start)(options, group)
            if group.main:
                _print(result, options["as_json"])
    except KeyboardInterrupt:
        after, what = _begun(options), f"Progress saved. Resume with:\n  {_resuming(options)}"
        if after is None or (after == before and not options["resume"]):
            what = "Nothing was saved yet. Give the same command again."
        click.echo(f"Interrupted. {what}", err=True)
        sys.exit(130)


def _begun(options: dict[str, Any]) -> tuple[int, int] | None:
    """What tells the run that stands in --out from one that takes its place; None without a run."""
    from dglkgmix.files import MANIFEST

    try:
        found = (options["out"] / MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _check_together(options: dict[str, Any]) -> None:
    if options["resume"] and options["overwrite"]:
        raise ConfigError(
            "--resume goes on with the run in --out and --overwrite replaces it: leave one out"
        )
    if options["show_config"] and options["as_json"]:
        raise ConfigError("--show-config prints TOML: leave --json out")
    if options["resume"] and options["show_config"]:
        raise ConfigError(
            "--show-config is for a new training: a run's settings are in its config.toml"
        )


def _in_processes(options: dict[str, Any]) -> int:
    # A run records its threads; each process is to have a part of this machine's instead.
    told = any(key.partition("=")[0].strip() == "runtime.threads" for key in options["sets"])
    further = [] if told or not options["resume"] else ["--set", "runtime.threads=auto"]
    arguments = [*click.get_current_context().obj["arguments"], *further]
    try:
        return processes.start(options["processes"], arguments)
    except PeerError as error:
        raise PeerError(f"{error}. Complete states are kept: {_resuming(options)}") from None


def _resuming(options: dict[str, Any]) -> str:
    """The command that goes on where this one was stopped."""
    command = f"dglkgmix train --resume --out {shlex.quote(str(options['out']))}"
    if any_named():  # Reading the run imports them.
        command += " --trust"
    several = (options["processes"] or 1) > 1
    return f"{command} --processes {options['processes']}" if several else command


def _start(options: dict[str, Any], group: Processes) -> Result:
    from dglkgmix.training import launch

    config = _assembled(options)
    with group.main_first():  # A data set is fetched once.
        kg = _read(config)
    if group.main:
        _warn_of_recipe(options["recipe"], config)
        common.warn_of_splits(kg)
        common.warn_of_alike(kg, config.data.source)
    told = _told(options, group)
    return launch.train(kg, config, options["out"], overwrite=options["overwrite"], **told)


def _resume(options: dict[str, Any], group: Processes) -> Result:
    """Go on; from the start where an earlier call was killed before it had written the inputs."""
    from dglkgmix.files import MANIFEST
    from dglkgmix.runs import run_files
    from dglkgmix.training import launch

    told, fresh = _told(options, group), "Nothing to resume yet: starting from the beginning"
    begun = group.gathered((options["out"] / MANIFEST).exists())[0]
    if options["source"] and not begun:
        told["progress"].message(fresh)
        return _start(options, group)
    with launch.opened(options["out"], group) as folder:
        if options["source"] and not group.gathered(folder.has(run_files.CONFIG))[0]:
            told["progress"].message(fresh)
            config = _assembled(options)
            kg = _read(config)
        else:
            config, kg = _stored(options, folder), run_files.read_graph(folder)
        return launch.resume(folder, kg, config, **told)


def _told(options: dict[str, Any], group: Processes) -> dict[str, Any]:
    """What hears of a training, and who takes part."""
    from dglkgmix.training.progress import make_progress

    observers: list[Any] = []
    if options["tensorboard"]:
        from dglkgmix.runs.history import TensorBoard

        check_text(options["tensorboard"], "--tensorboard")
        observers = [TensorBoard(options["tensorboard"])]
    progress = make_progress(quiet=options["quiet"])
    return {"progress": progress, "observers": observers, "processes": group}


def _show_config(options: dict[str, Any]) -> None:
    """The configuration, with a comment that tells what each "auto" is on the graph of SOURCE."""
    from dglkgmix.config.toml import dumps
    from dglkgmix.training.launch import settled

    config = _assembled(options)
    _warn_of_recipe(options["recipe"], config)
    final = settled(_read(config), config) if config.data.source else None
    click.echo(dumps(config, settled=final), nl=False)


def _assembled(options: dict[str, Any]) -> Config:
    """Defaults, then recipe or run, file, and flags and --set, the later ones winning."""
    from dglkgmix.config import Config
    from dglkgmix.config.assembly import assemble
    from dglkgmix.config.toml import load

    base = Config()
    if options["parent"]:
        from dglkgmix.training.launch import settings_of

        if options["recipe"]:
            raise ConfigError("--from takes the settings of RUN: leave --recipe out")
        base = settings_of(options["parent"])
    elif options["recipe"]:
        from dglkgmix.experiments.recipes import load_recipe

        base = load_recipe(options["recipe"])
    if options["config_file"]:
        base = load(options["config_file"], base)
    return assemble(base, _flags(options), options["sets"], strict=True)


def _warn_of_recipe(recipe: str | None, config: Config) -> None:
    """Says on stderr that another decoder gets settings that were chosen for the recipe's."""
    if recipe is None:
        return
    from dglkgmix.config.toml import parse
    from dglkgmix.experiments.recipes import recipe_text

    chosen_for = parse(recipe_text(recipe), recipe).get("model", {}).get("decoder")
    if chosen_for not in (None, config.model.decoder):
        common.warn(
            f"recipe {recipe} was chosen for {chosen_for}: what you do not set yourself (loss, "
            f"learning rate, sizes) stays as it is there, with {config.model.decoder}"
        )


def _stored(options: dict[str, Any], folder: RunFolder) -> Config:
    """The run's own configuration with what flags may change."""
    from dglkgmix.config.assembly import resumed
    from dglkgmix.runs import run_files

    if options["recipe"] or options["config_file"] or options["parent"]:
        raise ConfigError(
            "--resume takes the run's own settings: leave --recipe, --config and --from out"
        )
    given = _flags(options)
    for key, value in given.items():
        if value is not None and OPTIONS[key].classes:
            admit(OPTIONS[key].classes, value)
    return resumed(run_files.read_config(folder), given, options["sets"], strict=True)


def _flags(options: dict[str, Any]) -> dict[str, Any]:
    given = {made.key: options.get(flag) for flag, made in (TRAINING | READING).items()}
    return {"data.source": options["source"], **given}


def _read(config: Config) -> KnowledgeGraph:
    data = config.data
    if not data.source:
        raise ConfigError("SOURCE is missing: a catalog name, a folder or a file of triples")
    return common.load_source(data.source, **data.reading, **data.splitting)


def _print(result: Result, as_json: bool) -> None:
    mrr, popularity = result.mrr, result.popularity_mrr
    if mrr is not None and popularity is not None and mrr < popularity:
        common.warn(
            f"the model's MRR, {mrr:.4f}, is below {popularity:.4f}, that of ranking entities by "
            "popularity alone: train longer, or with other settings"
        )
    if as_json:
        common.emit_json(result.to_dict())
        return
    from dglkgmix.cli.columns import account_table

    if account := result.test or result.valid:
        click.echo(account_table("test" if result.test else "valid", account))
    else:
        click.echo("No validation and no test triples: nothing was evaluated.")
    if result.popularity_mrr is not None:
        click.echo(f"Ranking by popularity alone: MRR {result.popularity_mrr:.4f}")
    click.echo(f"Run: {common.printable(str(result.run))} ({result.length})")
