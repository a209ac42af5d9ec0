"""The options of a training reach its loss; what the losses compute is tested with them."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.losses.targets import Positives
from dglkgmix.training.objectives import objective
from tests.settings import settled_training


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Scores of 0 for 4 entities, the first one true: each binary term is log 2, whatever its
        # label, and each softmax is 1/4.
        ({"loss": "bce"}, 4 * 0.6931472),
        ({"loss": "bce", "label_smoothing": 0.2}, 4 * 0.6931472),
        ({"loss": "ce", "label_smoothing": 0.2}, 1.3862944),
    ],
)
def test_scores_of_zero(options, expected):
    loss = objective(settled_training(**options), None, 4)
    scores, positives = torch.zeros(1, 4), Positives(torch.tensor([0]), torch.tensor([0]))
    assert float(loss.of_scores(scores, positives)) == pytest.approx(expected)
    mask = torch.ones(1, 3, dtype=torch.bool)
    found = loss.of_candidates(scores[:, 0], scores[:, 1:], mask)
    assert float(found) == pytest.approx(expected)


@pytest.mark.parametrize("loss", ["bce", "ce"])
def test_a_mass_that_does_not_fit_is_refused(loss):
    training = settled_training(loss=loss, label_smoothing=0.1, smoothing_mass=1.0)
    with pytest.raises(ConfigError, match="smoothing_mass"):
        objective(training, None, 5)
