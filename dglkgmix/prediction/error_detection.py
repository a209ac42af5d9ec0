"""Facts of the data that a model finds implausible: the first to check for errors.

A model has memorised what it was trained on. So training facts are divided into folds, and each is
judged by a model that was trained without its fold (cross-fitting). Facts of valid and test are
judged by the run's own model.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SEED = 0


def assign_folds(triples: Tensor, folds: int) -> Tensor:
    """(N,) the fold, 0 … folds − 1, of each of N distinct triples (N, 3); −1 for none.

    Without the triples of one fold every entity and relation still occurs among the others. A
    triple of an entity or relation that occurs nowhere else is in no fold.
    """
    order = torch.randperm(len(triples), generator=torch.Generator().manual_seed(SEED)).tolist()
    rows = triples.tolist()
    names = [{("entity", h), ("relation", r), ("entity", t)} for h, r, t in rows]
    left: list[dict[Any, int]] = []
    total: dict[Any, int] = {}
    for own in names:
        for name in own:
            total[name] = total.get(name, 0) + 1
    left = [dict(total) for _ in range(folds)]
    found = torch.full((len(rows),), -1)
    for place, row in enumerate(order):
        for step in range(folds):
            fold = (place + step) % folds
            if all(left[fold][name] > 1 for name in names[row]):
                for name in names[row]:
                    left[fold][name] -= 1
                found[row] = fold
                break
    return found
