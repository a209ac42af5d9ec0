import pytest
import torch

from dglkgmix.errors import NumericError
from dglkgmix.processes import ALONE, Processes
from tests.processes import together


@pytest.mark.parametrize(("count", "size"), [(10, 3), (2, 3), (9, 3), (7, 2)])
def test_shares_are_all_rows_in_parts_of_equal_size(count, size):
    rows = torch.arange(count) + 100
    shares = [Processes(index, size).share(rows, 5).tolist() for index in range(size)]
    every = [row for share in shares for row in share]
    assert set(every) == set(rows.tolist())
    assert [len(share) for share in shares] == [-(-count // size)] * size
    assert len(every) - count == -count % size  # so many come twice, no row three times
    assert max(map(every.count, every)) <= 2


def test_shares_follow_from_the_seed():
    rows, first = torch.arange(20), Processes(0, 2)
    assert torch.equal(first.share(rows, 5), first.share(rows, 5))
    assert not torch.equal(first.share(rows, 5), first.share(rows, 6))


def test_alone_nothing_is_sent_and_nothing_changed():
    tensor, state = torch.ones(3), torch.get_rng_state()
    ALONE.add_up(tensor)
    ALONE.reseed(5)
    assert torch.equal(tensor, torch.ones(3))
    assert torch.equal(torch.get_rng_state(), state)
    assert (ALONE.gathered(0.5), ALONE.seed(7), ALONE.main, ALONE.first_to_fail()) == (
        [0.5],
        7,
        True,
        True,
    )
    assert ALONE.share(tensor, 0) is tensor
    with ALONE.main_first():
        pass
    with pytest.raises(NumericError, match="mine"), ALONE.together():
        raise NumericError("mine")


def talk(processes):
    index, failure = processes.index, ""
    small, whole = torch.full((2,), index + 1.0), torch.tensor([index])
    rows = torch.arange(6.0).view(2, 3)[:, 1:] * (index + 1)  # not contiguous
    processes.add_up(small, whole, rows)
    with processes.main_first():
        pass
    try:
        with processes.together():
            if index:
                raise NumericError(f"process {index}: ∞")
    except NumericError as error:
        failure = str(error)
    processes.reseed(3)
    return {
        "sums": [small.tolist(), whole.tolist(), rows.tolist()],
        "gathered": processes.gathered((index, "x" * index)),
        "failure": failure,
        "random": torch.rand(2).tolist(),
        "first": processes.first_to_fail(),
    }


def test_three_processes_talk():
    found = together(3, talk)
    for one in found:
        assert one["sums"] == [[6, 6], [3], [[6, 12], [24, 30]]]
        assert one["gathered"] == [(0, ""), (1, "x"), (2, "xx")]
    assert [one["failure"] for one in found] == [f"process {i}: ∞" for i in (1, 1, 2)]
    assert len({tuple(one["random"]) for one in found}) == 3
    assert sum(one["first"] for one in found) == 1
