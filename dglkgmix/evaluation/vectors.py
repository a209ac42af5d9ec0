"""Entity and relation vectors with their names, for other tools."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from dglkgmix.errors import OVERWRITE, ConfigError, NumericError, StorageError
from dglkgmix.evaluation.model_scorer import evaluating
from dglkgmix.files import write_atomic
from dglkgmix.paths import path_of

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.vocabulary import Vocabulary
    from dglkgmix.models.link_predictor import LinkPredictor

FORMATS = ("parquet", "npy")
Floats = np.ndarray[Any, np.dtype[np.float32]]


def export_vectors(
    model: LinkPredictor,
    kg: KnowledgeGraph,
    folder: str | Path,
    form: str = "parquet",
    *,
    overwrite: bool = False,
) -> list[Path]:
    """Write the vectors that the decoder reads, in float32: an R-GCN's are encoded.

    ``parquet``: ``entities.parquet`` (name, vector and, where the model has one, bias) and
    ``relations.parquet`` (name, reciprocal, vector), rows in the order of ids. ``npy``:
    ``entities.npy`` (E, De), ``relations.npy`` (2R, Dr; the second half reciprocal), ``bias.npy``
    (E,), and the names in the same order in ``entities.json`` and ``relations.json``.

    Returns:
        The files written.

    Raises:
        NumericError: a number that is not finite; the message names the entity or relation.
        ConfigError: an unknown format, or a file exists and ``overwrite`` is not set.
        StorageError: the folder cannot be written.
    """
    with evaluating(model), torch.no_grad():
        vectors = model.encode()
    entities, relations = _array(vectors.entities), _array(vectors.relations)
    bias = None if model.bias is None else _array(model.bias)
    _refuse_infinite(entities, kg.entities)
    _refuse_infinite(relations, kg.relations)
    if bias is not None:
        _refuse_infinite(bias[:, None], kg.entities)
    if form == "parquet":
        files = _parquet_files(kg, entities, relations, bias)
    elif form == "npy":
        files = _numpy_files(kg, entities, relations, bias)
    else:
        raise ConfigError(f"format must be one of {', '.join(FORMATS)}, not {form!r}")
    return _write(path_of(folder), files, overwrite=overwrite)


def _refuse_infinite(vectors: Floats, names: Vocabulary) -> None:
    """Rows (N, D) of ``names``, or of these twice: the reciprocal relations."""
    bad = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(bad):
        name = names[int(bad[0]) % len(names)]
        raise NumericError(
            f"the vector of {names.kind} {name!r} is not finite, one of {len(bad):,} such "
            f"in {len(vectors):,}: the training has diverged; train again with a smaller --lr"
        )


def _array(tensor: Tensor) -> Floats:
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())


def _parquet_files(
    kg: KnowledgeGraph,
    entities: Floats,
    relations: Floats,
    bias: Floats | None,
) -> dict[str, bytes]:
    names = pa.array([*kg.relations, *kg.relations], pa.string())
    reciprocal = pa.array([i >= kg.num_relations for i in range(kg.num_query_relations)])
    entity_columns = {"name": kg.entities.arrow().cast(pa.string()), "vector": _lists(entities)}
    if bias is not None:
        entity_columns["bias"] = pa.array(bias)
    relation_columns = {"name": names, "reciprocal": reciprocal, "vector": _lists(relations)}
    tables = {"entities": entity_columns, "relations": relation_columns}
    return {f"{name}.parquet": _parquet(columns) for name, columns in tables.items()}


def _lists(vectors: Floats) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])


def _parquet(columns: dict[str, pa.Array]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _numpy_files(
    kg: KnowledgeGraph,
    entities: Floats,
    relations: Floats,
    bias: Floats | None,
) -> dict[str, bytes]:
    arrays = {"entities": entities, "relations": relations}
    if bias is not None:
        arrays["bias"] = bias
    files = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    for name, vocabulary in (("entities", kg.entities), ("relations", kg.relations)):
        files[f"{name}.json"] = json.dumps(list(vocabulary), ensure_ascii=False).encode()
    return files


def _npy(array: Floats) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=False)
    return sink.getvalue()


def _write(folder: Path, files: dict[str, bytes], *, overwrite: bool) -> list[Path]:
    paths = {folder / name: data for name, data in files.items()}
    existing = [path for path in paths if path.exists()]
    if existing and not overwrite:
        raise ConfigError(f"{existing[0]}: exists; choose another folder, or pass {OVERWRITE}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be made: {error.strerror}") from error
    for path, data in paths.items():
        write_atomic(path, data)
    return list(paths)
