"""ConvE, TuckER, DistMult, mixup and filtered ranks as a textbook would write them in PyTorch: the
plain side of every ratio.

float32 throughout; dense multi-hot targets filled from an index that is built once;
``binary_cross_entropy_with_logits``; ``torch.optim.Adam`` as it comes; ranks by ``argsort``.
Nothing is slowed down on purpose and nothing of dglkgmix is used but the triples.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvE(nn.Module):
    """Dettmers et al. 2018, 20 x 10 reshaping, 32 filters of 3 x 3."""

    def __init__(self, entities: int, relations: int, dim: int = 200) -> None:
        super().__init__()
        self.entity = nn.Embedding(entities, dim)
        self.relation = nn.Embedding(relations, dim)
        self.bias = nn.Parameter(torch.zeros(entities))
        self.bn0, self.bn1, self.bn2 = nn.BatchNorm2d(1), nn.BatchNorm2d(32), nn.BatchNorm1d(dim)
        self.input_drop, self.feature_drop = nn.Dropout(0.2), nn.Dropout2d(0.2)
        self.hidden_drop = nn.Dropout(0.3)
        self.conv = nn.Conv2d(1, 32, 3)
        self.linear = nn.Linear(32 * 38 * 8, dim)
        nn.init.xavier_normal_(self.entity.weight)
        nn.init.xavier_normal_(self.relation.weight)

    def forward(self, heads: Tensor, relations: Tensor) -> Tensor:
        """(B,), (B,) -> (B, E)."""
        query = self.query(self.entity(heads), self.relation(relations))
        return query @ self.entity.weight.t() + self.bias

    def query(self, head: Tensor, relation: Tensor) -> Tensor:
        """Vectors (B, D), (B, D) -> (B, D)."""
        stack = torch.cat([head.view(-1, 1, 20, 10), relation.view(-1, 1, 20, 10)], 2)
        x = self.input_drop(self.bn0(stack))
        x = self.feature_drop(F.relu(self.bn1(self.conv(x))))
        x = self.hidden_drop(self.linear(x.flatten(1)))
        return F.relu(self.bn2(x))


class TuckER(nn.Module):
    """Balažević et al. 2019, dropouts .3/.4/.5."""

    def __init__(self, entities: int, relations: int, dim: int = 200) -> None:
        super().__init__()
        self.dim = dim
        self.entity = nn.Embedding(entities, dim)
        self.relation = nn.Embedding(relations, dim)
        self.core = nn.Parameter(torch.empty(dim, dim, dim).uniform_(-1, 1))
        self.bias = nn.Parameter(torch.zeros(entities))
        self.bn0, self.bn1 = nn.BatchNorm1d(dim), nn.BatchNorm1d(dim)
        self.input_drop, self.hidden_drop1 = nn.Dropout(0.3), nn.Dropout(0.4)
        self.hidden_drop2 = nn.Dropout(0.5)
        nn.init.xavier_normal_(self.entity.weight)
        nn.init.xavier_normal_(self.relation.weight)

    def forward(self, heads: Tensor, relations: Tensor) -> Tensor:
        """(B,), (B,) -> (B, E)."""
        x = self.input_drop(self.bn0(self.entity(heads))).unsqueeze(1)
        matrices = (self.relation(relations) @ self.core.view(self.dim, -1)).view(
            -1, self.dim, self.dim
        )
        x = torch.bmm(x, self.hidden_drop1(matrices)).squeeze(1)
        x = self.hidden_drop2(self.bn1(x))
        return x @ self.entity.weight.t() + self.bias


class DistMult(nn.Module):
    """Yang et al. 2015."""

    def __init__(self, entities: int, relations: int, dim: int = 200) -> None:
        super().__init__()
        self.entity = nn.Embedding(entities, dim)
        self.relation = nn.Embedding(relations, dim)
        self.drop = nn.Dropout(0.2)
        nn.init.xavier_normal_(self.entity.weight)
        nn.init.xavier_normal_(self.relation.weight)

    def forward(self, heads: Tensor, relations: Tensor) -> Tensor:
        """(B,), (B,) -> (B, E)."""
        query = self.drop(self.entity(heads)) * self.relation(relations)
        return query @ self.entity.weight.t()


class QueryIndex:
    """(head, relation) -> tails of the training triples, reciprocal ones included."""

    def __init__(self, edges: Tensor, entities: int) -> None:
        self.entities = entities
        tails: dict[tuple[int, int], list[int]] = defaultdict(list)
        for head, relation, tail in edges.tolist():
            tails[head, relation].append(tail)
        self.queries = torch.tensor(list(tails))
        self.tails = [torch.tensor(values) for values in tails.values()]

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Shuffled ``heads (B,), relations (B,), targets (B, E)``."""
        for rows in torch.randperm(len(self.queries)).split(size):
            targets = torch.zeros(len(rows), self.entities)
            for position, row in enumerate(rows.tolist()):
                targets[position, self.tails[row]] = 1.0
            heads, relations = self.queries[rows].unbind(1)
            yield heads, relations, targets


def train_epoch(
    model: nn.Module, optimizer: torch.optim.Optimizer, index: QueryIndex, size: int
) -> Iterator[None]:
    """One 1-N epoch with smoothing 0.1, a step at a time."""
    model.train()
    for heads, relations, targets in index.batches(size):
        optimizer.zero_grad()
        smoothed = 0.9 * targets + 0.1 / targets.shape[1]
        loss = F.binary_cross_entropy_with_logits(model(heads, relations), smoothed)
        loss.backward()
        optimizer.step()
        yield


class PartnerIndex:
    """tail -> training triples, and the tail-relation degree of each triple."""

    def __init__(self, edges: Tensor) -> None:
        self.edges = edges
        self.by_tail: dict[int, list[int]] = defaultdict(list)
        degree: dict[tuple[int, int], int] = defaultdict(int)
        rows = edges.tolist()
        for row, (_, relation, tail) in enumerate(rows):
            self.by_tail[tail].append(row)
            degree[relation, tail] += 1
        self.degree = [degree[relation, tail] for _, relation, tail in rows]
        self.tails = [tail for _, _, tail in rows]

    def draw(self, rows: list[int], threshold: int, partners: int) -> tuple[Tensor, Tensor]:
        """For triples below the threshold: their rows, and those of up to ``partners`` others."""
        first, second = [], []
        for row in rows:
            if self.degree[row] >= threshold:
                continue
            others = [other for other in self.by_tail[self.tails[row]] if other != row]
            chosen = random.sample(others, min(partners, len(others)))
            first += [row] * len(chosen)
            second += chosen
        return torch.tensor(first, dtype=torch.long), torch.tensor(second, dtype=torch.long)


def mixup_epoch(
    model: ConvE,
    optimizer: torch.optim.Optimizer,
    index: PartnerIndex,
    size: int,
    negatives: int = 100,
    threshold: int = 5,
    partners: int = 5,
) -> Iterator[None]:
    """One 1-K epoch of KG-Mixup with smoothing 0.1, a step at a time; negatives unfiltered."""
    model.train()
    entities = model.entity.num_embeddings
    for rows in torch.randperm(len(index.edges)).split(size):
        optimizer.zero_grad()
        heads, relations, tails = index.edges[rows].unbind(1)
        others = torch.randint(entities, (len(rows), negatives))
        candidates = torch.cat([tails.unsqueeze(1), others], 1)
        query = model.query(model.entity(heads), model.relation(relations))
        scores = torch.bmm(model.entity(candidates), query.unsqueeze(2)).squeeze(2)
        scores = scores + model.bias[candidates]
        targets = torch.full_like(scores, 0.1 / entities)
        targets[:, 0] += 0.9
        loss = F.binary_cross_entropy_with_logits(scores, targets, reduction="sum")
        first, second = index.draw(rows.tolist(), threshold, partners)
        if len(first) > 1:
            mixed = _mixed_scores(model, index.edges[first], index.edges[second])
            smoothed = torch.full_like(mixed, 0.9 + 0.1 / entities)
            loss = loss + F.binary_cross_entropy_with_logits(mixed, smoothed, reduction="sum")
        loss.backward()
        optimizer.step()
        yield


def _mixed_scores(model: ConvE, first: Tensor, second: Tensor) -> Tensor:
    share = torch.rand(len(first), 1)
    head = share * model.entity(first[:, 0]) + (1 - share) * model.entity(second[:, 0])
    relation = share * model.relation(first[:, 1]) + (1 - share) * model.relation(second[:, 1])
    return (model.query(head, relation) * model.entity(first[:, 2])).sum(1)


@torch.no_grad()
def filtered_ranks(
    model: nn.Module, queries: Tensor, known: dict[tuple[int, int], Tensor], size: int = 128
) -> Tensor:
    """Ranks by ``argsort`` of (h, r, t) rows (N, 3) with known answers pushed to the end."""
    model.eval()
    ranks = []
    for rows in queries.split(size):
        scores = model(rows[:, 0], rows[:, 1])
        for position, (head, relation, tail) in enumerate(rows.tolist()):
            target = scores[position, tail].item()
            scores[position, known[head, relation]] = -torch.inf
            scores[position, tail] = target
        order = scores.argsort(1, descending=True)
        ranks.append((order == rows[:, 2:]).nonzero()[:, 1] + 1)
    return torch.cat(ranks)
