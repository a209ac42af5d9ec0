"""ConvE, TuckER and filtered ranks as a textbook would write them in PyTorch: the plain side of
every ratio.

float32 throughout; dense multi-hot targets filled from an index that is built once;
``binary_cross_entropy_with_logits``; ``torch.optim.Adam`` as it comes; ranks by ``argsort``.
Nothing is slowed down on purpose and nothing of dglkgmix is used but the triples.
"""

from __future__ import annotations

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
        head = self.entity(heads).view(-1, 1, 20, 10)
        relation = self.relation(relations).view(-1, 1, 20, 10)
        x = self.input_drop(self.bn0(torch.cat([head, relation], 2)))
        x = self.feature_drop(F.relu(self.bn1(self.conv(x))))
        x = self.hidden_drop(self.linear(x.flatten(1)))
        return F.relu(self.bn2(x)) @ self.entity.weight.t() + self.bias


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
) -> int:
    """One 1-N epoch with smoothing 0.1; returns the number of steps."""
    model.train()
    steps = 0
    for heads, relations, targets in index.batches(size):
        optimizer.zero_grad()
        smoothed = 0.9 * targets + 0.1 / targets.shape[1]
        loss = F.binary_cross_entropy_with_logits(model(heads, relations), smoothed)
        loss.backward()
        optimizer.step()
        steps += 1
    return steps


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
