"""``dglkgmix export``: vectors with their names, for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from dglkgmix.cli.common import open_run, printable, trust_option
from dglkgmix.cli.outputs import IN, OUT_FOLDER, overwrite_option
from dglkgmix.errors import ConfigError


@click.command(epilog="Example: dglkgmix export runs/mixup --format npy --out vectors")
@click.argument("run", type=IN)
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "npy", "csv", "word2vec", "projector"]),
    default="parquet",
    help="parquet, csv: names beside vectors; npy: arrays, and names in JSON in the same order; "
    "word2vec: text for gensim; projector: TSV for TensorFlow's Embedding Projector.",
)
@click.option("--out", required=True, type=OUT_FOLDER, help="Folder.")
@overwrite_option("files of an earlier export")
@trust_option
def export(run: Path, *, form: str, out: Path, overwrite: bool) -> None:
    """Write the entity and relation vectors of RUN with their names.

    Relations are there twice: as they are, then reciprocal, for queries of heads. In
    parquet, csv and the projector's metadata the column reciprocal tells which; npy has them in the
    second half, word2vec in reciprocals.txt. A name in word2vec has percent-escapes for white space
    and %, as New%20York; in csv one that a spreadsheet would take for a formula gets a leading
    apostrophe. The projector's metadata hold the degree, the number of training triples, and its
    bin. The bias of entities, where a model has one, is in parquet, npy and csv.
    """
    from dglkgmix.evaluation.vectors import export_vectors
    from dglkgmix.files import MANIFEST

    if (out / MANIFEST).exists():  # its files have the names that an export's have
        raise ConfigError(f"--out {out} is a run folder: choose another for the vectors")
    opened = open_run(run)
    for path in export_vectors(opened.model, opened.kg, out, form, overwrite=overwrite):
        click.echo(printable(str(path)))
