"""Paths as people write them, and text files that must be UTF-8."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dglkgmix.errors import ConfigError


def path_of(path: str | Path) -> Path:
    """A path with a leading ``~`` expanded, in any locale; ``~name`` without such a user stays."""
    expanded = os.path.expanduser(path)  # noqa: PTH111  # Path.expanduser raises for such a name.
    return Path(system_text(expanded))


def system_text(text: str) -> str:
    """Text that the system's calls take: UTF-8 where the locale cannot express it."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        with suppress(UnicodeEncodeError):  # Lone surrogates: no path of any system.
            return os.fsdecode(text.encode("utf-8", "surrogateescape"))
    return text


def readable(text: str) -> str:
    r"""The text of a path for people and files: bytes that are no UTF-8 become ``\xff``."""
    with suppress(UnicodeEncodeError):
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text.encode("utf-8", "backslashreplace").decode()


def check_ending(path: Path, endings: Sequence[str], said: str = "") -> None:
    """ConfigError unless the path, ``said`` before it, has one of the endings, in any case."""
    if path.suffix.lower() not in endings:
        listed = " or ".join(filter(None, [", ".join(endings[:-1]), endings[-1]]))
        raise ConfigError(f"{said}{path}: the name must end in {listed}")


def read_utf8(path: str | Path) -> str:
    """The text of a settings file.

    Raises:
        ConfigError: a file that is missing, unreadable or not UTF-8, with the line.
    """
    path = path_of(path)
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: invalid UTF-8 (byte 0x{data[error.start]:02x}): save it as UTF-8"
        ) from None
