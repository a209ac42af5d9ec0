"""``dglkgmix data``: data sets by name, what a source holds, and other formats for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from dglkgmix.cli import common
from dglkgmix.cli.columns import aligned
from dglkgmix.cli.main import WholeSentences
from dglkgmix.cli.outputs import OUT, NonEmpty, overwrite_option


@click.group(cls=WholeSentences, epilog="Example: dglkgmix data info world")
def data() -> None:
    """List, inspect, fetch and convert knowledge graphs."""


@data.command("list", epilog="Example: dglkgmix data list --json")
@common.json_option
def list_(as_json: bool) -> None:
    """List the data sets that commands know by name."""
    from dglkgmix.kg import catalog

    entries = [catalog.entry(name) for name in catalog.names()]
    facts = ["name", *_SIZES, "summary", "licence"]
    rows = [
        {**{key: getattr(entry, key) for key in facts}, "here": catalog.is_cached(entry)}
        for entry in entries
    ]
    if as_json:
        common.emit_json(rows)
        return
    lines = [["name", "entities", "relations", "train", "valid", "test", "", "about"]]
    for row in rows:
        numbers = [f"{row[key]:,}" for key in _SIZES]
        lines.append([row["name"], *numbers, "here" if row["here"] else "", row["summary"]])
    click.echo(aligned(lines, right=range(1, 6), indent=""))


@data.command(epilog="Example: dglkgmix data fetch codex-s")
@click.argument("name")
def fetch(name: str) -> None:
    """Download the data set NAME, verify it, and print its folder.

    Data sets are kept in the folder that DGLKGMIX_DATA names, else in the user's cache folder.
    """
    from dglkgmix.kg import catalog

    click.echo(str(catalog.fetch(name, progress=common.DownloadBar())))


@data.command(
    epilog="Example: dglkgmix data info triples.csv --header --columns subject,verb,object"
)
@click.argument("source", type=NonEmpty())
@common.source_options
@common.json_option
def info(source: str, as_json: bool, **reading: Any) -> None:
    """Count what SOURCE holds, and what may go wrong with it.

    SOURCE is a data set's name, a folder with train, valid and test, or one file. A relation is
    functional where at least 95 % of its heads have one tail alone, inverse functional where as
    many of its tails have one head alone.
    """
    from dglkgmix.kg.mirrors import inverse_pairs
    from dglkgmix.kg.statistics import relation_rows

    kg = common.load_source(source, **reading)
    summary, relations = kg.summary(), relation_rows(kg)
    alike = {"entities": kg.entities.alike(), "relations": kg.relations.alike()}
    inverses: list[dict[str, Any]] = [
        {"relation": kg.relations[p.relation], "inverse": kg.relations[p.inverse], "share": p.share}
        for p in inverse_pairs(kg)
    ]
    if as_json:
        shown = {kind: groups[:_EXAMPLES] for kind, groups in alike.items()}
        further = {"alike": shown, "relation_rows": relations, "inverse_relations": inverses}
        common.emit_json(summary | further)
        return
    counts = [
        aligned([[label, f"{summary[key]:,}"] for key, label in labels.items()])
        for labels in (_SIZES, _WARNINGS)
    ]
    parts = [common.printable(source), *counts, *_alike_lines(alike), _relation_table(relations)]
    if inverses:
        rows = [["relation", "inverse", "triples with their reverse"]]
        for pair in inverses:
            names = [common.printable(pair[key]) for key in ("relation", "inverse")]
            rows.append([*names, f"{pair['share']:.0%}"])
        parts.append(aligned(rows, right={2}))
    click.echo("\n\n".join(parts))


@data.command(epilog="Example: dglkgmix data convert world world.parquet")
@click.argument("source", type=NonEmpty())
@click.argument("out", type=OUT)
@click.option(
    "--to",
    "target",
    type=click.Choice(["tsv", "parquet", "dgl"]),
    help="What to write. [default: by OUT's ending: .parquet, .dgl or .bin, else tsv]",
)
@overwrite_option("files of an earlier conversion")
@common.source_options
def convert(source: str, out: Path, target: str | None, overwrite: bool, **reading: Any) -> None:
    """Write SOURCE to OUT in another format, splits and names unchanged.

    TSV and Parquet make a folder with one file for each split, DGL one binary file, which
    dgl.load_graphs reads and which serves as SOURCE again.
    """
    from dglkgmix.kg.writers import target_of, write

    chosen = target or target_of(out)
    kg = common.load_source(source, **reading)
    for path in write(kg, out, chosen, overwrite=overwrite):
        click.echo(common.printable(str(path)))


_SIZES = {
    "entities": "entities",
    "relations": "relations",
    "train": "train triples",
    "valid": "valid triples",
    "test": "test triples",
}
_WARNINGS = {
    "duplicates": "rows that repeat an earlier row of their split",
    "overlap": "triples in more than one split",
    "reciprocal_leakage": "test triples whose reverse is in train, under any relation",
    "valid_mirrors": "valid triples whose mirror is in train",
    "test_mirrors": "test triples whose mirror is in train",
    "inverse_pairs": "pairs of inverse relations",
    "self_loops": "training triples from an entity to itself",
    "entities_only_in_valid": "entities only in valid",
    "entities_only_in_test": "entities only in test",
    "entities_not_in_train": "entities not in train",
    "relations_only_in_valid": "relations only in valid",
    "relations_only_in_test": "relations only in test",
    "relations_not_in_train": "relations not in train",
    "entities_alike": "entities alike but for case, space or Unicode form",
    "relations_alike": "relations alike but for case, space or Unicode form",
}
# Groups of names that are alike, and relations, of which a page shows so many.
_EXAMPLES, _RELATIONS = 5, 20


def _alike_lines(alike: Mapping[str, list[list[str]]]) -> Iterator[str]:
    from dglkgmix.kg.vocabulary import shown_apart

    for kind, groups in alike.items():
        if groups:
            title = f"Similar names of {kind} (--strip --normalize nfc joins all but case)"
            shown = (common.printable(", ".join(shown_apart(g))) for g in groups[:_EXAMPLES])
            further = ["…"] if len(groups) > _EXAMPLES else []
            yield "\n  ".join([title, *shown, *further])


def _relation_table(rows: list[dict[str, Any]]) -> str:
    table = [["relation", "train", "valid", "test", ""]]
    for row in rows[:_RELATIONS]:
        name = common.one_line(row["name"])
        marks = [key.replace("_", " ") for key in ("functional", "inverse_functional") if row[key]]
        counts = (f"{row[split]:,}" for split in ("train", "valid", "test"))
        table.append([name, *counts, ", ".join(marks)])
    text = aligned(table, right=range(1, 4))
    further = len(rows) - _RELATIONS
    return text if further <= 0 else f"{text}\n  and {further:,} more: --json lists all"
