import re

import pytest
import torch

from dglkgmix.cli import demo
from dglkgmix.cli.main import main
from dglkgmix.experiments import recipes
from dglkgmix.kg.sources import load
from dglkgmix.prediction.answers import Predictor
from dglkgmix.runs.run import Run


@pytest.mark.parametrize(
    ("typed", "said"),
    [("bin/dglkgmix", "bin/dglkgmix predict"), ("x/__main__.py", "Ask more: dglkgmix predict")],
)
def test_it_trains_compares_answers_and_reports(typed, said, tmp_path, monkeypatch, capsys):
    """One epoch of a tiny model in each stage; the next command is told as this one was typed."""
    tiny = "model.entity_dim = 8\ntraining.epochs = 1\npretrain.epochs = 1\n"
    tiny += "training.batch_size = 512\n"
    text = recipes.packaged_text("experiments", demo.EXPERIMENT)
    text = re.sub(r"(?m)^(training|pretrain)\.(epochs|batch_size) = .*\n", "", text)
    text = text.replace("[settings]\n", f"[settings]\n{tiny}")
    monkeypatch.setattr(recipes, "packaged_text", lambda kind, name: text)
    reported = []
    monkeypatch.setattr(
        "dglkgmix.report.page.write_report", lambda runs, out: reported.append((runs, out))
    )
    monkeypatch.setattr("sys.argv", [typed])
    out = tmp_path / "d"
    assert main(["demo", "--out", str(out), "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "1,395 entities, 26 relations" in printed
    assert "Which countries border Germany?" in printed
    assert f"Report: {out / 'report.html'}" in printed
    assert f"{said} {out / 'standard'}" in printed
    runs = [out / name for name in ("standard", "mixup")]
    for run in map(Run.open, runs):
        assert f"{run.metrics['test']['overall']['mrr']:.3f}" in printed
    assert reported == [(runs, out / "report.html")]


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
            scores = torch.zeros(1, kg.num_entities)
            scores[0, kg.known_index.tails_of(*query)[1]] = 2
            scores[0, kg.train_index.tails_of(*query)[1]] = 1
            return scores[:, start:stop]

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
    figures = ["7", "0.250", "0.500"]
    assert [line.split() for line in lines[1:]] == [
        [label, *figures] for label in ("all", "zero", "high")
    ]
