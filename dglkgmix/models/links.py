"""Links from sources to targets, along which features are summed: message passing's one step."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from dgl import DGLGraph


class Links:
    """L links between two kinds of rows. Immutable.

    Args:
        sources: (L,) row where each link starts.
        targets: (L,) row where it ends.
        num_sources, num_targets: how many rows of either kind there are.
    """

    def __init__(
        self, sources: Tensor, targets: Tensor, num_sources: int, num_targets: int
    ) -> None:
        self.num_sources = num_sources
        self.num_targets = num_targets
        self._ends = {sources.device: (sources, targets)}
        self._home = sources.device

    @cached_property
    def graph(self) -> DGLGraph:
        """The links as a DGL block."""
        from dglkgmix._dgl import dgl

        sizes = {"num_src_nodes": self.num_sources, "num_dst_nodes": self.num_targets}
        return dgl.create_block(self._ends[self._home], **sizes)

    def ends(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Sources and targets (L,) on ``device``; moved there once."""
        if device not in self._ends:
            sources, targets = self._ends[self._home]
            self._ends[device] = (sources.to(device), targets.to(device))
        return self._ends[device]

    def sum(self, features: Tensor) -> Tensor:
        """For each target the sum of its sources' features: (num_sources, D) to (num_targets, D).

        DGL passes the messages where features and graph are on the same device; PyTorch does it
        elsewhere, as DGL's wheels know no GPU.
        """
        here = features.device == self._home
        return self.sum_by_dgl(features) if here else self.sum_by_torch(features)

    def sum_by_dgl(self, features: Tensor) -> Tensor:
        """See :meth:`sum`; no message is ever stored."""
        from dglkgmix._dgl import dgl

        with self.graph.local_scope():
            self.graph.srcdata["x"] = features
            self.graph.update_all(dgl.function.copy_u("x", "m"), dgl.function.sum("m", "y"))
            total: Tensor = self.graph.dstdata["y"]
            return total

    def sum_by_torch(self, features: Tensor) -> Tensor:
        """See :meth:`sum`; stores (L, D) messages."""
        sources, targets = self.ends(features.device)
        total = features.new_zeros(self.num_targets, features.shape[1])
        return total.index_add(0, targets, features.index_select(0, sources))
