"""Adam on a table of which each batch reads few rows.

Adam moves every row at every step, also without a gradient: its moments go on decaying, and the
row goes on drifting along them. On a table of a hundred thousand rows that costs more than a 1-K
batch itself. But what a row will do while nobody reads it is known ahead: with moments m and v
and step i of n without a gradient,

    m_i = b1^i m,  v_i = b2^i v,  row -= m · Σ_i c_i / (√v d_i + ε),

c_i and d_i being numbers that all rows share. So a row waits until a batch reads it, or the epoch
ends, and then makes all its steps at once: the result is that of Adam. The sum is taken as
S / (√v + δ) with S = Σ c_i / d_i and δ = ε Σ c_i / d_i² / S, which is exact to the first order in
ε / √v and right to 1e-3 of the drift even where √v is as small as ε = 1e-8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

# Numbers of a block of rows: 1 MiB of float32, so that all passes but the first stay in caches.
_BLOCK = 2**18
# Steps after which all rows are brought up to date, whoever reads them: bounds what is remembered.
_HORIZON = 4096
# (b1 / b2)^i is below float64's precision from there on: a row that waits longer stands still.
_FADED = 400


class RowAdam(torch.optim.Adam):
    """Adam whose ``table`` has sparse gradients, with distinct rows, and waits as told above.

    Call :meth:`catch_up` before rows are read and :meth:`settle` before all of them are. The
    state is Adam's own, so that one may go on where the other stopped.

    Args:
        parameters: all of the model's, ``table`` among them.
        table: (E, D).
        lr: the learning rate.
        fused: whether the other parameters' steps are fused.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], table: nn.Parameter, lr: float, *, fused: bool
    ) -> None:
        super().__init__(parameters, lr=lr, fused=fused)
        self._table = table
        self._owed = _Owed(len(table), self.defaults["betas"])
        # What was read for a batch, up to date: the table has it already, the moments not yet.
        self._held: list[_Rows] = []

    @torch.no_grad()
    def catch_up(self, rows: Tensor) -> None:
        """Let distinct rows (N,) make the steps that they have waited out.

        What has been read is held for the step that follows.
        """
        self._put_back()
        for part in self._parts(rows):
            held = self._read(part)
            self._drift(held)
            self._table.index_copy_(0, part, held.values)
            self._held.append(held)

    @torch.no_grad()
    def settle(self) -> None:
        """Bring all rows up to date."""
        self._put_back()
        for part in self._parts(self._owed.late(torch.arange(len(self._table)))):
            late = self._read(part)
            self._drift(late)
            self._write(late)
        self._owed.clear()

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One step of everything; rows without a gradient wait."""
        gradient, self._table.grad = self._table.grad, None
        result = super().step(closure)
        if gradient is not None:
            self._step_rows(gradient._indices()[0], gradient._values())
        return result

    def state_dict(self) -> dict[str, Any]:
        """Adam's, with all rows up to date."""
        self.settle()
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take Adam's state."""
        super().load_state_dict(state_dict)
        self._held = []
        self._owed.clear()

    def _step_rows(self, rows: Tensor, values: Tensor) -> None:
        if not self._holds(rows):
            self.catch_up(rows)
        state = self._moments()
        state["step"] += 1
        step, lr = int(state["step"]), float(self.param_groups[0]["lr"])
        for held, gradient in zip(self._held, self._parts(values), strict=True):
            self._move(held, gradient, step, lr)
            self._write(held)
        self._held = []
        self._owed.count(rows, step, lr)
        if self._owed.full:
            self.settle()

    def _move(self, held: _Rows, gradient: Tensor, step: int, lr: float) -> None:
        """Adam's own step, on some rows."""
        (b1, b2), eps = self.defaults["betas"], self.defaults["eps"]
        held.first.lerp_(gradient, 1 - b1)
        held.second.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
        root = _root(held.second).div_(math.sqrt(1 - b2**step)).add_(eps)
        held.values.addcdiv_(held.first, root, value=-lr / (1 - b1**step))

    def _drift(self, held: _Rows) -> None:
        """All the steps without a gradient that some rows owe."""
        (b1, b2), eps = self.defaults["betas"], self.defaults["eps"]
        waited, total, shift = self._owed.of(held.rows)
        root = _root(held.second).add_(_column(eps * shift, held.second))
        held.values.addcdiv_(held.first * _column(-total, held.first), root)
        held.first.mul_(_column(b1**waited, held.first))
        held.second.mul_(_column(b2**waited, held.second))

    def _moments(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.state[self._table]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(self._table)
            state["exp_avg_sq"] = torch.zeros_like(self._table)
        return state

    def _read(self, rows: Tensor) -> _Rows:
        state = self._moments()
        tables = (state["exp_avg"], state["exp_avg_sq"], self._table)
        return _Rows(rows, *(table.index_select(0, rows) for table in tables))

    def _write(self, held: _Rows) -> None:
        state = self._moments()
        state["exp_avg"].index_copy_(0, held.rows, held.first)
        state["exp_avg_sq"].index_copy_(0, held.rows, held.second)
        self._table.index_copy_(0, held.rows, held.values)

    def _holds(self, rows: Tensor) -> bool:
        return bool(self._held) and torch.equal(torch.cat([h.rows for h in self._held]), rows)

    def _put_back(self) -> None:
        """Rows that were read and got no gradient."""
        for held in self._held:
            self._write(held)
        self._held = []

    def _parts(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Rows, or what belongs to them, block by block."""
        size = max(1, _BLOCK // self._table.shape[1])
        return torch.split(rows, size) if len(rows) else ()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Copies of some rows (N,) of both moments and of the table, (N, D) each."""

    rows: Tensor
    first: Tensor
    second: Tensor
    values: Tensor


class _Owed:
    """Since when each row has waited, and the sums that a row owes which has waited since then.

    Steps are counted from the last :meth:`clear`.
    """

    def __init__(self, rows: int, betas: tuple[float, float]) -> None:
        self._b1, self._b2 = b1, b2 = betas
        ages = torch.arange(_FADED, 0, -1, dtype=torch.float64)
        self._fade = torch.stack([(b1 / math.sqrt(b2)) ** ages, (b1 / b2) ** ages])
        self._sums = torch.zeros(2, _HORIZON + 1, dtype=torch.float64)  # Σ c / d and Σ c / d²
        self._since = torch.zeros(rows, dtype=torch.long)
        self._now = 0

    @property
    def full(self) -> bool:
        """Whether no more steps can be remembered."""
        return self._now == _HORIZON

    def late(self, rows: Tensor) -> Tensor:
        """Those of rows (N,) that owe steps."""
        return rows[self._since[rows] < self._now]

    def of(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What rows (N,) owe, each (N,) float64; from now on they owe nothing.

        Returns:
            the number of steps, S, and δ / ε, which is 1 where nothing is owed.
        """
        since = self._since[rows]
        total, second = self._sums[:, since]
        self._since[rows] = self._now
        shift = torch.where(total > 0, second / total, 1.0)
        return (self._now - since).double(), total, shift

    def count(self, rows: Tensor, step: int, lr: float) -> None:
        """Step number ``step`` has been made by rows (N,) alone: the others owe it."""
        first = max(0, self._now + 1 - _FADED)
        root = math.sqrt(1 - self._b2**step)
        scale = torch.tensor([[root], [root * root]], dtype=torch.float64) * lr
        owed = self._fade[:, first - self._now - 1 :] * (scale / (1 - self._b1**step))
        self._sums[:, first : self._now + 1] += owed
        self._now += 1
        self._since[rows] = self._now

    def clear(self) -> None:
        """Nobody owes anything."""
        self._sums.zero_()
        self._since.zero_()
        self._now = 0


def _column(values: Tensor, like: Tensor) -> Tensor:
    """(N,) numbers as a column, in the type of a table."""
    return values.to(like.dtype).unsqueeze(1)


def _root(values: Tensor) -> Tensor:
    """√x; PyTorch's own takes ten times as long over zeros, which rows begin with."""
    return values.rsqrt().reciprocal_()
