"""Where the time of a training step goes: what stands between it and the matrix products alone.

    python -m bench.profiles

Self CPU time of PyTorch's operators over a number of steps, in shares. With the products alone a
step would take ``products`` of its time: no version in the same precision can be faster.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from torch.profiler import ProfilerActivity, profile

from bench.report import leave, parser
from bench.training import CASES, Case, ours
from bench.turns import Work, sides

HOW = "shares of self CPU time over 10 steps, PyTorch's profiler, dglkgmix alone"
GROUPS = {
    "products": ("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_", "addmv", "mv"),
    "adam": ("_fused_adam_",),
    "pointwise": (
        "exp_", "log1p_", "softplus", "mul", "mul_", "add", "add_", "sub", "sub_", "div", "div_",
        "addcmul", "addcmul_", "neg_", "clamp_", "sigmoid_", "lerp_", "threshold_backward",
        "clamp_min_", "sum", "mean", "amax",
    ),
    "copies": ("copy_", "fill_", "zero_", "cat", "clone"),
    "look-ups": ("index_select", "index_add_", "scatter_add_", "gather", "index", "index_copy_"),
    "random bits": ("random_", "randint", "randperm", "rand"),
    "gradient norm": ("linalg_vector_norm",),
}  # fmt: skip
COLUMNS = ("case", "graph", "batch", *GROUPS, "rest")


def factory(case: Case) -> Work:
    steps = ours(case)

    def work(count: int) -> dict[str, Any]:
        steps(2)
        with profile(activities=[ProfilerActivity.CPU]) as watched:
            steps(count)
        spent: Counter[str] = Counter()
        for event in watched.key_averages():
            spent[_group(event.key.removeprefix("aten::"))] += event.self_cpu_time_total
        total = sum(spent.values())
        return {group: spent[group] / total for group in (*GROUPS, "rest")}

    return work


def _group(name: str) -> str:
    return next((group for group, names in GROUPS.items() if name in names), "rest")


def main() -> None:
    options = parser(__doc__).parse_args()
    cases = [case for case in CASES if case.textbook]
    if options.tiny:
        cases = [Case("ConvE 1-N", "world", "conve", batch=32)]
    rows = []
    with sides(factory) as (side,):
        for case in cases:
            _, shares = side.turn(case, 3 if options.tiny else 10)
            rows.append({"case": case.case, "graph": case.graph, "batch": case.batch, **shares})
    leave("profiles", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
