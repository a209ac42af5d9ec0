"""A small fitted estimator over a few countries."""

import numpy as np
import pytest

from dglkgmix.estimator import KGCompleter

SMALL = {
    "model": "distmult",
    "epochs": 2,
    "batch_size": 32,
    "config": {"model": {"entity_dim": 8, "relation_dim": 8}},
}


def countries(count=12):
    """A ring of borders, a continent for each and two that share a language: strings (n, 3)."""
    names = [f"country {i}" for i in range(count)]
    rows = [(names[i], "borders", names[(i + 1) % count]) for i in range(count)]
    rows += [(names[(i + 1) % count], "borders", names[i]) for i in range(count)]
    rows += [(name, "continent", f"continent {i % 3}") for i, name in enumerate(names)]
    rows += [(name, "language", f"language {i // 2}") for i, name in enumerate(names)]
    return np.array(rows, dtype=object)


@pytest.fixture(scope="session")
def triples():
    return countries()


@pytest.fixture(scope="session")
def fitted(triples):
    return KGCompleter(**SMALL).fit(triples)
