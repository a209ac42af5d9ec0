"""Triples as read: names with codes into them, and the numbering of entities and relations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from dglkgmix.errors import DataError
from dglkgmix.kg import ROLES
from dglkgmix.kg.vocabulary import Vocabulary

Codes = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class TripleTable:
    """N triples: ``codes`` (N, 3) int64 point into ``names``, an Arrow array of distinct strings.

    Entities and relations share the names. Rows are as the source holds them.
    """

    names: pa.Array
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def empty(cls) -> TripleTable:
        """A table without rows."""
        return cls(pa.array([], pa.large_string()), np.empty((0, 3), np.int64))

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], label: str) -> TripleTable:
        """From rows of three names; DataError "label, row 0: what" for any other row."""
        fields: list[str] = []
        for i, row in enumerate(rows):
            where = f"{label}, row {i}"
            if isinstance(row, str) or len(row) != 3:
                raise DataError(f"{where}: expected (head, relation, tail), not {row!r}")
            for role, name in zip(ROLES, row, strict=True):
                if not isinstance(name, str):
                    raise DataError(f"{where}: the {role} {name!r} is not a string")
                if not name:
                    raise DataError(f"{where}: the {role} is empty")
            fields.extend(row)
        try:
            return merge([encode_fields(pa.array(fields, pa.large_string()))])
        except UnicodeEncodeError as error:
            raise DataError(f"{label}: a name cannot be written as UTF-8: {error}") from None

    def renamed(self, change: Callable[[str], str], label: str) -> TripleTable:
        """With other names, those that become equal being one.

        Raises:
            DataError: a name of which nothing is left; the message begins with ``label``.
        """
        names = [change(name) for name in self.names.to_pylist()]
        if "" in names:
            empty = np.array([not name for name in names])[self.codes]
            row, column = np.argwhere(empty)[0]
            raise DataError(
                f"{label}: triple {row + 1}: the {ROLES[column]} holds nothing but white space"
            )
        return merge([(pa.array(names, pa.large_string()), self.codes)])

    def columns(self) -> tuple[list[str], list[str], list[str]]:
        """Names of heads, relations and tails as lists."""
        heads, relations, tails = (
            self.names.take(pa.array(column)).to_pylist() for column in self.codes.T
        )
        return heads, relations, tails


def encode_fields(fields: pa.Array) -> tuple[pa.Array, Codes]:
    """3N strings -> distinct strings and (N, 3) codes; the same string may have several codes."""
    encoded = fields.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return encoded.dictionary.cast(pa.large_string()), codes.reshape(-1, 3)


def merge(parts: Sequence[tuple[pa.Array, Codes]]) -> TripleTable:
    """Parts with names of their own -> one table with distinct names."""
    names, codes = unify([part[0] for part in parts], [part[1] for part in parts])
    return TripleTable(names, np.concatenate(codes))


def unify(names: Sequence[pa.Array], codes: Sequence[Codes]) -> tuple[pa.Array, list[Codes]]:
    """Name arrays and codes into them -> distinct names of all, and codes into those."""
    encoded = pa.concat_arrays(list(names)).dictionary_encode()
    new_codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = np.cumsum([0, *map(len, names)])[:-1]
    renumbered = [new_codes[code + offset] for code, offset in zip(codes, offsets, strict=True)]
    return encoded.dictionary, renumbered


def encode(
    train: TripleTable, valid: TripleTable, test: TripleTable
) -> tuple[Vocabulary, Vocabulary, Tensor, Tensor, Tensor]:
    """Tables of three splits -> entities, relations, and the ids (N, 3) of each split.

    Ids go by first appearance: train, valid, test; within a row the head before the tail.
    """
    tables = (train, valid, test)
    names, codes = unify([table.names for table in tables], [table.codes for table in tables])
    entities, entity_ids = _number(names, [part[:, [0, 2]] for part in codes], "entity")
    relations, relation_ids = _number(names, [part[:, 1] for part in codes], "relation")
    ids = (entity_ids, relation_ids, entity_ids)
    first, second, third = (
        torch.from_numpy(np.stack([of[c] for of, c in zip(ids, part.T, strict=True)], 1))
        for part in codes
    )
    return entities, relations, first, second, third


def _number(names: pa.Array, codes: Sequence[Codes], kind: str) -> tuple[Vocabulary, Codes]:
    """Vocabulary of the codes that occur, and for each code its id (meaningless for others)."""
    sequence = np.concatenate([part.ravel() for part in codes])
    first = np.full(len(names), len(sequence), np.int64)
    # Of several values assigned to one place the last stays: the earliest position.
    first[sequence[::-1]] = np.arange(len(sequence) - 1, -1, -1)
    present = np.flatnonzero(first < len(sequence))
    order = present[np.argsort(first[present])]
    ids = np.full(len(names), -1, np.int64)
    ids[order] = np.arange(len(order))
    return Vocabulary(names.take(pa.array(order)), kind), ids
