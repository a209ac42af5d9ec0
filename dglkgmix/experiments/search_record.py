"""Which search a folder belongs to: its best recipe is that of one goal, space and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from dglkgmix.errors import OVERWRITE, CheckpointError
from dglkgmix.files import write_atomic

RECORD = "search.json"
_SHOWN = 3


def claim(out: Path, content: Mapping[str, str], result: str, *, overwrite: bool = False) -> None:
    """Take the folder for the search that ``content`` describes, or find it taken by that one.

    Args:
        out: the folder, which exists.
        content: by name, in words, what makes the search this one and no other.
        result: the file in it that the search will replace.
        overwrite: whether another search may give way.

    Raises:
        CheckpointError: the folder is another search's, or the result somebody's else.
    """
    path = out / RECORD
    if not overwrite:
        if not path.exists() and (out / result).exists():
            raise CheckpointError(f"{out / result}: exists, and of no known search. {_ADVICE}")
        _compare(out, _read(path), content)
    write_atomic(path, json.dumps(dict(content), indent=1, ensure_ascii=False).encode())


def _read(path: Path) -> dict[str, str] | None:
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: damaged. {_ADVICE}")
    return found


def _compare(out: Path, before: Mapping[str, str] | None, now: Mapping[str, str]) -> None:
    if before is None:
        return
    names = [name for name in [*now, *before] if before.get(name) != now.get(name)]
    changes = [
        f"{name} was {before.get(name, 'left out')} and is {now.get(name, 'left out')} now"
        for name in dict.fromkeys(names)
    ]
    if changes:
        more = len(changes) - _SHOWN
        shown = "; ".join(changes[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise CheckpointError(f"{out}: holds another search: {shown}. {_ADVICE}")


_ADVICE = (
    f"Choose another folder, or pass {OVERWRITE} to replace the best recipe (older trials stay)"
)
