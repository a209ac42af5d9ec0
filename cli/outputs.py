"""Where commands write: a place with a name, and what stands there is replaced only on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dglkgmix.errors import ConfigError
from dglkgmix.paths import check_ending, path_of

T = TypeVar("T")


class NonEmpty(click.types.StringParamType):
    """A text that is not empty, as an unset variable of the shell would make it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text, or a usage error."""
        if not str(value).strip():
            self.fail("is empty", param, ctx)
        return super().convert(value, param, ctx)


class InPath(click.Path):
    """A path that is read, as :func:`dglkgmix.paths.path_of` understands it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, or a usage error."""
        return super().convert(path_of(value), param, ctx)


class OutPath(InPath):
    """A path to write to; an empty one, which would mean the current folder, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, or a usage error."""
        if not str(value).strip():
            self.fail("is empty: name a file or folder", param, ctx)
        return super().convert(value, param, ctx)


IN, IN_FILE = InPath(), InPath(dir_okay=False)
OUT_FILE = OutPath(dir_okay=False)
OUT_FOLDER = OutPath(file_okay=False)
OUT = OutPath()


def overwrite_option(what: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Adds ``--overwrite``; ``what`` may be replaced then."""
    return click.option("--overwrite", is_flag=True, help=f"Replace {what}.")


def check_text(path: Path, option: str) -> None:
    """ConfigError for a path that is no UTF-8, which TensorBoard and SQLite cannot open."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"{option} {path}: not UTF-8 in this locale, so it cannot be opened: name another"
        ) from None


def check_new(
    path: Path | None, option: str, *, overwrite: bool, endings: tuple[str, ...] = ()
) -> None:
    """Refuse to replace a file that is not to be replaced: ``option`` names it, None for no file.

    Raises:
        ConfigError: the name has none of the ``endings``, if there are any; the file exists and
            ``overwrite`` is not set; it is part of a run; its folder does not exist; or
            ``--overwrite`` is given without anything to write.
    """
    if path is None:
        if overwrite:
            raise ConfigError(f"--overwrite has no use without {option}")
        return
    if endings:
        check_ending(path, endings, f"{option} ")
    if not path.parent.is_dir():
        why = "is a file" if path.parent.exists() else "does not exist: make it first"
        raise ConfigError(f"{option} {path}: the folder {path.parent} {why}")
    if path.exists():
        if not overwrite:
            raise ConfigError(f"{option} {path}: exists; choose another name, or pass --overwrite")
        _check_foreign(path, option)


def _check_foreign(path: Path, option: str) -> None:
    """A file of a run is never replaced by another command's."""
    from dglkgmix.files import MANIFEST, RunFolder

    for folder in (path.parent, path.parent.parent):
        if (folder / MANIFEST).exists():
            name = path.relative_to(folder).as_posix()
            if name == MANIFEST or RunFolder.open(folder).has(name):
                what = f"a file of the run {folder}; choose another name"
                raise ConfigError(f"{option} {path}: {what}")
