import pytest

from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.experiments import demo
from dglkgmix.experiments.grid import parse_experiment
from dglkgmix.experiments.plan import cell_config, digest
from dglkgmix.experiments.recipes import packaged_text
from dglkgmix.kg.sources import load
from dglkgmix.runs.run import Run
from dglkgmix.training.defaults import resolve


@pytest.fixture
def brief(monkeypatch):
    """One epoch of a tiny model in each stage: the steps count here, not the figures."""
    tiny = (
        "model.decoder=distmult",
        "model.entity_dim=8",
        "training.epochs=1",
        "training.batch_size=512",
        "runtime.threads=1",
    )
    monkeypatch.setattr(demo, "SETTINGS", ("data.source=world", *tiny))
    monkeypatch.setattr(demo, "RUNS", {"standard": (), "mixup": ("strategy.name=mixup",)})


def test_it_trains_compares_answers_and_reports(brief, tmp_path, monkeypatch):
    reported = []
    monkeypatch.setattr(demo, "write_report", lambda runs, out: reported.append((runs, out)))
    said = []
    accounts = demo.run_demo(tmp_path / "demo", say=said.append)
    assert list(accounts) == ["standard", "mixup"]
    text = "\n".join(said)
    assert "1,395 entities, 26 relations" in text
    assert "Which countries border Germany?" in text
    for name in ("standard", "mixup"):
        run = Run.open(tmp_path / "demo" / name)
        assert run.finished
        assert f"{run.metrics['test']['overall']['mrr']:.3f}" in text
    runs = [tmp_path / "demo" / name for name in ("standard", "mixup")]
    assert reported == [(runs, tmp_path / "demo" / "report.html")]


def test_the_experiment_over_seeds_trains_what_the_demo_trains():
    experiment = parse_experiment(packaged_text("experiments", "evidence-world"))
    kg = load(demo.GRAPH)
    assert experiment.axes["data"] == (demo.GRAPH,)
    for name, overrides in demo.RUNS.items():
        (axes,) = [axes for axes in experiment.combinations() if axes["strategy"] == name]
        ours = cell_config(experiment, axes, seed=3)
        theirs = apply_overrides(Config(), [*demo.SETTINGS, *overrides, "runtime.seed=3"])
        assert digest(resolve(ours, kg)) == digest(resolve(theirs, kg)), name


def test_the_questions_can_be_asked_and_judged():
    kg = load(demo.GRAPH)
    for _, head, relation in demo.QUESTIONS:
        ids = kg.entities.ids([head]), kg.relations.ids([relation])
        known = len(kg.known_index.tails_of(*ids)[1])
        trained = len(kg.train_index.tails_of(*ids)[1])
        assert known > trained, f"no fact of {head} {relation} is held out"


def test_answers_seen_in_training_are_left_out_and_held_out_ones_marked():
    kg = load(demo.GRAPH)

    class Oracle:
        """Scores entities by how well their facts are known: held out, then trained, then none."""

        num_entities = kg.num_entities

        def query(self, heads, relations):
            return heads, relations

        def scores(self, query, start, stop):
            import torch

            scores = torch.zeros(1, kg.num_entities)
            scores[0, kg.known_index.tails_of(*query)[1]] = 2
            scores[0, kg.train_index.tails_of(*query)[1]] = 1
            return scores[:, start:stop]

    from dglkgmix.prediction.answers import Predictor

    answers = demo.new_answers(Predictor(kg, Oracle()), "Germany", "borders")
    assert len(answers) == demo.ANSWERS
    assert {name for name, right in answers if right} == {"France", "Luxembourg"}
    assert [right for _, right in answers] == [True, True, False, False, False, False]
    assert not {"Poland", "Germany"} & set(dict(answers))


def test_a_comparison_has_a_column_a_run_and_a_row_a_bin():
    def account(mrr):
        group = {"mrr": mrr, "queries": 7}
        return {"overall": group, "bins": {"zero": group, "high": group}}

    lines = demo.comparison({"standard": account(0.25), "mixup": account(0.5)}).splitlines()
    assert lines[0].split()[-3:] == ["queries", "standard", "mixup"]
    assert [line.split() for line in lines[1:]] == [
        ["all", "7", "0.250", "0.500"],
        ["zero", "7", "0.250", "0.500"],
        ["high", "7", "0.250", "0.500"],
    ]
