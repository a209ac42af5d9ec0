"""Names and their ids."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from dglkgmix.errors import DataError, OutOfRangeError, UnknownNameError

# difflib is slow: of more names than this only likely ones are compared
_COMPARED_AT_MOST = 20_000
# What makes a spreadsheet take a cell for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Vocabulary:
    """Names <-> ids 0..len-1. Immutable.

    ``kind`` ("entity" or "relation") is the word that error messages use.

    Raises:
        DataError: a name that is empty, no string, not expressible in UTF-8, or there twice.
    """

    def __init__(self, names: Sequence[str] | pa.Array, kind: str) -> None:
        self.kind = kind
        if not isinstance(names, pa.Array):
            if other := [name for name in names if not isinstance(name, str)]:
                what = f"{type(other[0]).__name__}: {other[0]!r}"
                raise DataError(f"{kind} names are strings, not {what}")
            try:
                names = pa.array(names, pa.large_string())
            except UnicodeEncodeError as error:
                message = f"a name of kind {kind} cannot be written as UTF-8: {error}"
                raise DataError(message) from None
        self._arrow = names
        self.names: tuple[str, ...] = tuple(names.to_pylist())
        self._ids = {name: i for i, name in enumerate(self.names)}
        if "" in self._ids:
            raise DataError(f"the {kind} with id {self._ids['']} has an empty name")
        if len(self._ids) != len(self.names):
            twice = next(name for i, name in enumerate(self.names) if self._ids[name] != i)
            raise DataError(f"the {kind} name {twice!r} occurs twice: names must be distinct")

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.kind == other.kind and self.names == other.names

    def __hash__(self) -> int:
        return hash((self.kind, self.names))

    def __getitem__(self, index: int) -> str:
        """The name of an id; OutOfRangeError (an IndexError) where no such id exists."""
        if not 0 <= index < len(self.names):
            raise OutOfRangeError(
                f"no {self.kind} with id {index}: ids run from 0 to {len(self.names) - 1}"
            )
        return self.names[index]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} names of kind {self.kind!r})"

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[list[str], str]]:
        return (Vocabulary, (list(self.names), self.kind))

    def id(self, name: str) -> int:
        """The id of a name; UnknownNameError with close matches where it does not exist."""
        try:
            return self._ids[name]
        except KeyError:
            raise UnknownNameError(self.unknown(name)) from None

    def ids(self, names: Iterable[str]) -> Tensor:
        """Ids of several names, (N,) long; UnknownNameError for the first unknown one."""
        return torch.tensor([self.id(name) for name in names], dtype=torch.long)

    def arrow(self) -> pa.Array:
        """The names as an Arrow array of type large_string, in id order."""
        return self._arrow

    def close_to(self, name: str) -> list[str]:
        """Up to three existing names that look like ``name``, best first."""
        folded = fold(str(name))
        candidates: Sequence[str] = self.names
        if len(candidates) > _COMPARED_AT_MOST:
            candidates = [
                n
                for n, other in ((n, fold(n)) for n in candidates)
                if abs(len(other) - len(folded)) <= 2
                and (other[:2] == folded[:2] or other[-2:] == folded[-2:])
            ]
        by_fold: dict[str, list[str]] = {}
        for candidate in candidates[:_COMPARED_AT_MOST]:
            by_fold.setdefault(fold(candidate), []).append(candidate)
        matches = difflib.get_close_matches(folded, by_fold, cutoff=0.6)
        return [name for match in matches for name in by_fold[match]][:3]

    def alike(self) -> list[list[str]]:
        """Names that differ in case, white space around them or Unicode form alone, by group."""
        groups: dict[str, list[str]] = {}
        for name in self.names:
            groups.setdefault(fold(name), []).append(name)
        return [group for group in groups.values() if len(group) > 1]

    def check_tsv(self, instead: str) -> None:
        """DataError for a name that TSV cannot hold; ``instead`` says what to do."""
        for letter, what in (("\t", "a tab"), ("\n", "a line feed")):
            at = pc.index(pc.match_substring(self._arrow, letter), True).as_py()
            if at >= 0:
                raise DataError(
                    f"the {self.kind} {self[at]!r} holds {what}, which TSV cannot hold: {instead}"
                )

    def unknown(self, name: str) -> str:
        """The message of an error for a name that is not here, with close matches."""
        shown, *near = shown_apart([str(name), *self.close_to(name)])
        matches = f"; close matches: {', '.join(near)}" if near else ""
        return f"unknown {self.kind} {shown}{matches}"


def shown_apart(names: Sequence[str]) -> list[str]:
    """Names in quotes; by their code points where two would look the same, as two forms of é."""
    forms = {unicodedata.normalize("NFKC", name) for name in names}
    return list(map(repr if len(forms) == len(names) else ascii, names))


def fold(name: str) -> str:
    """A name without case, outer white space and Unicode form: equal for similar names."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def safe_in_spreadsheets(name: str) -> str:
    """A name for a cell of CSV: with a leading apostrophe if it would be taken for a formula."""
    return f"'{name}" if name.startswith(_FORMULA) else name
