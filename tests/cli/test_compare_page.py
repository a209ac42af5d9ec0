from __future__ import annotations

from dglkgmix.cli.compare import compare
from dglkgmix.cli.compare_page import _p_value
from tests.cli.conftest import call, call_json


def test_differences_stand_with_interval_and_number_of_queries(run, other):
    lines = call(compare, run, other).stdout.splitlines()
    (entry,) = call_json(compare, run, other)
    assert lines[0] == f"{other} against {run}: test split, 5 distinct triples"
    part = entry["overall"]["mrr"]
    overall = next(line for line in lines if line.startswith("  MRR"))
    assert f"{part['queries']}" in overall.split()
    assert f"{part['difference']:+.4f}" in overall
    assert f"{part['ci_low']:+.4f} … {part['ci_high']:+.4f}" in overall
    assert [line.split()[:3] for line in lines if "high" in line] == [["high", "[50,∞)", "0"]] * 3
    assert lines[-1] == "  p over bins is Holm-corrected."


def test_several_runs_have_a_block_each(run, other):
    page = call(compare, run, other, other).stdout
    assert page.count(f"against {run}") == 2


def test_small_p_values_are_bounded():
    assert _p_value(1e-9) == "< 0.0001"
    assert _p_value(0.25) == "0.2500"
    assert _p_value(None) == "–"
