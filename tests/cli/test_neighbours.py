import pytest

from dglkgmix.cli.neighbours import neighbours
from dglkgmix.errors import UnknownNameError
from dglkgmix.runs.run import Run
from tests.cli.conftest import RED, call, call_json


@pytest.mark.parametrize(("name", "kind"), [("e2", "entity"), ("next", "relation")])
def test_the_json_is_what_the_run_says(run, name, kind):
    flags = ["--relation"] if kind == "relation" else []
    found = call_json(neighbours, run, name, "--top", 2, *flags)
    expected = Run.open(run).neighbours(name, 2, relation=kind == "relation")
    assert found == {"name": name, "kind": kind, "neighbours": [vars(n) for n in expected]}
    assert len(expected) == 2


def test_the_page_marks_what_is_untrained_and_reciprocal(run):
    page = call(neighbours, run, RED, "--top", 99).stdout.splitlines()
    assert page[0] == r"\x1b[31mred"
    assert page[2].split() == ["entity", "cosine", "degree"]
    assert len(page[3:]) == 12
    assert next(row for row in page if "lone" in row).endswith("0  untrained")
    rows = call(neighbours, run, "next", "--relation").stdout.splitlines()[3:]
    assert sorted(row.split()[1] for row in rows if row.endswith("reciprocal")) == ["next", "skip"]


def test_an_unknown_name_comes_with_close_ones(run):
    with pytest.raises(UnknownNameError, match="unknown relation 'nxt'; close matches: 'next'"):
        call(neighbours, run, "nxt", "--relation")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["next"], "'next' is of kind relation, not entity: add --relation"),
        (["e2", "--relation"], "'e2' is of kind entity, not relation: leave out --relation"),
    ],
)
def test_a_name_of_the_other_kind_is_told_so(run, arguments, message):
    with pytest.raises(UnknownNameError, match=message):
        call(neighbours, run, *arguments)
