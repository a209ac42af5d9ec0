"""How a file of triples is to be read, and which of its columns are the triple."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg import ROLES

FORMATS = ("tsv", "csv", "parquet", "ntriples", "turtle")
FORMS: dict[str, Literal["NFC", "NFKC"]] = {"nfc": "NFC", "nfkc": "NFKC"}
_BY_ENDING = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".nt": "ntriples",
    ".ttl": "turtle",
}
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True)
class ReadOptions:
    """Reading options, the same wherever triples are read.

    Attributes:
        columns: either what each column holds, left to right: ``head``, ``relation``, ``tail``,
            anything else (as ``_``) for a column to ignore; or, where columns have names (a
            header, Parquet), the names of the columns for head, relation and tail, in that order.
            None: three columns in the order head, relation, tail, or columns of those names.
        header: the first row of text holds names of columns.
        delimiter: one ASCII character between fields; None: a tab, in CSV a comma.
        format: one of ``FORMATS``; None: by the file's ending, TSV for an unknown one.
        strip: remove white space around names.
        normalize: a Unicode form of names, one of ``FORMS``; None leaves them as they are.

    Raises:
        ConfigError: an invalid option.
    """

    columns: Sequence[str] | None = None
    header: bool = False
    delimiter: str | None = None
    format: str | None = None
    strip: bool = False
    normalize: str | None = None

    def refuse(self, names: Sequence[str], where: object) -> None:
        """Refuse options that a file of this kind has no use for.

        Raises:
            ConfigError: one of ``names`` is given; the message begins with ``where``.
        """
        given = [f"--{name}" for name in names if getattr(self, name)]
        if given:
            raise ConfigError(f"{where}: {', '.join(given)} has no effect on it: leave it out")

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise ConfigError(f"format must be one of {', '.join(FORMATS)}, not {self.format!r}")
        if self.normalize is not None and self.normalize not in FORMS:
            raise ConfigError(
                f"normalize must be one of {', '.join(FORMS)}, not {self.normalize!r}"
            )
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0'):
            raise ConfigError(
                f"delimiter must be one ASCII character, no quote and no line end, not {mark!r}"
            )
        if self.columns is not None:
            roles = sorted(name for name in self.columns if name in ROLES)
            named = len(self.columns) == 3 == len(set(self.columns))
            if roles != list(ROLES) and not named:
                raise ConfigError(
                    f"--columns {','.join(self.columns)}: give head, relation and tail once each, "
                    "with _ for columns to ignore, or three names from the header"
                )

    @property
    def changes_names(self) -> bool:
        """Whether names are changed in reading."""
        return self.strip or self.normalize is not None

    def name(self, name: str) -> str:
        """A name as it is read: normalised and stripped where the options say so."""
        if self.normalize is not None:
            name = unicodedata.normalize(FORMS[self.normalize], name)
        return name.strip() if self.strip else name

    def format_of(self, path: Path) -> str:
        """The format of a file: the option's, else by its ending."""
        return self.format or _BY_ENDING.get(strip_compression(path).suffix.lower(), "tsv")


def strip_compression(path: Path) -> Path:
    """``train.txt.gz`` -> ``train.txt``; other paths as they are."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def is_split_file(path: Path, stems: Sequence[str]) -> bool:
    """Whether a file is named ``STEM``, ``STEM.format`` or either with a compression's ending."""
    plain = strip_compression(path)
    return plain.name in stems or (plain.stem in stems and plain.suffix.lower() in _BY_ENDING)


def choose_columns(
    columns: Sequence[str] | None, names: Sequence[str] | None, where: str
) -> tuple[int, tuple[int, int, int]]:
    """How many columns a row has and which of them are head, relation and tail.

    ``names`` are the columns' names, None without a header; ``where`` begins an error's message.

    Raises:
        DataError: named columns among which the triple cannot be found.
        ConfigError: names in ``columns`` for columns without names, or a place in ``columns``
            that contradicts the header.
    """
    if names is None:
        columns = columns or ROLES
        if not set(ROLES) <= set(columns):
            raise ConfigError(
                f"--columns {','.join(columns)} names columns, but the file has no header: add "
                "--header, or say what each column holds, as --columns head,_,relation,tail"
            )
        return len(columns), _positions(ROLES, columns)
    found = ", ".join(repr(name) for name in names)
    wanted = ROLES if columns is None else tuple(columns)
    if set(ROLES) <= set(wanted) and len(wanted) == len(names) and columns is not None:
        lower = [name.lower() for name in names]
        if any(name in ROLES and wanted[at] != name for at, name in enumerate(lower)):
            raise ConfigError(
                f"{where}: --columns {','.join(wanted)} contradicts the header, which names the "
                f"columns {found}: leave --columns out, or give three names of the header"
            )
        return len(names), _positions(ROLES, wanted)
    by_name = wanted == ROLES or not set(ROLES) <= set(wanted)
    if by_name and all(names.count(name) == 1 for name in wanted):
        return len(names), _positions(wanted, names)
    if columns is None and len(names) == 3:
        return 3, (0, 1, 2)
    if len(names) == 1:
        raise DataError(
            f"{where}: one column alone, {found}: name what separates columns with --delimiter"
        )
    absent = [name for name in wanted if name not in names] if by_name and columns else []
    what = f"no column {absent[0]!r}" if absent else "cannot tell head, relation and tail"
    raise DataError(
        f"{where}: {what} among the columns {found}: "
        "give three of these names with --columns, in the order head, relation, tail"
    )


def _positions(wanted: Sequence[str], names: Sequence[str]) -> tuple[int, int, int]:
    head, relation, tail = (list(names).index(name) for name in wanted)
    return head, relation, tail
