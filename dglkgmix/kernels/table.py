"""The entity table as the losses of one batch read it: many readers, one gradient.

Autograd would give each reader a gradient of the whole table, zero but for a few rows, and add
them up: for 75,000 entities that is most of a 1-K step. Here all readers write into one buffer,
which becomes the table's gradient once all of them have written.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class TableGradient:
    """Gathers the gradient (E, D) of a table during one backward pass.

    Args:
        like: the table.
    """

    def __init__(self, like: Tensor) -> None:
        self._like = like
        self._whole: Tensor | None = None

    def add_rows(self, rows: Tensor, values: Tensor) -> None:
        """Add values (N, D) to rows (N,), which may repeat."""
        if self._whole is None:
            self._whole = torch.zeros_like(self._like, dtype=values.dtype)
        self._whole.index_add_(0, rows, values)

    def add_table(self, values: Tensor) -> None:
        """Add values (E, D), which the caller does not use afterwards."""
        if self._whole is None:
            self._whole = values
        else:
            self._whole += values

    def add_to_all(self, row: Tensor) -> None:
        """Add a row (D,) to every row."""
        if self._whole is None:
            self.add_table(row.expand_as(self._like).clone())
        else:
            self._whole += row

    def take(self) -> Tensor:
        """What has been added, (E, D); from then on it begins anew."""
        whole, self._whole = self._whole, None
        return torch.zeros_like(self._like) if whole is None else whole


class Table:
    """A table (E, D) for reading, and where the gradients of its readers go.

    Attributes:
        values: (E, D), the table without its history.
        gradient: what readers add to in their backward pass.
        anchor: (), a number that every reader takes as an input, so that the table's gradient is
            complete before it is passed on. A reader gives it no gradient.
    """

    def __init__(self, entities: Tensor) -> None:
        self.values = entities.detach()
        self.gradient = TableGradient(self.values)
        self._cast = self.values
        self.anchor: Tensor = _Anchor.apply(entities, self.gradient)  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        """E."""
        return len(self.values)

    def cast(self, dtype: torch.dtype) -> Tensor:
        """The values (E, D) in another type, converted once for all readers."""
        if self._cast.dtype != dtype:
            self._cast = self.values.to(dtype)
        return self._cast

    def rows(self, ids: Tensor) -> Tensor:
        """Vectors (..., D) of rows (...)."""
        vectors: Tensor = _Rows.apply(self.anchor, self, ids)  # type: ignore[no-untyped-call]
        return vectors

    def sum(self) -> Tensor:
        """Sum of all rows, (D,)."""
        total: Tensor = _Sum.apply(self.anchor, self)  # type: ignore[no-untyped-call]
        return total


class _Anchor(Function):
    """Stands between the table and its readers; passes their common gradient on."""

    @staticmethod
    def forward(ctx: Any, entities: Tensor, gradient: TableGradient) -> Tensor:
        ctx.gradient = gradient
        return entities.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None]:
        return ctx.gradient.take(), None


class _Rows(Function):
    """Looks rows up."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, table: Table, ids: Tensor) -> Tensor:
        ctx.gradient = table.gradient
        ctx.save_for_backward(ids)
        return table.values.index_select(0, ids.reshape(-1)).view(*ids.shape, table.values.shape[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None, None]:
        (ids,) = ctx.saved_tensors
        ctx.gradient.add_rows(ids.reshape(-1), upstream.reshape(-1, upstream.shape[-1]))
        return None, None, None


class _Sum(Function):
    """Adds all rows up."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, table: Table) -> Tensor:
        ctx.table = table
        return table.values.sum(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None]:
        ctx.table.gradient.add_to_all(upstream)
        return None, None
