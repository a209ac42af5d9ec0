"""Small changes to a program, each of which a test ought to notice."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.MatMult: ast.Mult,
}
Change = Callable[[Any], None]


@dataclass(frozen=True)
class Mutant:
    """One changed place of a module.

    Attributes:
        line: where.
        before, after: the expression or statement, as source.
        tree: the whole changed module.
    """

    line: int
    before: str
    after: str
    tree: ast.Module


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a module, each with one change.

    Texts are left alone, as most are messages, and so are types, which nothing runs.
    """
    tree = ast.parse(source)
    idle = {id(node) for part in idle_parts(tree) for node in ast.walk(part)}
    for place, node in enumerate(ast.walk(tree)):
        for change in changes(node) if id(node) not in idle else ():
            changed = copy.deepcopy(tree)
            target = list(ast.walk(changed))[place]
            before = shown(target)
            change(target)
            yield Mutant(node.lineno, before, shown(target), changed)


def changes(node: Any) -> list[Change]:
    """What can be done to a node, as functions that do it in place."""
    kinds = [found for kind, found in KINDS.items() if isinstance(node, kind)]
    return [change for found in kinds for change in found(node)]


def idle_parts(tree: ast.Module) -> Iterator[ast.AST]:
    """Annotations and what stands under ``if TYPE_CHECKING``."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if part is not None:
                yield part
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield node


def shown(node: Any) -> str:
    """Source of a node; of a statement with a body, its test alone."""
    return ast.unparse(node.test if isinstance(node, ast.If | ast.While) else node)


def _comparison(node: ast.Compare) -> list[Change]:
    def turn(place: int) -> Change:
        return lambda n: n.ops.__setitem__(place, COMPARISONS[type(n.ops[place])]())

    return [turn(place) for place in range(len(node.ops))]


def _operator(node: ast.BinOp | ast.AugAssign) -> list[Change]:
    if type(node.op) not in OPERATORS:
        return []
    return [lambda n: setattr(n, "op", OPERATORS[type(n.op)]())]


def _all_or_any(node: ast.BoolOp) -> list[Change]:
    return [lambda n: setattr(n, "op", ast.Or() if isinstance(n.op, ast.And) else ast.And())]


def _sign(node: ast.UnaryOp) -> list[Change]:
    """``not x``, ``-x`` and ``~x`` applied twice: as if they were not there."""
    return [lambda n: setattr(n, "operand", ast.UnaryOp(type(n.op)(), n.operand))]


def _condition(node: ast.If | ast.IfExp | ast.While) -> list[Change]:
    return [lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))]


def _constant(node: ast.Constant) -> list[Change]:
    """Numbers grow by one, truths turn round."""
    if isinstance(node.value, bool):
        return [lambda n: setattr(n, "value", not n.value)]
    if isinstance(node.value, int | float):
        return [lambda n: setattr(n, "value", n.value + 1)]
    return []


def _call(node: ast.Expr) -> list[Change]:
    """A call for its effect alone is left out."""
    if not isinstance(node.value, ast.Call):
        return []
    return [lambda n: setattr(n, "value", ast.Constant(None))]


def _result(node: ast.Return) -> list[Change]:
    if node.value is None:
        return []
    return [lambda n: setattr(n, "value", ast.Constant(None))]


KINDS: dict[Any, Callable[[Any], list[Change]]] = {
    ast.Compare: _comparison,
    ast.BinOp: _operator,
    ast.AugAssign: _operator,
    ast.BoolOp: _all_or_any,
    ast.UnaryOp: _sign,
    ast.If: _condition,
    ast.IfExp: _condition,
    ast.While: _condition,
    ast.Constant: _constant,
    ast.Expr: _call,
    ast.Return: _result,
}
