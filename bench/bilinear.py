"""Training steps of bilinear decoders beside their three products: ``python -m bench.bilinear``.

Settings are those of the recipe ``codex-s-complex`` (softmax cross-entropy, N3, Adagrad),
without its strategy. A step is compared with the products alone, of the scores and of both their
gradients, and with a step that predicts relations as well. Times are CPU seconds on one
thread, the shortest of several turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from bench.report import leave, parser
from bench.steps import Steps, graph
from dglkgmix.config.toml import apply_overrides
from dglkgmix.experiments.recipes import load_recipe
from dglkgmix.kernels.products import Gradients, Products
from dglkgmix.kernels.table import Table

HOW = "CPU milliseconds of a step on one thread, the shortest of the turns of all sides"
# Graph, decoder, dimension, batch size, weight of N3.
CASES = (
    ("codex-s", "complex", 1024, 500, 0.02),
    ("codex-s", "distmult", 512, 500, 0.02),
    ("fb15k-237", "complex", 1024, 1000, 0.05),
    ("fb15k-237", "distmult", 512, 1000, 0.05),
)
COLUMNS = ("graph", "decoder", "dim", "batch", "products", "step", "ratio", "with_relations")


def steps(name: str, decoder: str, dim: int, batch: int, n3: float, relations: float) -> Steps:
    """Training steps, with a weight of relation prediction."""
    options = (
        *(f"model.decoder={decoder}", f"model.entity_dim={dim}", f"model.relation_dim={dim}"),
        *(f"training.batch_size={batch}", f"training.n3={n3}", "runtime.precision=fp32"),
        *("runtime.device=cpu", f"training.relation_prediction={relations}"),
        "strategy.name=standard",
    )
    return Steps(graph(name), apply_overrides(load_recipe("codex-s-complex"), options))


def products(name: str, dim: int, batch: int) -> Callable[[int], None]:
    """The products of as many steps."""
    entities = graph(name).num_entities
    made = Products(torch.randn(batch, dim), Table(torch.randn(entities, dim)), None)
    gradients = Gradients(made, (True, True, False))
    blocks, buffer = made.blocks(), made.buffer(entities)

    def work(count: int) -> None:
        for _ in range(count):
            for block in blocks:
                made.scores(block, buffer[block])
            for block in blocks:
                gradients.add(block, buffer[block])

    return work


def fastest(sides: list[Callable[[int], object]], count: int, turns: int) -> list[float]:
    """Milliseconds of a step of each, turn about; the first turn warms up."""
    spent: list[list[float]] = [[] for _ in sides]
    for _ in range(turns + 1):
        for side, times in zip(sides, spent, strict=True):
            started = time.process_time()
            side(count)
            times.append(1000 * (time.process_time() - started) / count)
    return [min(times[1:]) for times in spent]


def main() -> None:
    options = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    cases, count, turns = CASES, 6, 7
    if options.tiny:
        cases, count, turns = (("world", "complex", 32, 50, 0.02),), 2, 2
    rows = []
    for name, decoder, dim, batch, n3 in cases:
        sides = [steps(name, decoder, dim, batch, n3, weight) for weight in (0.0, 0.5)]
        alone, step, both = fastest([products(name, dim, batch), *sides], count, turns)
        row = {"graph": name, "decoder": decoder, "dim": dim, "batch": batch, "products": alone}
        rows.append({**row, "step": step, "ratio": step / alone, "with_relations": both})
    leave("bilinear", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
