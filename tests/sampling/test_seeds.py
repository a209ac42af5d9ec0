"""Seeds for a purpose."""

from __future__ import annotations

import hashlib

import pytest
import torch

from dglkgmix.sampling.seeds import derive, generator


def test_the_value_is_a_digest_of_seed_and_parts() -> None:
    digest = hashlib.blake2b(b"int:7\0str:partners\0int:3", digest_size=8).digest()
    assert derive(7, "partners", 3) == int.from_bytes(digest, "big") // 2  # in any process


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1, 23), (12, 3)),
        ((1, "2"), (1, 2)),
        ((1, "a", "b"), (1, "ab")),
        ((0, "partners", 1), (0, "lambda", 1)),
        ((0, "partners", 1), (0, "partners", 2)),
        ((0,), (1,)),
    ],
)
def test_what_differs_gives_another_seed(first: tuple, second: tuple) -> None:
    assert derive(*first) != derive(*second)


def test_every_seed_suits_a_generator() -> None:
    seeds = [derive(0, i) for i in range(1000)]
    assert len(set(seeds)) == 1000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**62


def test_generators_start_afresh_and_leave_the_global_one_alone() -> None:
    before = torch.random.get_rng_state()
    first, second = (torch.rand(3, generator=generator(5, "x")) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(torch.random.get_rng_state(), before)
