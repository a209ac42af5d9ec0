from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from dglkgmix.errors import NumericError
from dglkgmix.world import ALONE, BUCKETED, World
from tests.processes import together


@pytest.mark.parametrize(("count", "size"), [(10, 3), (2, 3), (0, 2), (7, 1)])
def test_parts_are_the_whole_and_of_nearly_equal_size(count: int, size: int) -> None:
    parts = [range(count)[World(index, size).part(count)] for index in range(size)]
    assert [row for part in parts for row in part] == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_dealing() -> None:
    assert [list(World(index, 3).deal("abcdefg")) for index in range(3)] == [
        ["a", "d", "g"],
        ["b", "e"],
        ["c", "f"],
    ]


def test_alone_nothing_is_sent_and_nothing_changed() -> None:
    tensor = torch.ones(3)
    state = torch.get_rng_state()
    ALONE.add_up(tensor)
    ALONE.reseed(5)
    ALONE.wait()
    assert torch.equal(tensor, torch.ones(3))
    assert torch.equal(torch.get_rng_state(), state)
    assert (ALONE.agreed(0.5), ALONE.smallest(7), ALONE.main, ALONE.claims()) == (
        0.5,
        7,
        True,
        True,
    )
    assert copy.deepcopy(ALONE) is ALONE
    with ALONE.main_first():
        pass
    with pytest.raises(NumericError, match="mine"), ALONE.together():
        raise NumericError("mine")


def talk(world: World) -> dict[str, Any]:
    small, whole, rows = torch.full((2,), world.index + 1.0), torch.tensor([world.index]), None
    large = torch.full((BUCKETED,), float(world.index))
    rows = torch.arange(6.0).view(2, 3)[:, 1:] * (world.index + 1)  # not contiguous
    world.add_up(small, whole, large, rows)
    with world.main_first():
        pass
    try:
        with world.together():
            if world.index:
                raise NumericError(f"the {world.index}th says ∞")
    except NumericError as error:
        trouble = str(error)
    world.reseed(3)
    return {
        "sums": [small.tolist(), whole.tolist(), rows.tolist(), set(large.tolist())],
        "agreed": world.agreed(world.index + 0.25),
        "smallest": world.smallest(9 - world.index),
        "trouble": trouble,
        "random": torch.rand(2).tolist(),
        "claims": world.claims(),
    }


def test_three_processes_talk() -> None:
    found = together(3, talk)
    for one in found:
        assert one["sums"] == [[6, 6], [3], [[6, 12], [24, 30]], {3}]
        assert (one["agreed"], one["smallest"]) == (0.25, 7)
        assert one["trouble"] == "the 1th says ∞"
    assert len({tuple(one["random"]) for one in found}) == 3
    assert sum(one["claims"] for one in found) == 1
