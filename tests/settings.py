"""Training options as a settled configuration has them."""

from dglkgmix.config import TrainingConfig


def settled_training(**options):
    """The paper's values where nothing else is given."""
    paper = {"loss": "bce", "optimizer": "adam", "label_smoothing": 0.1, "n3": 0.0}
    return TrainingConfig(**(paper | options))
