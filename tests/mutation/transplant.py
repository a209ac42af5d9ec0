"""Puts the code of a changed module into the module that everybody has imported already."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any


def transplant(module: ModuleType, tree: ast.Module) -> None:
    """Give functions and methods of ``module`` the code, and its names the values, of ``tree``.

    Functions stay the objects that other modules hold, so that all of them run the changed code.
    """
    fresh = ModuleType(module.__name__)
    fresh.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    code = compile(ast.fix_missing_locations(tree), str(module.__file__), "exec")
    exec(code, fresh.__dict__)
    for name, new in vars(fresh).items():
        old = vars(module).get(name)
        if isinstance(new, type) and new.__module__ == module.__name__:
            _class(old, new)
        elif not _functions(old, new) and not name.startswith("__"):
            _value(module, name, old, new)


def _class(old: Any, new: type) -> None:
    for name, value in vars(new).items():
        before = vars(old).get(name)
        if not _functions(before, value) and isinstance(value, bool | int | float | tuple | str):
            setattr(old, name, value)


def _functions(old: Any, new: Any) -> bool:
    """Whether both are functions, however wrapped: then the old one has the new one's code."""
    pairs = list(zip(_inner(old), _inner(new), strict=False))
    for before, after in pairs:
        before.__code__ = after.__code__
        before.__defaults__, before.__kwdefaults__ = after.__defaults__, after.__kwdefaults__
    return bool(pairs)


def _inner(value: Any) -> Iterator[FunctionType]:
    """The functions in a method, a property or a decorated function, innermost last."""
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, cached_property):
        value = value.func
    value = getattr(value, "__func__", value)
    while value is not None:
        if isinstance(value, FunctionType):
            yield value
        value = getattr(value, "__wrapped__", None)


def _value(module: ModuleType, name: str, old: Any, new: Any) -> None:
    """A number or table, where others have imported it by name, too."""
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").split(".")[0] == "dglkgmix":
            held = vars(other).get(name)
            if other is module or (held is old and old is not None):
                vars(other)[name] = new
