import pytest

from dglkgmix.cli.compare import _cells, compare
from dglkgmix.cli.evaluate import evaluate
from dglkgmix.errors import CheckpointError, ConfigError, DataError
from tests.cli.conftest import call, call_json, ring_rows


def test_each_run_is_compared_with_the_first(run, other):
    found = call_json(compare, run, other, run)
    assert [entry["run"] for entry in found] == [str(other), str(run)]
    a, b = (call_json(evaluate, path)["overall"]["mrr"] for path in (run, other))
    first = found[0]["overall"]["mrr"]
    assert (first["a"], first["b"]) == (pytest.approx(a), pytest.approx(b))
    assert first["difference"] == pytest.approx(b - a)
    assert found[0]["bins"]["high"]["mrr"]["queries"] == 0
    assert found[0]["bins"]["high"]["mrr"]["p_value"] is None


def test_one_run_is_not_enough(run):
    with pytest.raises(ConfigError, match="two runs"):
        call(compare, run)


def test_runs_on_different_data_are_refused(run, make_run):
    rows = ring_rows()
    rows["train"] = [*rows["train"][1:], ("e2", "next", "e9")]
    changed = make_run("changed", rows=rows)
    with pytest.raises(DataError, match=r"plain and .*changed come from different data"):
        call(compare, run, changed)


def test_an_empty_split_is_refused(make_run, run):
    bare = make_run("bare", rows={"train": ring_rows()["train"], "valid": [], "test": []})
    with pytest.raises(DataError, match="bare: its test split holds no triples"):
        call(compare, bare, bare)
    with pytest.raises(DataError, match="one of them has no queries of this split"):
        call(compare, run, bare)


def test_what_is_no_run_is_named(run, tmp_path):
    with pytest.raises(CheckpointError, match="nothing-here"):
        call(compare, run, tmp_path / "nothing-here")


def test_a_folder_of_runs_is_one_setting_over_seeds(run, make_run, tmp_path):
    for seed in (0, 1):
        make_run(f"seed{seed}", f"runtime.seed={seed}", folder=tmp_path)
    (entry,) = call_json(compare, run, tmp_path)
    part = entry["overall"]["mrr"]
    mrrs = [call_json(evaluate, tmp_path / f"seed{s}")["overall"]["mrr"] for s in (0, 1)]
    assert part["b"] == pytest.approx(sum(mrrs) / 2)
    assert part["b_sd"] == pytest.approx(abs(mrrs[0] - mrrs[1]) / 2**0.5)
    assert part["a_sd"] is None
    page = call(compare, run, tmp_path).stdout
    assert "(2 seeds) against" in page
    assert f"{part['b']:.4f} ± {part['b_sd']:.4f}" in page
    make_run("another", "training.loss=ce", folder=tmp_path)
    with pytest.raises(ConfigError, match=r"different settings \(another, seed0\)"):
        call(compare, run, tmp_path)


def test_a_baseline_s_rank_table_is_compared_like_a_run(run, ring_folder, tmp_path):
    path = tmp_path / "popularity.parquet"
    call(evaluate, "--baseline", "popularity", "--data", ring_folder, "--write-ranks", path)
    (entry,) = call_json(compare, path, run)
    assert entry["overall"]["mrr"]["b"] == call_json(evaluate, run)["overall"]["mrr"]


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
    assert lines[-1] == "  p over bins is Holm-corrected, intervals are not."
    assert call(compare, run, other, other).stdout.count(f"against {run}") == 2


def test_small_p_values_are_bounded():
    part = dict.fromkeys(("queries", "a", "b", "difference", "ci_low", "ci_high"), 1)
    part |= {"a_sd": None, "b_sd": None}
    shown = [_cells(part | {"p_value": value})[-1] for value in (1e-9, 0.25, None)]
    assert shown == ["< 0.0001", "0.2500", "–"]
