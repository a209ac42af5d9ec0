from __future__ import annotations

import pytest

from bench.generated import generated
from dglkgmix.kg.graph import KnowledgeGraph


@pytest.fixture
def graph() -> KnowledgeGraph:
    return generated(entities=12, relations=3, triples=60, held_out=4)
