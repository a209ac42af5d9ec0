import re

import pytest

from dglkgmix.experiments import demo
from dglkgmix.kg.sources import load
from dglkgmix.runs.run import Run


@pytest.fixture
def brief(monkeypatch):
    """One epoch of a tiny model in each stage: the steps count here, not the figures."""
    tiny = (
        "model.entity_dim = 8\nruntime.threads = 1\ntraining.epochs = 1\npretrain.epochs = 1\n"
        "training.batch_size = 512\n"
    )
    text = re.sub(r"(?m)^(training|pretrain)\.(epochs|batch_size) = .*\n", "", demo.EXPERIMENT)
    monkeypatch.setattr(demo, "EXPERIMENT", text.replace("[settings]\n", f"[settings]\n{tiny}"))


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


def test_the_questions_can_be_asked_and_judged():
    kg = load("world")
    for _, head, relation in demo.QUESTIONS:
        ids = kg.entities.ids([head]), kg.relations.ids([relation])
        known = len(kg.known_index.tails_of(*ids)[1])
        trained = len(kg.train_index.tails_of(*ids)[1])
        assert known > trained, f"no fact of {head} {relation} is held out"


def test_answers_seen_in_training_are_left_out_and_held_out_ones_marked():
    kg = load("world")

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
