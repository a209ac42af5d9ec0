"""docs/reference against what the package holds: a name that is gone ends `make docs`."""

import pkgutil
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference"
NAMES = [
    name
    for page in sorted(PAGES.glob("*.md"))
    for name in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_names_what_exists(name):
    assert pkgutil.resolve_name(name).__doc__
