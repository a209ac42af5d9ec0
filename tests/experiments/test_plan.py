import dataclasses
from functools import lru_cache

import pytest

from dglkgmix.config import (
    Config,
    PretrainConfig,
    RuntimeConfig,
    StrategyConfig,
    SwaConfig,
    TrainingConfig,
)
from dglkgmix.config.toml import set_option
from dglkgmix.experiments.grid import parse_experiment
from dglkgmix.experiments.plan import (
    cell_config,
    describe,
    digest,
    make_plan,
    pretraining_config,
    slug,
)
from dglkgmix.experiments.recipes import packaged_text
from dglkgmix.kg.graph import KnowledgeGraph


@lru_cache
def graph(data):
    rows = [(f"e{i}", f"r{i % 2}", f"e{(i * 7 + 1) % 12}") for i in range(12)]
    return KnowledgeGraph.from_names(rows, rows[:2], rows[2:4])


def plan_of(text, **options):
    return make_plan(parse_experiment(text), graph, **options)


HEAD = """
[experiment]
name = "x"
seeds = [0, 1]
[grid]
data = ["world"]
model = ["distmult"]
"""


def test_one_pretraining_for_all_cells_that_can_share_it():
    plan = plan_of(
        HEAD
        + """
strategy = ["two-stage", "mixup", "lambda-1", "long"]
[variants.two-stage]
strategy.name = "standard"
pretrain.enabled = true
[variants.lambda-1]
strategy.name = "mixup"
strategy.fixed_lambda = 1.0
training.regime = "1-k"
[variants.long]
strategy.name = "mixup"
pretrain.epochs = 7
[settings]
pretrain.epochs = 3
pretrain.batch_size = 4
training.optimizer = "adam"
pretrain.validate_every = 1
"""
    )
    by_cell = {(c.axes["strategy"], c.seed): plan.trainings[c.training] for c in plan.cells}
    assert len(plan.cells) == 8
    assert len(plan.trainings) == 8 + 4  # two pre-trainings for each of two seeds
    needs = {key: training.needs for key, training in by_cell.items()}
    for seed in (0, 1):
        first = needs["mixup", seed]
        assert first == needs["two-stage", seed] == needs["lambda-1", seed]
        assert first != needs["long", seed]
        config = plan.trainings[first].config
        assert config.strategy.name == "standard"
        assert (config.training.epochs, config.runtime.seed) == (3, seed)
        assert config.pretrain.enabled is config.swa.enabled is False
    assert len(set(needs.values())) == 4
    order = list(plan.trainings)
    for training in plan.trainings.values():
        if training.needs:
            assert order.index(training.needs) < order.index(training.name)


def test_a_standard_cell_can_be_the_pretraining():
    plan = plan_of(HEAD + 'strategy = ["mixup", "standard"]')
    names = {(c.axes["strategy"], c.seed): c.training for c in plan.cells}
    assert len(plan.trainings) == 4
    for seed in (0, 1):
        assert plan.trainings[names["mixup", seed]].needs == names["standard", seed]
        assert names["standard", seed].startswith(f"world_distmult_standard_s{seed}-")


def test_the_papers_grids_share_as_the_paper_does(monkeypatch):
    # The stand-in graph is smaller than the batches that these settings name.
    monkeypatch.setattr("dglkgmix.experiments.plan.validate_for", lambda config, kg: None)
    main = plan_of(packaged_text("experiments", "paper-main"))
    assert (len(main.cells), len(main.trainings)) == (30, 30)
    mixup = [c for c in main.cells if c.axes["strategy"] == "mixup"]
    standard = {
        (c.axes["data"], c.axes["model"]): c.training
        for c in main.cells
        if c.axes["strategy"] == "standard"
    }
    for cell in mixup:
        needs = main.trainings[cell.training].needs
        assert needs == standard[cell.axes["data"], cell.axes["model"]]
    parameters = plan_of(packaged_text("experiments", "paper-parameters"))
    assert (len(parameters.cells), len(parameters.trainings)) == (12, 14)
    ablation = plan_of(packaged_text("experiments", "paper-ablation"))
    assert (len(ablation.cells), len(ablation.trainings)) == (10, 10)
    kinds = {
        c.axes["strategy"]: (t.config.strategy.name, t.config.swa.enabled, bool(t.needs))
        for c in ablation.cells
        for t in [ablation.trainings[c.training]]
    }
    assert kinds == {
        "standard": ("standard", False, False),
        "two-stage": ("standard", False, True),
        "swa": ("standard", True, True),
        "augmentation": ("mixup", False, True),
        "mixup": ("mixup", True, True),
    }


def test_names_follow_settings_and_not_the_machine():
    text = HEAD + 'strategy = ["standard"]\n[settings]\ntraining.epochs = 2\n'
    names = list(plan_of(text).trainings)
    assert list(plan_of(text + 'runtime.device = "cpu"\nruntime.threads = 1').trainings) == names
    others = list(plan_of(text + "training.lr = 0.5").trainings)
    assert not set(names) & set(others)
    assert [n.rpartition("-")[0] for n in names] == [n.rpartition("-")[0] for n in others]


def test_jobs_share_the_threads_unless_a_number_is_given():
    import torch

    text = HEAD + 'strategy = ["standard"]\n'
    threads = torch.get_num_threads()

    def used(text, jobs):
        return next(iter(plan_of(text, jobs=jobs).trainings.values())).config.runtime.threads

    assert used(text, 1) == threads
    assert used(text, 2) == max(1, threads // 2)
    assert used(text + "[settings]\nruntime.threads = 3", 2) == 3


def test_later_layers_win():
    experiment = parse_experiment(
        HEAD.replace('["distmult"]', '["conve", "tucker"]')
        + """
strategy = ["mixup", "mine"]
"training.lr" = [0.5, 0.25]
[settings]
recipe = "codex-s-{model}"
training.epochs = 5
model.input_dropout = 0.1
[variants.mine]
recipe = "fb15k-237-{model}-mixup"
model.input_dropout = 0.4
"""
    )
    cells = {
        (c["model"], c["strategy"], c["training.lr"]): cell_config(experiment, c, 3)
        for c in experiment.combinations()
    }
    conve = cells["conve", "mixup", 0.25]
    assert (conve.data.source, conve.model.decoder) == ("world", "conve")
    assert (conve.training.lr, conve.training.epochs) == (0.25, 5)
    assert (conve.model.input_dropout, conve.model.hidden_dropout) == (0.1, 0.3)
    assert (conve.strategy.name, conve.runtime.seed) == ("mixup", 3)
    mine = cells["conve", "mine", 0.5]
    assert (mine.model.input_dropout, mine.model.hidden_dropout) == (0.4, 0.5)
    assert (mine.strategy.name, mine.training.batch_size) == ("mixup", 128)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("training.lr = -1.0", r"^world, distmult, standard, seed 0: .*training\.lr"),
        (
            "training.batch_size = 99",
            r"^world, distmult, standard, seed 0: .*batch_size 99 exceeds",
        ),
        ("training.lr = 'x'", r"^world, distmult, standard, seed 0: training\.lr: expected"),
        ("recipe = 'codex'", "unknown recipe 'codex'"),
    ],
)
def test_what_makes_no_sense_names_the_cell(extra, message):
    with pytest.raises(ValueError, match=message):
        plan_of(HEAD + f'strategy = ["standard"]\n[settings]\n{extra}')


def test_a_digest_leaves_out_what_a_training_does_not_read():
    off = Config(pretrain=PretrainConfig(enabled=False), swa=SwaConfig(enabled=False))
    same = dataclasses.replace(
        off,
        pretrain=PretrainConfig(enabled=False, epochs=3),
        swa=SwaConfig(enabled=False, every=3),
        strategy=StrategyConfig(threshold=9),
        runtime=RuntimeConfig(device="cuda", threads=7),
        training=TrainingConfig(negatives=7, filtered=False, group_queries=True),
    )
    assert digest(same) == digest(off)
    for option, value in [
        ("training.lr", 0.5),
        ("runtime.seed", 1),
        ("runtime.precision", "bf16"),
        ("data.source", "x"),
        ("pretrain.enabled", True),
        ("swa.enabled", True),
        ("strategy.name", "focal"),
    ]:
        assert digest(set_option(off, option, value)) != digest(off), option
    negatives = set_option(off, "training.regime", "1-k")
    assert digest(negatives) != digest(set_option(negatives, "training.negatives", 7))
    mixup = set_option(off, "strategy.name", "mixup")
    assert digest(mixup) != digest(set_option(mixup, "strategy.threshold", 9))


def test_the_first_stage_as_a_training_of_its_own():
    config = Config(
        training=TrainingConfig(lr=0.1, epochs=9),
        pretrain=PretrainConfig(enabled=True, lr=0.2, regime="1-k", input_dropout=0.7),
    )
    first = pretraining_config(config)
    assert (first.training.lr, first.training.regime) == (0.2, "1-k")
    assert first.model.input_dropout == 0.7
    assert pretraining_config(first) is None
    averaged = pretraining_config(set_option(config, "pretrain.swa", True))
    assert averaged.swa == SwaConfig(enabled=True)
    assert pretraining_config(set_option(config, "pretrain.run", "some/run")) is None


def test_words_and_slugs():
    axes = {"data": "a/b.tsv", "model": "conve", "encoder": "rgcn", "strategy": "mixup"}
    assert describe(axes, 2) == "a/b.tsv, rgcn+conve, mixup, seed 2"
    assert describe({**axes, "training.lr": 0.1}, 2).endswith("mixup, training.lr = 0.1, seed 2")
    assert [slug(s) for s in ("world", "../x/codex-s/", "a/b.tsv", "/")] == [
        *("world", "codex-s", "b", "data"),
    ]


def test_folder_names_are_short_and_hold_no_odd_characters():
    text = HEAD.replace("world", "my data/gräf.tsv") + 'strategy = ["k = 1"]\n'
    text += '[variants."k = 1"]\nstrategy.partners = 1\n'
    assert next(iter(plan_of(text).trainings)).startswith("gr-f_distmult_k-=-1_s0-")
    short, long = plan_of(text), plan_of(text.replace("k = 1", "k" * 300))
    # What is cut off may be the seed: the digest tells the trainings apart.
    assert len(long.trainings) == len(short.trainings) == 2
    assert max(map(len, long.trainings)) < 200
