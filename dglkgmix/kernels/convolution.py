"""A one-channel convolution with batch norm, ReLU and feature-map dropout, in one product.

Batch norm after a convolution is a scale and a shift of each filter, a feature map that is
dropped is a filter times zero, and both commute with what comes before. So the patches of the
input are multiplied once with filters that carry all of it, instead of passing over the large
output four times. The statistics that batch norm needs follow from the moments of the patches:
the mean of filter w's output is w·mean, its variance w·covariance·w.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dglkgmix.kernels.batch_norm import BatchNorm
from dglkgmix.kernels.dropout import Dropout, draw_mask
from dglkgmix.kernels.patches import moments_of, patches_of


class NormedConvolution(nn.Module):
    """dropout2d(relu(batch_norm(conv2d(x)))) for x (B, H, W): (B, filters, H - k + 1, W - k + 1).

    The convolution has no bias: batch norm would take it away again.
    """

    def __init__(self, filters: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.filters = nn.Conv2d(1, filters, kernel, bias=False)
        self.norm = BatchNorm(filters)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps (B, F, H - k + 1, W - k + 1) of pictures (B, H, W)."""
        batch, height, width = x.shape
        kernel = self.filters.kernel_size[0]
        patches = patches_of(x, kernel)  # (B, k², L)
        weight = self.filters.weight.flatten(1)  # (F, k²)
        with torch.autocast(x.device.type, enabled=False):
            mean, variance = self._statistics(weight, patches)
            scale = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        weight = (weight * scale.unsqueeze(1)).expand(batch, -1, -1)  # (B, F, k²)
        shift = (self.norm.bias - mean * scale).expand(batch, -1)
        if self.dropout.active:
            mask = draw_mask(shift.shape, self.dropout.p, shift)
            weight, shift = weight * mask.unsqueeze(2), shift * mask
        maps = torch.baddbmm(shift.unsqueeze(2), weight, patches)  # (B, F, L)
        return maps.relu_().view(
            batch, self.filters.out_channels, height - kernel + 1, width - kernel + 1
        )

    def _statistics(self, weight: Tensor, patches: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance (F,) of every filter's output, over the batch or as remembered."""
        norm, count = self.norm, patches.shape[0] * patches.shape[2]
        if not norm.uses_batch(patches.shape[0]):
            return norm.remembered
        centre, products = moments_of(patches)  # (k²,), (k², k²)
        mean = weight @ centre
        variance = ((weight @ (products - torch.outer(centre, centre))) * weight).sum(1)
        variance = variance.clamp(min=0)  # rounding, where a filter sees no variation
        if not norm.frozen:
            norm.observe(mean, variance * (count / (count - 1)))
        return mean, variance
