import pytest

from dglkgmix.experiments import estimate as module
from dglkgmix.experiments.estimate import estimate
from dglkgmix.experiments.execute import load_graph


def test_an_estimate_is_steps_and_validations_times_their_cost(plan, monkeypatch):
    probed = []

    def probe(kg, config, stage):
        probed.append((config.strategy.name, stage.training.regime))
        return 5, 0.5, 3.0

    monkeypatch.setattr(module, "_probe", probe)
    said = []
    found = {e.name: e for e in estimate(plan.trainings, load_graph, said.append)}
    assert set(found) == set(plan.trainings)
    # 2 epochs of 5 batches; 2 validations, 1 of the last model and 1 for the test triples.
    standard = next(e for name, e in found.items() if "_standard_s0" in name)
    assert (standard.steps, standard.seconds) == (10, 10 * 0.5 + 4 * 3.0)
    first = next(e for name, e in found.items() if "pretrain" in name)
    assert (first.steps, first.seconds) == (5, 5 * 0.5 + 3 * 3.0)
    # Seeds and learning rates share a probe; what a two-stage run does itself is standard.
    assert len(said) == len(probed)
    assert probed == [("standard", "1-k"), ("standard", "1-n"), ("mixup", "1-k")]


def test_a_probe_trains_nothing_and_measures_something(plan):
    name = next(name for name in plan.trainings if "_mixup_s0" in name)
    (found,) = estimate({name: plan.trainings[name]}, load_graph, lambda line: None)
    kg = load_graph(plan.trainings[name].config.data)
    assert found.steps == 2 * -(-kg.num_edges // 16)
    assert 0 < found.seconds < 60


def test_the_clock_leaves_the_first_batches_out_and_stops(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    clock, steps = module._Clock(), []
    for seconds in (9.0, 9.0, 0.5, 0.5, 0.5):
        now[0] += seconds
        clock.batch(1)
        steps.append(clock.step)
    # While there are no others, the first ones have to do.
    assert steps == pytest.approx([9, 9, 0.5, 0.5, 0.5])
    now[0] += module.SECONDS
    with pytest.raises(module._EnoughError):
        clock.batch(1)
