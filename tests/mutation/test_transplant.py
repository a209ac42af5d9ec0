from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.mutation.transplant import transplant

SOURCE = """
from functools import cache, cached_property

LIMIT = 1

@cache
def doubled(x, factor=2):
    return factor * x + LIMIT - 1

class Box:
    size = 3

    @property
    def half(self):
        return self.size / 2

    @cached_property
    def third(self):
        return self.size / 3

    @staticmethod
    def zero():
        return 0

    @classmethod
    def one(cls):
        return 1
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("dglkgmix.made_up")
    made.__file__, made.__package__ = str(Path(__file__)), "dglkgmix"
    exec(compile(SOURCE, "made up", "exec"), made.__dict__)
    monkeypatch.setitem(sys.modules, "dglkgmix.made_up", made)
    return made


def test_functions_that_others_hold_run_the_new_code(module: ModuleType) -> None:
    doubled, box = module.doubled, module.Box()
    changes = {
        "factor=2": "factor=3",
        "LIMIT = 1": "LIMIT = 11",
        "size = 3": "size = 30",
        "self.size / 2": "self.size / 10",
        "self.size / 3": "self.size / 5",
        "return 0": "return 'zero'",
        "return 1": "return 'one'",
    }
    changed = SOURCE
    for old, new in changes.items():
        changed = changed.replace(old, new)
    transplant(module, ast.parse(changed))
    assert doubled(4) == 12 + 10
    assert (box.size, box.half, box.third) == (30, 3, 6)
    assert (box.zero(), module.Box.one()) == ("zero", "one")


def test_names_that_others_have_imported_change_with_it(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ModuleType("dglkgmix.other")
    other.LIMIT = module.LIMIT
    monkeypatch.setitem(sys.modules, "dglkgmix.other", other)
    transplant(module, ast.parse(SOURCE.replace("LIMIT = 1", "LIMIT = 2")))
    assert (module.LIMIT, other.LIMIT) == (2, 2)
