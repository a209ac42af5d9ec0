"""What is declared of an option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from dglkgmix.config.option import AT_LEAST_1, BELOW_1, declared, option
from dglkgmix.errors import ConfigError


class Options:
    angle: float = option(1.0, "A turn.", bounds=BELOW_1)
    count: int | Literal["auto"] = option("auto", "How many.", flag="count", auto="by size")
    kind: Literal["a", "b"] = option("a", "Which.")
    plain: int = 3


@dataclass(frozen=True)
class Table:
    number: int = option(5, "A number.", bounds=AT_LEAST_1)
    other: str = ""


def test_a_plain_class_and_a_dataclass_declare_alike() -> None:
    found = declared(Options, "model")
    assert list(found) == ["angle", "count", "kind"]  # what option() made, in its order
    angle = found["angle"]
    assert (angle.key, angle.name, angle.default, angle.types) == (
        "model.angle", "angle", 1.0, (float,)
    )  # fmt: skip
    assert found["kind"].choices == ("a", "b")
    assert list(declared(Table, "t")) == ["number"]
    assert Table().number == 5
    assert declared(Table, "t")["number"].bounds is AT_LEAST_1


def test_a_default_that_is_a_word_is_an_allowed_word() -> None:
    assert declared(Options, "m")["count"].words == ("auto",)
    assert declared(Options, "m")["angle"].words == ()


@pytest.mark.parametrize(("value", "holds"), [(0, True), (0.99, True), (1, False), (-0.1, False)])
def test_bounds(value: float, holds: bool) -> None:
    assert BELOW_1.holds(value) is holds


def test_bounds_that_are_none_are_refused_where_they_are_declared() -> None:
    with pytest.raises(ConfigError, match=r"'A turn.' must be a Bounds, .* not \(0.0, 10.0\)"):
        option(1.0, "A turn.", bounds=(0.0, 10.0))
