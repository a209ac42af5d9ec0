"""bf16 products in float32 kernels are bf16 products."""

from contextlib import nullcontext

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from bench.emulated import PRODUCTS, EmulatedBf16, main
from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.experiments import execute
from dglkgmix.training.launch import train


def operands(*shapes):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(shape, generator=generator).bfloat16() for shape in shapes]


@pytest.mark.parametrize("out", [None, torch.empty(5, 4, dtype=torch.bfloat16)])
def test_a_product_is_the_exact_one_rounded_once(out):
    left, right = operands((5, 7), (7, 4))
    with EmulatedBf16() as emulated:
        found = torch.mm(left, right, out=out)
    assert out is None or found is out
    exact = (left.double() @ right.double()).float()
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, exact.bfloat16())
    assert emulated.count == 1


def test_other_types_and_operators_are_left_alone():
    wide = torch.full((3, 3), 1 + 2**-12)
    (narrow,) = operands((3, 3))
    with EmulatedBf16() as emulated:
        assert torch.equal(wide @ torch.eye(3), wide)
        assert torch.equal(narrow + 0, narrow)
    assert emulated.count == 0


@pytest.mark.parametrize("layer", ["linear", "conv2d", "bmm"])
def test_backward_products_are_emulated_too(layer):
    """Against PyTorch's own bf16, forward and backward, up to two of its roundings."""
    shapes = {
        "linear": ((6, 8), (5, 8)),
        "conv2d": ((2, 1, 6, 6), (3, 1, 3, 3)),
        "bmm": ((2, 3, 4), (2, 4, 5)),
    }
    function = torch.bmm if layer == "bmm" else getattr(functional, layer)
    results = []
    for emulate in (False, True):
        first, second = (x.requires_grad_() for x in operands(*shapes[layer]))
        mode = EmulatedBf16()
        with mode if emulate else nullcontext():
            out = function(first, second)
            out.float().square().sum().backward()
        assert (mode.count >= 2) is emulate
        results.append((out, first.grad, second.grad))
    for own, emulated in zip(*results, strict=True):
        unit = own.detach().abs().max().item() * 2**-7
        torch.testing.assert_close(emulated, own, rtol=0, atol=2 * unit)


def test_other_processes_are_refused(monkeypatch):
    monkeypatch.setattr("sys.argv", ["emulated", "experiment", "precision", "--jobs=2"])
    with pytest.raises(SystemExit, match="--jobs: other processes would not emulate"):
        main()


def test_summaries_say_that_products_were_emulated(monkeypatch):
    monkeypatch.setattr(execute, "environment", lambda device: {"torch": device})
    monkeypatch.setattr("sys.argv", ["emulated"])
    monkeypatch.setattr("dglkgmix.cli.main.main", lambda: 2)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert execute.environment("cpu") == {"torch": "cpu", "bf16": "emulated in float32 kernels"}


class Bf16Products(TorchDispatchMode):
    """Notes the operators that PyTorch itself counts as products, where they take bf16."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in flop_registry and args[0].dtype == torch.bfloat16:
            self.seen.add(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("decoder", ["conve", "tucker"])
@pytest.mark.parametrize("regime", ["1-n", "1-k"])
def test_training_in_bf16_asks_for_no_other_product(decoder, regime, graph, tmp_path):
    given = [f"model.decoder={decoder}", f"training.regime={regime}", "runtime.precision=bf16"]
    small = ["model.entity_dim=20", "training.epochs=1", "training.batch_size=16"]
    with Bf16Products() as products:
        train(graph, apply_overrides(Config(), [*given, *small]), tmp_path / "run")
    assert products.seen
    assert products.seen <= PRODUCTS
