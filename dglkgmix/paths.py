"""Paths as people write them, and text files that must be UTF-8."""

from __future__ import annotations

import os
from pathlib import Path

from dglkgmix.errors import ConfigError


def path_of(path: str | Path) -> Path:
    """A path with a leading ``~`` expanded, in any locale.

    Letters that the locale cannot express, as in Python's C locale, become the bytes of UTF-8. A
    ``~name`` without such a user stays as it is.
    """
    text = os.path.expanduser(path)  # noqa: PTH111  # Path.expanduser raises for unknown users.
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        text = os.fsdecode(text.encode("utf-8", "surrogateescape"))
    return Path(text)


def read_utf8(path: str | Path) -> str:
    """The text of a settings file.

    Raises:
        ConfigError: a file that is missing, unreadable or not UTF-8, with the line.
    """
    path = path_of(path)
    try:
        data = path.read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: invalid UTF-8 (byte 0x{data[error.start]:02x}): save it as UTF-8"
        ) from None
