"""Griffe extension: docstrings as they are written here, in the form that griffe reads."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?([^`]+)`")
# Several names with one description; griffe would take the second for the type of the first.
_NAMES = re.compile(r"^ +\w+(?:, \w+)+:", re.MULTILINE)
NO_BREAK = "\N{NO-BREAK SPACE}"


class Docstrings(Extension):
    """Roles, as in :class:`a.b.C`, become plain code; lists of names stay together."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of an object that has been read."""
        if obj.docstring is not None:
            text = _ROLE.sub(_code, obj.docstring.value)
            obj.docstring.value = _NAMES.sub(_together, text)


def _code(role: re.Match[str]) -> str:
    return f"`{role[1].rpartition('.')[2]}`"


def _together(names: re.Match[str]) -> str:
    return names[0].replace(", ", f",{NO_BREAK}")
