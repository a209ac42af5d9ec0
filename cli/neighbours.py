"""``dglkgmix neighbours``: what lies near an entity or a relation in the embedding."""

from __future__ import annotations

from pathlib import Path

import click

from dglkgmix.cli.columns import aligned
from dglkgmix.cli.common import emit_json, json_option, one_line, open_run, trust_option
from dglkgmix.cli.outputs import IN
from dglkgmix.errors import UnknownNameError


@click.command(epilog="Example: dglkgmix neighbours runs/mixup Vienna --top 5")
@click.argument("run", type=IN)
@click.argument("name")
@click.option("--relation", is_flag=True, help="NAME is a relation.")
@click.option("--top", type=click.IntRange(min=1), default=10, help="Number of neighbours.")
@json_option
@trust_option
def neighbours(run: Path, name: str, *, relation: bool, top: int, as_json: bool) -> None:
    """List the entities whose vectors are nearest to that of NAME, by cosine.

    With --relation, the relations; reciprocal ones, which lead from tail to head, are marked.
    The vectors are those that the decoder reads: of complex and rotate the real parts beside the
    imaginary ones, of rotate's relations the cosines and sines of their angles. The degree is the
    number of training triples: a vector with few of them is poorly trained.
    """
    from dataclasses import asdict

    from dglkgmix.kg.options import ReadOptions

    opened = open_run(run)
    name = ReadOptions(**opened.config.data.reading).name(name)
    kinds = (opened.kg.entities, opened.kg.relations)
    own, other = reversed(kinds) if relation else kinds
    if name not in own and name in other:
        remedy = "leave out --relation" if relation else "add --relation"
        raise UnknownNameError(f"{name!r} is of kind {other.kind}, not {own.kind}: {remedy}")
    found = opened.neighbours(name, top, relation=relation)
    if as_json:
        kind = "relation" if relation else "entity"
        emit_json({"name": name, "kind": kind, "neighbours": [asdict(n) for n in found]})
        return
    rows = [["", "relation" if relation else "entity", "cosine", "degree", ""]]
    for place, near in enumerate(found, start=1):
        remarks = ["reciprocal"] * near.reciprocal + ["untrained"] * (near.degree == 0)
        figures = [f"{near.cosine:.4f}", f"{near.degree:,}", ", ".join(remarks)]
        rows.append([str(place), one_line(near.name), *figures])
    click.echo(f"{one_line(name)}\n\n{aligned(rows, right=(0, 2, 3))}")
