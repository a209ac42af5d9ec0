"""Triples that are known to be false, as CoDEx's hard negatives, from a file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.kg.readers import ReadOptions, read_triples

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

_log = logging.getLogger(__name__)


def read_false_triples(
    path: str | Path, kg: KnowledgeGraph, options: ReadOptions | None = None
) -> Tensor:
    """(N, 3) ids of the distinct triples of a file, in any format that triples are read from.

    Triples that a split of the graph holds are left out, with a warning. Of ``options``, which
    are of the graph's own files, ``strip`` and ``normalize`` are used.

    Raises:
        DataError: a file that cannot be read or holds no false triple.
        UnknownNameError: a name that the graph lacks.
    """
    graph = options or ReadOptions()
    names = ReadOptions(strip=graph.strip, normalize=graph.normalize)
    heads, relations, tails = read_triples(path, options=names).columns()
    try:
        columns = (kg.entities.ids(heads), kg.relations.ids(relations), kg.entities.ids(tails))
    except UnknownNameError as error:
        raise UnknownNameError(f"{path}: {error}") from None
    triples: Tensor = torch.unique(torch.stack(columns, dim=1), dim=0)
    true = kg.known_index.contains(*triples.unbind(1))
    if true.any():
        _log.warning(
            "%s: %s of %s triples are true in this graph and are left out",
            path,
            f"{int(true.sum()):,}",
            f"{len(triples):,}",
        )
    if true.all():
        raise DataError(f"{path}: no false triples")
    return triples[~true]
