"""``dglkgmix recipes``: settings by name."""

from __future__ import annotations

import click

from dglkgmix.cli.columns import aligned
from dglkgmix.cli.common import emit_json, json_option


@click.group(
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",
    epilog="Example: dglkgmix recipes show codex-s-conve",
)
@json_option
@click.pass_context
def recipes(context: click.Context, as_json: bool) -> None:
    """List the packaged settings, with their test MRR: measured here, or reported by the paper.

    Use one with `dglkgmix train SOURCE --recipe NAME --out RUN`.
    """
    if context.invoked_subcommand is not None:
        return
    from dglkgmix.experiments.recipes import all_recipes

    rows = [recipe.row() for recipe in all_recipes()]
    if as_json:
        emit_json(rows)
        return
    keys = ["name", "data", "model", "strategy", "regime", "expected"]
    cells = [["" if row[key] is None else str(row[key]) for key in keys] for row in rows]
    for line, row in zip(cells, rows, strict=True):
        if row["expected"] is not None:
            line[-1] = f"{row['expected']:.3f} ({row['expected_from']})"
    rule = ["-" * max(map(len, column)) for column in zip(keys, *cells, strict=True)]
    click.echo(aligned([keys, rule, *cells], right=(), indent=""))


@recipes.command(epilog="Example: dglkgmix recipes show fb15k-237-conve-mixup > mine.toml")
@click.argument("name")
def show(name: str) -> None:
    """Print the recipe NAME as the TOML file that it is."""
    from dglkgmix.experiments.recipes import recipe_text

    click.echo(recipe_text(name), nl=False)
