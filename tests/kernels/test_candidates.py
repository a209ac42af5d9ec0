"""Scores against candidates."""

import pytest
import torch

from dglkgmix.kernels import candidates as module
from dglkgmix.kernels.candidates import candidate_scores
from dglkgmix.kernels.table import Table
from tests.kernels.dense import assert_same

B, E, D, K = 5, 9, 4, 6
CANDIDATES = torch.randint(E, (B, K), generator=torch.Generator().manual_seed(0))
CANDIDATES[0, :3] = 2  # one entity several times in a row


@pytest.fixture
def operands():
    chance = torch.Generator().manual_seed(1)
    made = (torch.randn(n, D, generator=chance, dtype=torch.double) for n in (B, E))
    query, entities = (tensor.requires_grad_() for tensor in made)
    return query, entities


@pytest.fixture(params=[2**19, 2 * K * D, 1, None], ids=["whole", "two rows", "one row", "all"])
def block(request, monkeypatch):
    """Candidates gathered in blocks, or all entities scored."""
    monkeypatch.setattr(module, "_ADVANTAGE", 60 if request.param is None else 0)
    monkeypatch.setattr(module, "_CPU_BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("rows", [None, torch.tensor([0, 0, 1, 3, 3])])
def test_values_and_gradients(operands, rows):
    """Triple b asks query b, or query rows[b]: then the queries 2 and 4 ask nothing."""
    query, entities = operands
    scores = candidate_scores(query, Table(entities), CANDIDATES, rows)
    asked = query if rows is None else query[rows]
    expected = (asked @ entities.T).gather(1, CANDIDATES)
    torch.testing.assert_close(scores, expected)
    upstream = expected.detach().cos()
    assert_same((scores * upstream).sum(), (expected * upstream).sum(), operands)


@pytest.mark.parametrize(("entities", "made"), [(120, "PickedScores"), (121, "CandidateScores")])
def test_the_cheaper_way_by_the_counts(entities, made):
    """Three queries with all entities, or 6 x 1 candidates: at most 60 scores for each of these."""
    query, rows = torch.zeros(3, D, requires_grad=True), torch.tensor([0, 0, 1, 1, 2, 2])
    table = Table(torch.zeros(entities, D))
    scores = candidate_scores(query, table, torch.zeros(6, 1, dtype=torch.long), rows)
    assert type(scores.grad_fn).__name__ == f"{made}Backward"


@pytest.mark.parametrize("advantage", [0, 60])
def test_gradients_are_the_same_each_time(monkeypatch, advantage):
    """Many candidates, few entities: the sums are made in one order each time."""
    monkeypatch.setattr(module, "_ADVANTAGE", advantage)
    chance = torch.Generator().manual_seed(2)
    query, entities = (torch.randn(n, 32, generator=chance) for n in (64, 20))
    chosen = torch.randint(20, (64, 101), generator=chance)
    upstream = torch.randn(64, 101, generator=chance)
    entities.requires_grad_()
    runs = [
        torch.autograd.grad(candidate_scores(query, Table(entities), chosen), entities, upstream)[0]
        for _ in range(5)
    ]
    assert all(torch.equal(run, runs[0]) for run in runs)


def test_low_precision_queries_are_scored_in_float(operands, monkeypatch):
    monkeypatch.setattr(module, "_ADVANTAGE", 0)
    query, entities = (tensor.detach().float() for tensor in operands)
    query = query.bfloat16().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        scores = candidate_scores(query, Table(entities), CANDIDATES)
    assert scores.dtype is torch.float
    torch.testing.assert_close(scores, (query.float() @ entities.T).gather(1, CANDIDATES))
    scores.sum().backward()
    assert query.grad.dtype is torch.bfloat16


def test_products_with_all_entities_are_narrow_and_scores_wide(operands):
    query, entities = (tensor.detach().float().requires_grad_() for tensor in operands)
    with torch.autocast("cpu", torch.bfloat16):
        scores = candidate_scores(query, Table(entities), CANDIDATES)
    exact = (query @ entities.T).gather(1, CANDIDATES)
    assert scores.dtype is torch.float
    torch.testing.assert_close(scores, exact, rtol=0, atol=0.05)
    for mine, other in zip(
        torch.autograd.grad(scores.sum(), (query, entities)),
        torch.autograd.grad(exact.sum(), (query, entities)),
        strict=True,
    ):
        torch.testing.assert_close(mine, other, rtol=0, atol=0.1)


def test_nothing_scored():
    empty = torch.empty(0, K, dtype=torch.long)
    assert candidate_scores(torch.randn(0, D), Table(torch.randn(E, D)), empty).shape == (0, K)


def test_what_is_gathered_at_once_stays_within_the_block():
    """As many rows as fit, and no more: here 81 of 100 candidates with 64 numbers each."""
    wide = torch.empty(1000, 64), torch.empty(1000, 100)
    sizes = {part.stop - part.start for part in module._blocks(wide[1], wide[0])}
    assert sizes == {81}
    assert 81 * 100 * 64 <= 2**19 < 82 * 100 * 64
