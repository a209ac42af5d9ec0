"""Prints pins to the lowest versions that pyproject.toml allows, for `make test-oldest`."""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What users may install; the tools of developers are not part of the promise.
EXTRAS = ("rdf", "tracking", "tune")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)>=(?P<lowest>[^,; ]+)[^;]*(?P<marker>;.*)?")


def lowest(requirement):
    """``name==lowest; marker`` for ``name>=lowest,...; marker``."""
    found = REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} states no lowest version")
    return f"{found['name']}=={found['lowest']}{found['marker'] or ''}"


def pins(pyproject):
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = [item for name in EXTRAS for item in project["optional-dependencies"][name]]
    return [lowest(requirement) for requirement in project["dependencies"] + extras]


if __name__ == "__main__":
    print("\n".join(pins(Path(sys.argv[1]))))
