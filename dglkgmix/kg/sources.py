"""A SOURCE: a data set's name, a folder with train/valid/test, or one file."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Sequence
from pathlib import Path

from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.kg import SPLITS, catalog
from dglkgmix.kg.download import Progress
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.options import ReadOptions, is_split_file
from dglkgmix.kg.readers import read_triples
from dglkgmix.kg.splits import DEFAULT_FRACTIONS, Mirrors, split_table
from dglkgmix.kg.tables import TripleTable, encode
from dglkgmix.paths import path_of

DGL_ENDINGS = (".dgl", ".bin")
_STEMS = {
    "train": ("train",),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test",),
}
_log = logging.getLogger(__name__)


def load(
    source: str | Path,
    *,
    options: ReadOptions | None = None,
    split: Sequence[float] = DEFAULT_FRACTIONS,
    split_seed: int = 0,
    split_mirrors: Mirrors = "together",
    progress: Progress | None = None,
) -> KnowledgeGraph:
    """The graph of a SOURCE.

    A name of the catalog comes before a file or folder of the same name; write ``./name`` for the
    latter. A folder has a file for train and may have one for valid (or validation, val, dev) and
    one for test, each in any format. One file is split by ``split``, ``split_seed`` and
    ``split_mirrors``, see :func:`dglkgmix.kg.splits.split_table`. A folder, and a DGL binary that
    ``data convert`` wrote, keep their splits. ``progress`` is called during downloads, see
    :func:`dglkgmix.kg.catalog.fetch`.

    Raises:
        ConfigError: ``options`` for a name of the catalog, whose files need none, or a split of
            what has its own.
        UnknownNameError: neither a path nor a name of the catalog.
        DataError: a folder without train, two files for one split, or a file or folder with a
            split's name that cannot be read.
    """
    options = options or ReadOptions()
    if isinstance(source, str) and catalog.is_known(source):
        if options != ReadOptions():
            raise ConfigError(
                f"{source}: a data set of the catalog is read as it is: columns, header, "
                "delimiter, format, strip and normalize are for files of your own"
            )
        if path_of(source).exists():
            _log.warning("reading the data set %s; for the path write ./%s", source, source)
        path = catalog.fetch(source, progress=progress)
    else:
        path = path_of(source)
    if not path.exists():
        matches = difflib.get_close_matches(str(source).casefold(), catalog.names(), n=3)
        near = f"; close matches: {', '.join(matches)}" if matches else ""
        raise UnknownNameError(
            f"{source}: no such file or folder, and no data set of this name{near} "
            "(`dglkgmix data list` shows all)"
        )
    binary = path.suffix.lower() in DGL_ENDINGS and options.format is None
    if path.is_dir() or binary:
        if (tuple(split), split_seed, split_mirrors) != (DEFAULT_FRACTIONS, 0, "together"):
            raise ConfigError(
                f"{source}: a folder or a DGL binary is not split: split, split_seed and "
                "split_mirrors have no effect on it: leave them out"
            )
        if path.is_dir():
            return load_folder(path, options)
        from dglkgmix.kg.dgl_binary import load_binary

        options.refuse(("columns", "header", "delimiter", "strip", "normalize"), path)
        return load_binary(path)
    table = read_triples(path, options=options)
    if not len(table):
        below = " below its header" if options.header else ""
        raise DataError(f"{path}: no triples: the file is empty{below}")
    return KnowledgeGraph(*encode(*split_table(table, split, split_seed, split_mirrors)))


def load_folder(folder: Path, options: ReadOptions) -> KnowledgeGraph:
    """The graph of a folder with a file for each split; valid and test may be absent."""
    files = {name: find_split(folder, name) for name in SPLITS}
    if files["train"] is None:
        raise DataError(f"{folder}: no file for train (as train.txt, train.tsv, train.parquet)")
    tables = {
        name: TripleTable.empty() if file is None else read_triples(file, options=options)
        for name, file in files.items()
    }
    if not len(tables["train"]):
        raise DataError(f"{files['train']}: no triples: the training file is empty")
    return KnowledgeGraph(*encode(tables["train"], tables["valid"], tables["test"]))


def split_files(folder: Path, split: str) -> list[Path]:
    """All files that a folder has for a split: ``STEM`` or ``STEM.format``, compressed or not."""
    return sorted(p for p in folder.iterdir() if p.is_file() and is_split_file(p, _STEMS[split]))


def find_split(folder: Path, split: str) -> Path | None:
    """The file of a split, or None.

    Raises:
        DataError: several files, or only what has the split's name and cannot be read.
    """
    found = split_files(folder, split)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataError(f"{folder}: several files for {split}: {names}; keep one")
    if found:
        return found[0]
    named = (p.name for p in folder.iterdir() if p.name.lower().split(".")[0] in _STEMS[split])
    if unread := ", ".join(sorted(named)):
        raise DataError(
            f"{folder}: no file for {split} (as {split}.txt, {split}.tsv, {split}.parquet); "
            f"{unread} cannot be read as it is: unpack, rename or remove it"
        )
    return None
