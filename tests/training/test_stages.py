from dglkgmix.config import Config, SwaConfig
from dglkgmix.config.toml import apply_overrides
from dglkgmix.training.stages import stages

SETTLED = [
    *("pretrain.regime=1-n", "pretrain.epochs=7", "pretrain.lr=0.5", "pretrain.input_dropout=0.9"),
    *("training.regime=1-k", "training.epochs=3", "training.lr=0.25", "strategy.name=mixup"),
    *("model.input_dropout=0.2", "swa.enabled=true"),
]


def test_two_stages_with_their_own_settings():
    config = apply_overrides(Config(), [*SETTLED, "pretrain.enabled=true"])
    first, second = stages(config)
    assert (first.name, second.name) == ("pretrain", "train")
    assert (first.training.regime, first.training.epochs, first.training.lr) == ("1-n", 7, 0.5)
    assert (second.training.regime, second.training.epochs, second.training.lr) == ("1-k", 3, 0.25)
    assert (first.model.input_dropout, second.model.input_dropout) == (0.9, 0.2)
    assert (first.strategy.name, second.strategy.name) == ("standard", "mixup")
    assert (first.swa.enabled, second.swa.enabled) == (False, True)


def test_each_stage_averages_by_its_own_numbers():
    own = ["pretrain.swa=true", "pretrain.swa_start=4", "pretrain.swa_every=2"]
    config = apply_overrides(Config(), [*SETTLED, "pretrain.enabled=true", *own, "swa.start=1"])
    first, second = stages(config)
    assert first.swa == SwaConfig(enabled=True, start=4, every=2, lr=5e-4)
    assert (second.swa.start, second.swa.every) == (1, 10)


def test_without_pretraining_or_with_a_run_in_its_place_there_is_one_stage():
    alone = apply_overrides(Config(), [*SETTLED, "pretrain.enabled=false"])
    given = apply_overrides(Config(), [*SETTLED, "pretrain.enabled=true", "pretrain.run=other"])
    for config in (alone, given):
        (only,) = stages(config)
        assert only.name == "train"
        assert only.strategy.name == "mixup"
        assert only.swa.enabled is True
