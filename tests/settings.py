"""Options as a settled configuration has them."""

from dglkgmix.config import ModelConfig, StrategyConfig, TrainingConfig


def settled_training(**options):
    """The paper's values where nothing else is given."""
    paper = {"loss": "bce", "optimizer": "adam", "label_smoothing": 0.1, "n3": 0.0}
    return TrainingConfig(**(paper | options))


def settled_strategy(**options):
    """The paper's weight β where nothing else is given."""
    return StrategyConfig(**({"synthetic_weight": 1.0} | options))


def settled_model(decoder, dim, **options):
    """Vectors of ``dim`` numbers and no bias where nothing else is given."""
    plain = {"entity_dim": dim, "relation_dim": dim, "input_dropout": 0.2, "bias": False}
    return ModelConfig(decoder=decoder, **(plain | options))
