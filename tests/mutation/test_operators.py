from __future__ import annotations

import ast
import textwrap

from tests.mutation.operators import mutants

SOURCE = """
from __future__ import annotations

def clip(x: int | None, low: float = 0.5) -> int | None:
    \"\"\"A text.\"\"\"
    if x is None or not x < 3:
        print("out")
    return -x + 1
"""


def test_each_place_is_changed_once_and_types_and_texts_are_not() -> None:
    found = {(mutant.line, mutant.before, mutant.after) for mutant in mutants(SOURCE)}
    assert found == {
        (4, "0.5", "1.5"),
        (6, "x is None or not x < 3", "not (x is None or not x < 3)"),
        (6, "x is None or not x < 3", "x is None and (not x < 3)"),
        (6, "x is None", "x is not None"),
        (6, "not x < 3", "not not x < 3"),
        (6, "x < 3", "x <= 3"),
        (6, "3", "4"),
        (7, "print('out')", "None"),
        (8, "return -x + 1", "return None"),
        (8, "-x + 1", "-x - 1"),
        (8, "-x", "--x"),
        (8, "1", "2"),
    }


def test_the_rest_of_the_module_stays() -> None:
    for mutant in mutants(SOURCE):
        changed = ast.unparse(mutant.tree)
        plain = ast.unparse(ast.parse(textwrap.dedent(SOURCE)))
        differing = [
            pair
            for pair in zip(changed.splitlines(), plain.splitlines(), strict=True)
            if pair[0] != pair[1]
        ]
        assert len(differing) == 1
        compile(ast.fix_missing_locations(mutant.tree), "changed", "exec")
