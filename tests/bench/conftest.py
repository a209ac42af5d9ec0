import pytest

from bench.generated import generated


@pytest.fixture
def graph():
    return generated(entities=12, relations=3, triples=60, held_out=4)
