import math

import pytest
import torch

from dglkgmix.errors import NumericError
from dglkgmix.runs.results import Validation
from dglkgmix.training.batch_loss import LossTerms
from dglkgmix.training.epoch_meter import EpochMeter


def terms(kg, mixed, positives, samples):
    loss = torch.tensor(kg + 2 * mixed, requires_grad=True)
    return LossTerms(loss, torch.tensor(kg), torch.tensor(mixed), positives, samples)


def test_a_row_holds_means_over_batches_and_sums_of_counts():
    meter = EpochMeter("train", 7, 0.5)
    meter.add(terms(1.0, 0.5, 10, 3), torch.tensor(2.0))
    meter.add(terms(3.0, 1.5, 5, 0), torch.tensor(6.0))
    row = meter.row(valid=Validation(0.25, 0.125), averaged=4)
    assert (row.stage, row.epoch, row.lr, row.batches) == ("train", 7, 0.5, 2)
    assert (row.loss, row.kg_loss, row.synthetic_loss) == (4.0, 2.0, 1.0)
    assert (row.positives, row.synthetic_samples) == (15, 3)
    assert (row.gradient_norm, row.gradient_norm_max) == (4.0, 6.0)
    assert (row.valid_mrr, row.valid_goal, row.averaged) == (0.25, 0.125, 4)
    assert row.seconds > 0


@pytest.mark.parametrize(
    ("loss", "norm", "what"),
    [
        (math.nan, 1.0, "loss is nan"),
        (-math.inf, 1.0, "loss is -inf"),
        (1.0, math.inf, "gradient norm is inf"),
    ],
)
def test_what_is_not_finite_is_refused_with_epoch_and_batch(loss, norm, what):
    meter = EpochMeter("pretrain", 3, 0.5)
    meter.add(terms(1.0, 0.5, 10, 3), torch.tensor(2.0))
    with pytest.raises(NumericError, match=f"{what} in epoch 3, batch 2 of stage 'pretrain'"):
        meter.add(terms(loss, 0.5, 10, 3), torch.tensor(norm))


def test_figures_read_together_name_the_first_bad_batch():
    meter = EpochMeter("train", 1, 0.5, interval=3)
    meter.add(terms(1.0, 0.0, 1, 0), torch.tensor(1.0))
    meter.add(terms(math.nan, 0.0, 1, 0), torch.tensor(1.0))
    with pytest.raises(NumericError, match=r"loss is nan in epoch 1, batch 2"):
        meter.add(terms(math.inf, 0.0, 1, 0), torch.tensor(1.0))
    meter = EpochMeter("train", 1, 0.5, interval=3)
    meter.add(terms(math.nan, 0.0, 1, 0), torch.tensor(1.0))
    with pytest.raises(NumericError, match=r"batch 1"):
        meter.finish()


def test_reading_together_changes_no_figure():
    rows = []
    for interval in (1, 2, 7):
        meter = EpochMeter("train", 1, 0.5, interval=interval)
        for i in range(5):
            meter.add(terms(i + 0.1, i / 3, 2, 1), torch.tensor(float(i)))
        row = meter.row(valid=None, averaged=0)
        rows.append((row.loss, row.kg_loss, row.synthetic_loss, row.gradient_norm, row.batches))
    assert rows[0] == rows[1] == rows[2]
