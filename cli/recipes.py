"""``dglkgmix recipes``: settings by name."""

from __future__ import annotations

import click

from dglkgmix.cli.common import emit_json, json_option


@click.group(
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",
    epilog="Example: dglkgmix recipes show codex-s-conve",
)
@json_option
@click.pass_context
def recipes(context: click.Context, as_json: bool) -> None:
    """List the packaged settings, with the test MRR that each should reach.

    Use one with `dglkgmix train SOURCE --recipe NAME --out RUN`.
    """
    if context.invoked_subcommand is not None:
        return
    from dglkgmix.experiments.recipes import all_recipes

    rows = [recipe.row() for recipe in all_recipes()]
    if as_json:
        emit_json(rows)
        return
    click.echo(_table(rows))


@recipes.command(epilog="Example: dglkgmix recipes show fb15k-237-conve-mixup > mine.toml")
@click.argument("name")
def show(name: str) -> None:
    """Print the recipe NAME as the TOML file that it is."""
    from dglkgmix.experiments.recipes import recipe_text

    click.echo(recipe_text(name), nl=False)


def _table(rows: list[dict[str, object]]) -> str:
    keys = ["name", "data", "model", "strategy", "regime", "expected"]
    cells = [[_shown(row[key], row) for key in keys] for row in rows]
    widths = [max(len(line[i]) for line in [keys, *cells]) for i in range(len(keys))]
    lines = [keys, ["-" * width for width in widths], *cells]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _shown(value: object, row: dict[str, object]) -> str:
    if isinstance(value, float):
        return f"{value:.3f} ({row['expected_from']})"
    return "" if value is None else str(value)
