from __future__ import annotations

import json

from dglkgmix.training.early_stopping import EarlyStopping


def test_the_second_of_four_validations_is_best_and_patience_two_ends_after_the_fourth() -> None:
    stopping = EarlyStopping(patience=2)
    improved, exhausted = [], []
    for epoch, value in enumerate([0.5, 0.6, 0.4, 0.3], 1):
        improved.append(stopping.update(epoch, value))
        exhausted.append(stopping.exhausted)
    assert improved == [True, True, False, False]
    assert exhausted == [False, False, False, True]
    assert (stopping.best, stopping.best_epoch, stopping.count) == (0.6, 2, 2)


def test_a_tie_is_no_improvement_and_keeps_the_earlier_epoch() -> None:
    stopping = EarlyStopping(patience=1)
    assert stopping.update(3, 0.0)
    assert not stopping.update(6, 0.0)
    assert stopping.best_epoch == 3
    assert stopping.exhausted


def test_a_new_best_starts_the_count_again() -> None:
    stopping = EarlyStopping(patience=2)
    for epoch, value in enumerate([0.5, 0.4, 0.6, 0.5], 1):
        stopping.update(epoch, value)
    assert stopping.count == 1
    assert not stopping.exhausted


def test_patience_zero_never_stops() -> None:
    stopping = EarlyStopping(patience=0)
    for epoch in range(100):
        stopping.update(epoch, -epoch)
    assert stopping.count == 99
    assert not stopping.exhausted


def test_restart_forgets_the_best() -> None:
    stopping = EarlyStopping(patience=1)
    stopping.update(1, 0.9)
    stopping.update(2, 0.1)
    stopping.restart()
    assert not stopping.exhausted
    assert stopping.update(3, 0.2)
    assert stopping.best_epoch == 3


def test_its_state_is_plain_and_comes_back() -> None:
    stopping = EarlyStopping(patience=5)
    stopping.update(1, 1 / 3)
    stopping.update(2, 0.1)
    again = EarlyStopping(patience=5)
    again.load(json.loads(json.dumps(stopping.state())))
    assert again == stopping
