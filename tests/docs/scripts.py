"""The programs that write pages of the documentation, as modules."""

import importlib.util

from tests.conftest import ROOT

DOCS = ROOT / "docs"


def script(name):
    """The module that a file in docs/ makes, loaded anew."""
    path = DOCS / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
