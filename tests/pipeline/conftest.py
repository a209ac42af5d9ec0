import pytest

from dglkgmix.pipeline.ids import GraphIds
from tests.pipeline.graphs import medical


@pytest.fixture
def ids():
    """Of a graph of its own."""
    return GraphIds(medical())
