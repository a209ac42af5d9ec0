"""What a training step moves in memory: dtype copies, large allocations and bytes.

    python -m bench.moved

None of it depends on how fast a processor is, so bf16 is counted where it is not native, too. Each
PyTorch operator of a step, gradients and optimiser included, counts the tensors that it reads and
those that it writes; look-ups count the rows they touch, and views nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bench.report import Row, leave, parser
from bench.steps import Steps, graph, settings

HOW = (
    "per step, the mean of ten; dtype copies and allocations over 1 MiB; megabytes that PyTorch's "
    "operators read and write, and those of them that the optimiser does"
)
LARGE = 2**20
COMPLEX = {"loss": "ce", "optimizer": "adagrad", "lr": 0.1, "n3": 0.02, "batch": 1000}
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ConvE", {"decoder": "conve"}),
    ("TuckER", {"decoder": "tucker"}),
    ("DistMult", {"decoder": "distmult"}),
    ("ComplEx, d = 1,024, softmax", {"decoder": "complex", "dim": 1024, **COMPLEX}),
)
COLUMNS = (
    *("case", "graph", "precision", "operators", "dtype_copies", "copied_mb"),
    *("allocations", "moved_mb", "optimizer_mb"),
)
# Operators that read or write rows of a large tensor, and those that read nothing of their target.
_ROWS = ("index", "index_select", "index_add_", "index_put_", "embedding", "gather")
_OVERWRITE = ("copy_", "fill_", "zero_", "random_")


class Moved(TorchDispatchMode):
    """Adds up what every operator within it reads and writes."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = self.dtype_copies = self.copied = self.allocations = 0
        self.moved = self.optimizer = 0

    def __torch_dispatch__(
        self, function: Any, _: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        name, declared = function.overloadpacket.__name__, function._schema.arguments
        given = {**dict(zip((a.name for a in declared), args, strict=False)), **kwargs}
        mutable = {a.name for a in declared if a.alias_info and a.alias_info.is_write}
        into = list(_tensors([value for key, value in given.items() if key in mutable]))
        read = list(_tensors([value for key, value in given.items() if key not in mutable]))
        known = {tensor.untyped_storage().data_ptr() for tensor in (*read, *into)}
        made = [t for t in _tensors(result) if t.untyped_storage().data_ptr() not in known]
        if not made and not into:
            return result  # a view
        if name in _ROWS:
            size = 2 * min(map(_bytes, filter(torch.is_floating_point, (*read, *made))), default=0)
        elif "empty" in name:
            size = 0
        elif name.startswith("new_"):
            size = sum(map(_bytes, made))
        else:
            size = sum(map(_bytes, (*read, *made, *into)))
            if name not in _OVERWRITE and "out" not in mutable:
                size += sum(map(_bytes, into))
        self.operators += 1
        self.moved += size
        self.optimizer += size if name.startswith("_fused_") else 0
        self.allocations += sum(_bytes(tensor) > LARGE for tensor in made)
        dtypes = {tensor.dtype for tensor in (*read, *into, *made)}
        if name in ("_to_copy", "copy_") and len(dtypes) > 1 and size > LARGE:
            self.dtype_copies += 1
            self.copied += size
        return result


def _tensors(tree: Any) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def measure(name: str, case: str, options: dict[str, Any], precision: str) -> Row:
    """The counts of a step."""
    steps = Steps(graph(name), settings(precision=precision, **options))
    steps(1)
    with Moved() as counted:
        steps(10)
    return {
        "case": case, "graph": name, "precision": precision,
        "operators": counted.operators / 10, "dtype_copies": counted.dtype_copies / 10,
        "copied_mb": counted.copied / 1e7, "allocations": counted.allocations / 10,
        "moved_mb": counted.moved / 1e7, "optimizer_mb": counted.optimizer / 1e7,
    }  # fmt: skip


def main() -> None:
    options = parser(__doc__).parse_args()
    name = "world" if options.tiny else "fb15k-237"
    kinds = ("bf16", "fp32")
    rows = [measure(name, case, given, kind) for case, given in CASES for kind in kinds]
    leave("moved", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
