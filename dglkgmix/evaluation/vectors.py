"""Entity and relation vectors with their names, for other tools."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from dglkgmix.atomic import Content, csv_lines, text_lines, write_folder
from dglkgmix.errors import DIVERGED, ConfigError, NumericError
from dglkgmix.evaluation.model_scorer import evaluating
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.vocabulary import Vocabulary, safe_in_spreadsheets
from dglkgmix.parquet import packed
from dglkgmix.paths import path_of

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.models.link_predictor import LinkPredictor

Floats = np.ndarray[Any, np.dtype[np.float32]]
Labels = dict[str, Sequence[Any]]
Files = dict[str, Content]
# Reads back as the same float32.
_DIGITS = "%.9g"


def export_vectors(
    model: LinkPredictor,
    kg: KnowledgeGraph,
    folder: str | Path,
    form: str = "parquet",
    *,
    overwrite: bool = False,
) -> list[Path]:
    """Write the vectors that the decoder reads, in float32: an R-GCN's are encoded.

    Rows are in the order of ids; the second half of the 2R relations are the reciprocal ones.

    - ``parquet``: ``entities.parquet`` (name, vector and, where the model has one, bias) and
      ``relations.parquet`` (name, reciprocal, vector).
    - ``npy``: ``entities.npy`` (E, De), ``relations.npy`` (2R, Dr), ``bias.npy`` (E,), and names in
      ``entities.json`` and ``relations.json``.
    - ``csv``: ``entities.csv`` and ``relations.csv``, the columns of Parquet with the vector's
      numbers as ``v0``, ``v1`` and so on. A name that a spreadsheet would take for a formula gets a
      leading apostrophe.
    - ``word2vec``: ``entities.txt``, ``relations.txt`` and ``reciprocals.txt``, the text that
      gensim's ``KeyedVectors`` read. White space and ``%`` in a name are percent-escapes, as
      ``New%20York``: ``urllib.parse.unquote`` gives the name back. Without the bias.
    - ``projector``: for TensorFlow's Embedding Projector ``entities_vectors.tsv`` and
      ``entities_metadata.tsv`` (name, degree, bin), and likewise for relations (with reciprocal).
      The degree is the number of training triples. Without the bias.

    Returns:
        The files written.

    Raises:
        NumericError: a number that is not finite; the message names the entity or relation.
        ConfigError: an unknown format, a file exists and ``overwrite`` is not set, or one is in the
            way.
        DataError: a name that TSV cannot hold, for the projector.
        StorageError: the folder cannot be written.
    """
    if form not in FORMATS:
        raise ConfigError(f"format must be one of {', '.join(FORMATS)}, not {form!r}")
    with evaluating(model), torch.no_grad():
        vectors = model.encode()
    entities: Labels = {"name": list(kg.entities)}
    if model.bias is not None:
        bias = _array(model.bias)
        _refuse_infinite(bias[:, None], kg.entities, "bias")
        entities["bias"] = list(bias)
    relations: Labels = {
        "name": [*kg.relations, *kg.relations],
        "reciprocal": [i >= kg.num_relations for i in range(kg.num_query_relations)],
    }
    own, theirs, degrees = _array(vectors.entities), _array(vectors.relations), kg.degrees
    tables = [
        _Table("entities", kg.entities, entities, own, degrees.of_entities),
        _Table("relations", kg.relations, relations, theirs, degrees.of_relations),
    ]
    for table in tables:
        _refuse_infinite(table.vectors, table.vocabulary, "vector")
    folder = path_of(folder)
    files = {folder / name: data for table in tables for name, data in FORMATS[form](table).items()}
    return write_folder(files, overwrite=overwrite)


@dataclass(frozen=True)
class _Table:
    """Vectors (N, D) with N labels and degrees each; ``stem`` begins the names of their files."""

    stem: str
    vocabulary: Vocabulary
    labels: Labels
    vectors: Floats
    degrees: Tensor


def _refuse_infinite(vectors: Floats, names: Vocabulary, what: str) -> None:
    """Rows (N, D) of ``names``, or of these twice: the reciprocal relations."""
    bad = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(bad):
        name = names[int(bad[0]) % len(names)]
        raise NumericError(
            f"the {what} of {names.kind} {name!r} is not finite, one of {len(bad):,} such "
            f"in {len(vectors):,}: {DIVERGED}"
        )


def _array(tensor: Tensor) -> Floats:
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())


def _parquet(table: _Table) -> Files:
    columns = {name: pa.array(values) for name, values in table.labels.items()}
    flat, size = pa.array(table.vectors.ravel()), table.vectors.shape[1]
    columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, size)
    return {f"{table.stem}.parquet": packed(pa.table(columns))}


def _numpy(table: _Table) -> Files:
    files: Files = {
        f"{table.stem}.json": json.dumps([*table.vocabulary], ensure_ascii=False).encode()
    }
    arrays = {table.stem: table.vectors}
    if "bias" in table.labels:
        arrays["bias"] = np.array(table.labels["bias"], np.float32)
    for name, array in arrays.items():
        sink = io.BytesIO()
        np.save(sink, array, allow_pickle=False)
        files[f"{name}.npy"] = sink.getvalue()
    return files


def _csv(table: _Table) -> Files:
    def rows() -> Iterator[Sequence[Any]]:
        yield [*table.labels, *(f"v{i}" for i in range(table.vectors.shape[1]))]
        labels = zip(*table.labels.values(), strict=True)
        for row, numbers in zip(labels, table.vectors, strict=True):
            yield [safe_in_spreadsheets(row[0]), *row[1:], *(_DIGITS % x for x in numbers.tolist())]

    return {f"{table.stem}.csv": text_lines(csv_lines(rows()))}


def _word2vec(table: _Table) -> Files:
    names = [re.sub(r"[\s%]", lambda found: quote(found[0]), name) for name in table.vocabulary]
    files: Files = {}
    parts = np.split(table.vectors, len(table.vectors) // max(1, len(names)))
    for stem, vectors in zip((table.stem, "reciprocals"), parts, strict=False):
        lines = zip(names, _number_lines(vectors, " "), strict=True)
        head = f"{len(vectors)} {vectors.shape[1]}"
        files[f"{stem}.txt"] = _lines([head], (f"{name} {numbers}" for name, numbers in lines))
    return files


def _projector(table: _Table) -> Files:
    table.vocabulary.check_tsv("export to Parquet")
    bins = DegreeBins()
    labels = {name: values for name, values in table.labels.items() if name != "bias"}
    labels["degree"] = table.degrees.tolist()
    labels["bin"] = [bins.names[i] for i in bins.assign(table.degrees).tolist()]
    rows = ("\t".join(map(str, row)) for row in zip(*labels.values(), strict=True))
    return {
        f"{table.stem}_vectors.tsv": _lines(_number_lines(table.vectors, "\t")),
        f"{table.stem}_metadata.tsv": _lines(["\t".join(labels)], rows),
    }


def _number_lines(vectors: Floats, separator: str) -> Iterator[str]:
    template = separator.join([_DIGITS] * vectors.shape[1])
    return (template % tuple(row.tolist()) for row in vectors)


def _lines(*parts: Iterable[str]) -> Content:
    """Not held as text: that takes several times the memory of the vectors."""
    return text_lines(f"{line}\n" for part in parts for line in part)


FORMATS: dict[str, Callable[[_Table], Files]] = {
    "parquet": _parquet,
    "npy": _numpy,
    "csv": _csv,
    "word2vec": _word2vec,
    "projector": _projector,
}
