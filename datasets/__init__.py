"""Data only: the catalog and the bundled graph."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def path(name: str = "") -> Path:
    """Where a file or folder of the package lies, as ``catalog.toml`` or ``world``."""
    return Path(str(files(__name__))) / name
