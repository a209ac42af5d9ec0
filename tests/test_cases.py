"""Every case of the list of known faults has a test that is there."""

import ast
from functools import cache

from tests.conftest import ROOT, read_toml

# The list's numbers; some were dropped, so it has gaps.
NUMBERS = [
    *(1, 2, 3, 6, 7, 9, 10, 11, 12, 14, 15, 17, 18, 19, 21, 23, 24, 26, 27),
    *(31, 32, 33, 34, 37, 38, 39, 43, 44, 45, 47, *range(48, 71)),
]
CASES = read_toml(ROOT / "tests" / "cases.toml")["case"]


@cache
def nodes(file):
    """The tests of a file as pytest names them, without parameters."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)}
    return found


def test_every_case_stands_in_the_table_once():
    assert [case["number"] for case in CASES] == NUMBERS


def test_every_case_has_tests_that_are_there():
    named = [(case["number"], *test.split("::", 1)) for case in CASES for test in case["tests"]]
    missing = [f"case {n}: {file}::{node}" for n, file, node in named if node not in nodes(file)]
    assert missing == []
    assert all(case["tests"] and case["what"] for case in CASES)


def test_no_case_rests_on_a_test_that_is_left_out_of_the_ordinary_run():
    for case in CASES:
        for test in case["tests"]:
            file, node = test.split("::", 1)
            assert not is_long(file, node.split("::")[-1]), test


def is_long(file, function):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return any(
        "mark.long" in ast.unparse(decorator)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == function
        for decorator in node.decorator_list
    )
