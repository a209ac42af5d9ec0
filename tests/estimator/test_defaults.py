"""Defaults of a constructor."""

from __future__ import annotations

from dglkgmix.estimator.defaults import parameter_defaults


class Example:
    """Two parameters."""

    def __init__(self, *, first: int = 3, second: str = "auto") -> None:
        self.first, self.second = first, second


def test_defaults_by_name() -> None:
    assert parameter_defaults(Example) == {"first": 3, "second": "auto"}
