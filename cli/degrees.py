"""``dglkgmix degrees``: tail-relation degrees of a graph, and what a threshold would augment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli import common
from dglkgmix.cli.columns import aligned, share
from dglkgmix.cli.outputs import OUT_FILE, NonEmpty, check_new, overwrite_option

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.kg.graph import KnowledgeGraph


@click.command(epilog="Example: dglkgmix degrees fb15k-237 --threshold 5 --plot degrees.png")
@click.argument("source", type=NonEmpty())
@click.option("--threshold", type=click.IntRange(min=0), default=5, help="Mix triples below it.")
@click.option(
    "--partners", type=click.IntRange(min=0), default=5, help="Mixing partners of each such triple."
)
@click.option(
    "--partner-rule",
    type=click.Choice(["any", "strict"]),
    default="any",
    help="any: all other triples with the same tail; strict: those with another head and relation.",
)
@common.bins_option
@click.option(
    "--plot", type=OUT_FILE, metavar="FILE", help="Write the figure as .png, .svg or .pdf."
)
@overwrite_option("an existing figure")
@common.source_options
@common.json_option
def degrees(
    source: str,
    *,
    threshold: int,
    partners: int,
    partner_rule: str,
    bins: str,
    plot: Path | None,
    overwrite: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    """Show how the tail-relation degrees of SOURCE are distributed.

    The tail-relation degree of a query (head, relation, ?) is the number of training triples
    with its answer as tail and its relation, reciprocal relations included. SOURCE is a data
    set's name, a folder or a file.
    """
    from dglkgmix.kg.degrees import DegreeBins, degree_summary
    from dglkgmix.report.figures.degrees import PLOT_ENDINGS, degree_distribution

    chosen = DegreeBins.parse(bins)
    check_new(plot, "--plot", overwrite=overwrite, endings=PLOT_ENDINGS)
    kg = common.load_source(source, **reading)
    result = degree_summary(kg, chosen, threshold, partners, partner_rule)
    if plot is not None:
        degree_distribution(kg, plot, chosen)
    if as_json:
        common.emit_json(result)
        return
    below, edges, bare = result["below_threshold"], kg.num_edges, result["without_partner"]
    mixing = [
        ["training triples, both directions", f"{edges:,}", ""],
        ["of them below the threshold", f"{below:,}", share(below, edges)],
        ["of these without a partner", f"{bare:,}", share(bare, below)],
        ["synthetic samples an epoch", f"{result['synthetic_per_epoch']:,}", ""],
    ]
    click.echo(
        f"{common.printable(source)}: {kg.num_entities:,} entities, {kg.num_relations:,} "
        f"relations, {edges // 2:,} distinct training triples\n\n"
        "Tail-relation degrees, reciprocal relations included\n"
        f"{_bin_table(kg, chosen, result)}\n\n"
        f"Mixing (threshold {threshold}, {partners} partners, rule {partner_rule})\n"
        f"{aligned(mixing)}"
    )
    if plot is not None:
        click.echo(f"\nFigure: {common.printable(str(plot))}")


def _bin_table(kg: KnowledgeGraph, bins: DegreeBins, result: dict[str, Any]) -> str:
    from dglkgmix.kg.degrees import readable

    pairs = bins.count(kg.degrees.pair_degrees)
    columns = {"pairs": pairs, **result["bins"]}
    totals = {name: sum(counts.values()) for name, counts in columns.items()}
    rows = [["bin", "degrees", "pairs", "", "train queries", "", "valid queries", ""]]
    rows[0] += ["test queries", ""]
    for name, interval in zip(bins.names, bins.intervals, strict=True):
        cells = [(counts[name], totals[column]) for column, counts in columns.items()]
        figures = [text for part, whole in cells for text in (f"{part:,}", share(part, whole))]
        rows.append([readable(name), readable(interval), *figures])
    rows.append(["all", "", *(text for t in totals.values() for text in (f"{t:,}", ""))])
    if bins.names == bins.intervals:
        return aligned([[row[0], *row[2:]] for row in rows], right=range(1, 9))
    return aligned(rows, right=range(2, 10))
