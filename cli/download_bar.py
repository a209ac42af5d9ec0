"""A download's progress on stderr."""

from __future__ import annotations

import sys
from typing import Any

import click


class DownloadBar:
    """Called with a file's name, the bytes so far and in all (None where unknown).

    On a terminal it draws a bar for each file, elsewhere it says once what is being fetched.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._bar: Any = None

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Shows how far the file has come."""
        if name != self._name:
            self._begin(name, total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
            if done == total:
                self._bar.close()

    def _begin(self, name: str, total: int | None) -> None:
        if self._bar is not None:
            self._bar.close()
        self._name = name
        if not sys.stderr.isatty():
            click.echo(f"Fetching {name}", err=True)
            return
        from tqdm import tqdm

        self._bar = tqdm(desc=name, total=total, unit="B", unit_scale=True, file=sys.stderr)
