"""The files of a run folder that are neither state nor results: settings, graph and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from dglkgmix.atomic import Content
from dglkgmix.config import Config, ModelConfig, StrategyConfig
from dglkgmix.config.checks import validate
from dglkgmix.config.toml import dumps, loads
from dglkgmix.errors import CheckpointError, ConfigError, DataError, OutOfRangeError
from dglkgmix.files import RunFolder
from dglkgmix.kg import ROLES, SPLITS
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.vocabulary import Vocabulary
from dglkgmix.models.registry import table_dims
from dglkgmix.parquet import packed, read_checked
from dglkgmix.paths import path_of
from dglkgmix.runs import checkpoint

CONFIG = "config.toml"
ENTITIES = "entities.parquet"
RELATIONS = "relations.parquet"
TRIPLES = "triples.parquet"
MODEL = "model.safetensors"
HISTORY = "history.csv"
METRICS = "metrics.json"
STATE = checkpoint.STATE
# Parameters of every encoder, in the order of its dimensions.
TABLES = ("encoder.entity_table", "encoder.relation_table")
_NAMES = {"name": pa.large_string()}
_TRIPLES = {**dict.fromkeys(ROLES, pa.int64()), "split": pa.string()}
# What options stand for where a run is older than they are.
_LEFT_OUT = Config(model=ModelConfig(residual="none"), strategy=StrategyConfig(rivals="all"))


class Spectator(RunFolder):
    """Reads what another process writes; its own writes and removals do nothing.

    Made by :meth:`begin` for a run that another process is making, and by :meth:`open` for one
    that is there.
    """

    @classmethod
    def begin(cls, path: str | Path) -> Spectator:
        """Of a new run: nothing that lies in the folder now is a part of it."""
        return cls(path_of(path), {}, None)

    def write(self, name: str, data: Content) -> None:
        """Nothing."""

    def remove(self, name: str) -> None:
        """Nothing."""


def ranks_name(split: str) -> str:
    """The file that holds the rank table of ``split``."""
    return f"ranks-{split}.parquet"


def write_config(folder: RunFolder, config: Config) -> None:
    """Store the resolved settings; a folder that has them is complete enough to be resumed."""
    folder.write(CONFIG, dumps(config).encode())


def read_config(folder: RunFolder) -> Config:
    """The settings that :func:`write_config` stored.

    Raises:
        CheckpointError: the file is missing or damaged, or holds no settings.
    """
    where = str(folder.path / CONFIG)
    try:
        config = loads(folder.read(CONFIG).decode(), _LEFT_OUT, where=where, trust=False)
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{where}: not UTF-8: {error.reason}") from None
    except ConfigError as error:  # It says where.
        raise CheckpointError(str(error)) from None
    try:
        validate(config)
    except ConfigError as error:
        raise CheckpointError(f"{where}: {error}") from None
    return config


def write_graph(
    folder: RunFolder,
    kg: KnowledgeGraph,
    new: Tensor | None = None,
    sample_weight: Tensor | None = None,
) -> None:
    """Store names and triples: a run stands alone when its source has moved.

    ``new`` (E,) bool marks the entities that the run it started from does not know;
    ``sample_weight`` (N,) double is what the training triples weigh.
    """
    entities: dict[str, Any] = {"name": kg.entities.arrow()}
    if new is not None and new.any():
        entities["new"] = pa.array(new.numpy())
    if kg.node_types is not None:
        codes = pa.array(kg.node_types.numpy(), type=pa.int32())
        entities["type"] = pa.DictionaryArray.from_arrays(codes, pa.array(kg.node_type_names))
    folder.write(ENTITIES, packed(pa.table(entities)))
    folder.write(RELATIONS, packed(pa.table({"name": kg.relations.arrow()})))
    splits = [kg.split(name) for name in SPLITS]
    columns = torch.cat(splits).T.contiguous().numpy()
    codes = np.repeat(np.arange(len(SPLITS), dtype=np.int8), [len(rows) for rows in splits])
    triples = dict(zip(ROLES, map(pa.array, columns), strict=True))
    triples["split"] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(SPLITS))
    if sample_weight is not None:
        held = torch.ones(len(codes) - len(kg.train), dtype=torch.double)
        triples["weight"] = pa.array(torch.cat([sample_weight, held]).numpy())
    folder.write(TRIPLES, packed(pa.table(triples)))


def read_graph(folder: RunFolder) -> KnowledgeGraph:
    """The graph that :func:`write_graph` stored.

    Raises:
        CheckpointError: a file that is missing, damaged or does not fit the others.
    """
    entities, relations = (_read(folder, name, _NAMES) for name in (ENTITIES, RELATIONS))
    triples = _read(folder, TRIPLES, _TRIPLES)
    rows = torch.stack([_integers(triples.column(name).combine_chunks()) for name in ROLES], 1)
    splits = triples.column("split").combine_chunks().dictionary_encode()
    names, codes = splits.dictionary.to_pylist(), _integers(splits.indices)
    types: dict[str, Any] = {}
    if "type" in entities.column_names:
        kinds = entities.column("type").combine_chunks()
        types["node_types"] = _integers(kinds.indices)
        types["node_type_names"] = tuple(kinds.dictionary.to_pylist())
    try:
        return KnowledgeGraph(
            Vocabulary(entities.column("name").combine_chunks(), "entity"),
            Vocabulary(relations.column("name").combine_chunks(), "relation"),
            *(rows[codes == (names.index(name) if name in names else -1)] for name in SPLITS),
            **types,
        )
    except (DataError, OutOfRangeError) as error:
        raise CheckpointError(f"{folder.path}: its graph does not hold together: {error}") from None


def read_sample_weight(folder: RunFolder) -> Tensor | None:
    """(N,) double, what the training triples weigh; None where all weigh the same."""
    triples = _read(folder, TRIPLES, _TRIPLES, weight=pa.float64())
    if "weight" not in triples.column_names:
        return None
    train = triples.filter(pc.equal(triples.column("split"), SPLITS[0]))
    return torch.tensor(train.column("weight").to_pylist(), dtype=torch.double)


def read_new(folder: RunFolder) -> frozenset[str]:
    """Entities that the run it started from does not know; none where it started from no run."""
    entities = _read(folder, ENTITIES, _NAMES, new=pa.bool_())
    if "new" not in entities.column_names:
        return frozenset()
    return frozenset(entities.filter(entities.column("new")).column("name").to_pylist())


def read_weights(folder: RunFolder) -> dict[str, Tensor]:
    """The selected weights of a finished run.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    return checkpoint.unpack_weights(folder.checked(MODEL), str(folder.path / MODEL))


def check_tables(
    weights: dict[str, Tensor], model: ModelConfig, kg: KnowledgeGraph, where: str
) -> None:
    """Refuse weights whose tables are not of this graph and these settings.

    It is asked before a model is built, as settings that lie could ask for any amount of memory.

    Raises:
        CheckpointError: names ``where``, the table and both shapes.
    """
    lengths = (kg.num_entities, kg.num_query_relations)
    for name, length, dim in zip(TABLES, lengths, table_dims(model), strict=True):
        found = tuple(weights[name].shape) if name in weights else None
        if found != (length, dim):
            raise CheckpointError(
                f"{where} does not fit the model: {name} is {found or 'missing'}, and settings and "
                f"vocabulary ask for {(length, dim)}. Restore the run from a copy, or train again"
            )


def _integers(array: pa.Array) -> Tensor:
    """(N,) long. ``to_numpy`` would import pandas, which takes longer than a prediction."""
    array = array.cast(pa.int64())
    if not len(array):  # It may have no buffer.
        return torch.empty(0, dtype=torch.long)
    values = np.frombuffer(array.buffers()[1], np.int64, len(array), 8 * array.offset)
    return torch.from_numpy(values.copy())


def _read(
    folder: RunFolder, name: str, columns: dict[str, pa.DataType], **optional: pa.DataType
) -> pa.Table:
    """The table with ``columns`` of these types, every cell filled; ``optional`` ones may lack."""
    where = folder.path / name
    try:
        table = read_checked(pa.py_buffer(folder.read(name)), where)
    except DataError as error:
        raise CheckpointError(str(error)) from None
    there = {column: kind for column, kind in optional.items() if column in table.column_names}
    for column, kind in {**columns, **there}.items():
        if column not in table.column_names:
            raise CheckpointError(f"{where}: column {column!r} is missing")
        try:
            values = table.column(column).cast(kind)
        except pa.ArrowException as error:
            raise CheckpointError(f"{where}: column {column!r}: {error}") from None
        if values.null_count:
            raise CheckpointError(f"{where}: column {column!r} has empty cells")
        table = table.set_column(table.column_names.index(column), column, values)
    return table
