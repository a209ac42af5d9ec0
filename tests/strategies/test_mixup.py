"""KG-Mixup on five triples."""

from __future__ import annotations

import pytest
import torch

# η = 2: edges 3-9. Partners are the other in-edges of the tail, by hand.
PARTNERS = {3: {0, 1, 2}, 4: {6}, 5: {9}, 6: {4}, 7: set(), 8: set(), 9: {5}}


def drawn(strategy, edges: torch.Tensor) -> dict[int, set[int]]:
    samples = strategy.synthetic(edges)
    pairs: dict[int, set[int]] = {}
    for position, partner in zip(
        samples.positions.tolist(), samples.partners.tolist(), strict=True
    ):
        pairs.setdefault(int(edges[position]), set()).add(partner)
    return pairs


def test_who_is_mixed_with_whom(started, everything) -> None:
    strategy = started("mixup", threshold=2, partners=5)
    assert drawn(strategy, everything) == {e: p for e, p in PARTNERS.items() if p}
    assert strategy.coverage() == {
        "below_threshold": 7,
        "without_partner": 2,
        "synthetic_per_epoch": 7,
    }


@pytest.mark.parametrize(("partners", "draws", "weight"), [(3, 1, 3.0), (2, 1, 2.0), (3, 2, 1.5)])
def test_a_part_of_the_partners_weighs_as_much_as_all(
    started, everything, partners: int, draws: int, weight: float
) -> None:
    """η = 4: edges 0-3 have three candidates, 4, 5, 6 and 9 have one."""
    strategy = started("mixup", threshold=4, partners=partners, draws=draws)
    samples = strategy.synthetic(everything)
    found = samples.positions.bincount(minlength=10).tolist()
    assert found == [draws] * 4 + [1, 1, 1, 0, 0, 1]
    expected = [weight if edge < 4 else 1.0 for edge in samples.positions.tolist()]
    assert samples.weights.tolist() == pytest.approx(expected)
    assert samples.terms == 4 * partners + 4
    assert strategy.coverage()["synthetic_per_epoch"] == 4 * draws + 4
    assert strategy.samples_of_epoch(strategy.kg, strategy.config) == 4 * draws + 4


def test_a_share_of_the_triples_weighs_as_much_as_all(make, everything) -> None:
    """Eight triples have candidates: 4 · 3 + 4 samples stand for them, drawn or not."""
    strategy = make("mixup", threshold=4, partners=3, share=0.25)
    assert strategy.coverage()["synthetic_per_epoch"] == 4
    found = torch.zeros(10)
    for epoch in range(400):
        strategy.start_epoch(epoch, 0)
        samples = strategy.synthetic(everything)
        if samples is not None:
            assert samples.terms == 16
            assert samples.weights.tolist() == [4.0] * len(samples)
            mixed = samples.positions.bincount(minlength=10)
            assert torch.equal(mixed, mixed.clamp(max=1) * torch.tensor([3] * 4 + [1] * 6))
            found += mixed > 0
    # 400 trials with a chance of 1/4: 100 ± 4 standard deviations of 8.7.
    assert (found[[7, 8]] == 0).all()
    assert ((found[[0, 1, 2, 3, 4, 5, 6, 9]] - 100).abs() < 35).all()


def test_partners_are_drawn_anew_each_epoch(make, everything) -> None:
    strategy = make("mixup", threshold=4, partners=3, draws=1)
    seen = set()
    for epoch in range(30):
        strategy.start_epoch(epoch, 0)
        seen |= drawn(strategy, everything)[0]
    assert seen == {1, 2, 3}


def test_samples_carry_the_triples(started, five, everything) -> None:
    strategy = started("mixup", threshold=2, partners=5)
    edges = everything.flip(0)
    samples = strategy.synthetic(edges)
    assert torch.equal(samples.first, five.edges[edges[samples.positions]])
    assert torch.equal(samples.second, five.edges[samples.partners])
    assert torch.equal(samples.first[:, 2], samples.second[:, 2])
    assert len(samples.lam) == len(samples) == 7
    assert bool(((samples.lam > 0) & (samples.lam < 1)).all())


def test_each_sample_once_an_epoch(started, everything) -> None:
    """Whatever the batches: a sample's λ belongs to its triple."""
    strategy = started("mixup", threshold=2, partners=1)
    whole = strategy.synthetic(everything)
    parts = [strategy.synthetic(part) for part in torch.split(everything, 3)]
    assert torch.equal(torch.cat([part.lam for part in parts if part]), whole.lam)
    assert torch.equal(torch.cat([part.first for part in parts if part]), whole.first)


def test_a_batch_with_nothing_to_mix(started) -> None:
    strategy = started("mixup", threshold=2)
    assert strategy.synthetic(torch.tensor([0, 1, 2, 7, 8])) is None


@pytest.mark.parametrize(
    ("threshold", "low"), [(3, {3, 4, 5, 6, 9}), (4, {0, 1, 2, 3, 4, 5, 6, 9})]
)
def test_the_threshold_is_strict(started, everything, threshold: int, low: set[int]) -> None:
    strategy = started("mixup", threshold=threshold)
    assert set(drawn(strategy, everything)) == low


def test_rivals_are_drawn_for_each_batch(started) -> None:
    """Tails 0 and 2, and one of 1, 3 and 4."""
    edges = torch.tensor([3, 4])

    def ids(epoch: int, seed: int = 0) -> list[list[int]]:
        strategy = started("mixup", threshold=2, rivals=1, loss="ce", epoch=epoch, seed=seed)
        return [strategy.synthetic(edges).rivals.ids.tolist() for _ in range(8)]

    assert ids(1) == ids(1)
    assert len({tuple(row) for row in ids(1)}) == 3
    assert ids(1) != ids(2)
    assert ids(1) != ids(1, 7)
    assert all({0, 2} < set(row) for row in ids(1))


@pytest.mark.parametrize(
    "options", [{"loss": "bce"}, {"regime": "1-k", "loss": "ce"}, {"loss": "ce", "rivals": "all"}]
)
def test_nothing_stands_for_all_elsewhere(started, options) -> None:
    strategy = started("mixup", **{"threshold": 2, "rivals": 1, **options})
    assert strategy.synthetic(torch.tensor([3])).rivals is None


def test_epochs_and_seeds_differ_and_repeat(started, everything) -> None:
    def lam(epoch: int, seed: int) -> list[float]:
        strategy = started("mixup", threshold=4, partners=2, epoch=epoch, seed=seed)
        return strategy.synthetic(everything).lam.tolist()

    assert lam(2, 7) == lam(2, 7)
    assert lam(2, 7) != lam(3, 7)
    assert lam(2, 7) != lam(2, 8)


def test_lambda_follows_the_options(started, everything) -> None:
    fixed = started("mixup", threshold=4, fixed_lambda=1.0)
    half = started("mixup", threshold=4, lambda_range="half")
    assert set(fixed.synthetic(everything).lam.tolist()) == {1.0}
    assert float(half.synthetic(everything).lam.min()) >= 0.5


def test_it_must_be_started(make, everything) -> None:
    with pytest.raises(RuntimeError, match="start_epoch"):
        make("mixup").synthetic(everything)
