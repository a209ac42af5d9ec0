"""Scores of a batch against all entities as matrix products, a block of entities at a time.

A block's scores are used while they are still in the processor's caches, and a loss over a
million entities never holds more than one block of them. Scores are laid out (entities, batch):
every product then runs over contiguous rows of the entity table.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dglkgmix.kernels.table import Table

# Scores of a block on the CPU: 4 MiB of float32, or twice as many of bfloat16. Twice and half of it
# cost the same within 5 % (measured for batches of 128 and 512, 14,541 entities, d = 200); all at
# once costs a third more.
CPU_BLOCK = 2**20
# Elsewhere a block bounds memory alone: 1 GiB of float32.
DEVICE_BLOCK = 2**28


class Products:
    """Scores ``entities @ query.T + bias``, and the gradients that flow back through them.

    Args:
        query: (B, D).
        table: (E, D).
        bias: (E,) or None.

    Attributes:
        dtype: the type that autocast asks for: of products, and of the scores that they write.
        wide: float32, or wider: what sums of scores and the gradients of query and bias are in.
    """

    def __init__(self, query: Tensor, table: Table, bias: Tensor | None) -> None:
        self.dtype = product_dtype(query, table.values)
        self.wide = torch.promote_types(self.dtype, torch.float32)
        self.query = query.to(self.dtype)
        self.entities = table.cast(self.dtype)
        self.bias = None if bias is None else bias.to(self.dtype)

    def blocks(self) -> list[slice]:
        """Ranges of entities of nearly equal size that cover all of them."""
        size = CPU_BLOCK if self.query.device.type == "cpu" else DEVICE_BLOCK
        size = size * self.wide.itemsize // self.dtype.itemsize
        count = math.ceil(len(self.entities) * len(self.query) / size)
        step = math.ceil(len(self.entities) / max(count, 1))
        return [slice(start, start + step) for start in range(0, len(self.entities), step)]

    def scores(self, block: slice, out: Tensor) -> Tensor:
        """Scores (n, B) of a block of n entities, written to the start of ``out`` (≥ n, B)."""
        table = self.entities[block]
        result = torch.mm(table, self.query.T, out=out[: len(table)])
        if self.bias is not None:
            result.add_(self.bias[block].unsqueeze(1))
        return result

    def buffer(self, rows: int) -> Tensor:
        """Room for scores of so many entities, (rows, B)."""
        return self.entities.new_empty((rows, len(self.query)))


class Gradients:
    """Gradients of query, entities and bias, gathered block by block; only those wanted."""

    def __init__(self, products: Products, wanted: tuple[bool, bool, bool]) -> None:
        self._products = products
        like = products.entities
        shapes = (products.query.shape, like.shape, like.shape[:1])
        dtypes = (products.wide, products.dtype, products.wide)
        self.query, self.entities, self.bias = (
            like.new_empty(shape, dtype=dtype) if want else None
            for shape, dtype, want in zip(shapes, dtypes, wanted, strict=True)
        )
        if self.query is not None:
            self.query.zero_()

    def add(self, block: slice, gradient: Tensor) -> None:
        """Take in the gradient (n, B) of a block's scores."""
        products = self._products
        if self.bias is not None:
            torch.sum(gradient, 1, dtype=products.wide, out=self.bias[block])
        if self.query is not None:
            table = products.entities[block]
            if products.dtype == products.wide:
                self.query.addmm_(gradient.T, table)
            else:
                self.query.add_(gradient.T @ table)
        if self.entities is not None:
            torch.mm(gradient, products.query, out=self.entities[block])

    def scale(self, factor: Tensor) -> None:
        """Multiply all by a scalar."""
        # Comparing waits for other devices; on the CPU it spares a pass over the entity table.
        if factor.device.type == "cpu" and factor == 1:
            return
        for gradient in (self.query, self.entities, self.bias):
            if gradient is not None:
                gradient.mul_(factor)

    def give(self, table: Table) -> tuple[Tensor | None, None, Tensor | None]:
        """The entities' to the table; those of query (B, D), anchor and bias (E,) are returned.

        They belong to the receivers from then on.
        """
        if self.entities is not None:
            table.gradient.add_table(self.entities.to(self._products.wide))
        return self.query, None, self.bias


def places_in_blocks(
    rows: Tensor, tails: Tensor, blocks: list[slice], batch: int
) -> list[tuple[Tensor, Tensor]]:
    """Where places (rows[p], tails[p]) of the (batch, E) scores are in each block of them.

    Returns for each block:
        flat: (p,) long, positions in the block's (n, batch) scores, flattened.
        index: (p,) long, which of the P places these are.
    """
    if len(blocks) == 1:
        return [(tails * batch + rows, torch.arange(len(rows), device=rows.device))]
    ordered, index = torch.sort(tails, stable=True)
    starts = torch.tensor([block.start for block in blocks[1:]], device=tails.device)
    cuts = torch.searchsorted(ordered, starts).cpu()
    flat = ordered * batch + rows[index]
    parts = zip(flat.tensor_split(cuts), index.tensor_split(cuts), blocks, strict=True)
    return [(place - block.start * batch, chosen) for place, chosen, block in parts]


def product_dtype(left: Tensor, right: Tensor) -> torch.dtype:
    """The type that autocast multiplies these in; without autocast the wider of theirs."""
    kind = left.device.type
    if torch.is_autocast_enabled(kind):
        return torch.get_autocast_dtype(kind)
    return torch.promote_types(left.dtype, right.dtype)
