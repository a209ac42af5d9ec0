"""The runs that are read here are those that training leaves."""

import pytest

from dglkgmix.files import RunFolder
from tests.training.conftest import Stop, _no_sync, graph, settings, unvalidated

__all__ = ["Stop", "_no_sync", "graph", "settings", "unvalidated"]


@pytest.fixture
def folder(tmp_path):
    """An empty run folder, open for writing."""
    with RunFolder.create(tmp_path / "run") as made:
        yield made
