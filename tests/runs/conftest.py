"""The runs that are read here are those that training leaves."""

from tests.training.conftest import _no_sync, graph, settings, timeless, unvalidated, weights

__all__ = ["_no_sync", "graph", "settings", "timeless", "unvalidated", "weights"]
