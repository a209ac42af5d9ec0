"""bf16 in float32 kernels, on processors without bf16 instructions: ``python -m bench.emulated …``.

Takes what ``dglkgmix`` takes. PyTorch multiplies bf16 on any processor, seven times as slowly as
float32 where it lacks the instructions. Quality can be measured there all the same: a product of
bf16 numbers is exact in float32, so a float32 kernel whose result is rounded once differs from an
instruction that gathers bf16 products in float32 by nothing but the order of the sum.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

_ATEN = torch.ops.aten
PRODUCTS = {
    _ATEN.mm.default,
    _ATEN.mm.out,
    _ATEN.addmm.default,
    _ATEN.bmm.default,
    _ATEN.baddbmm.default,
    _ATEN.convolution.default,
    _ATEN.convolution_backward.default,
}


class EmulatedBf16(TorchDispatchMode):
    """Within it, :data:`PRODUCTS` of bf16 tensors run in float32 and are rounded to bf16.

    Attributes:
        count: products that did.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func not in PRODUCTS or args[0].dtype != torch.bfloat16:
            return func(*args, **kwargs)
        self.count += 1
        wide = tree_map_only(Tensor, Tensor.float, args)
        if func is _ATEN.mm.out:
            return kwargs["out"].copy_(torch.mm(*wide))
        return tree_map_only(Tensor, Tensor.bfloat16, func(*wide, **kwargs))


def main() -> None:
    """The command line, its bf16 products emulated; summaries of an experiment say so."""
    from dglkgmix.cli.main import main as command
    from dglkgmix.experiments import execute

    for option in ("--jobs", "--processes"):
        if any(word.split("=")[0] == option for word in sys.argv):
            sys.exit(f"{option}: other processes would not emulate; leave it out")
    native = execute.environment
    execute.environment = lambda device: native(device) | {"bf16": "emulated in float32 kernels"}
    with EmulatedBf16():
        sys.exit(command())


if __name__ == "__main__":
    main()
