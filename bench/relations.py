"""R-GCN with many relations of few edges against few of many: ``python -m bench.relations``.

As many edges in both, one training step (forward and backward) of a layer each: of the encoder and
of the part for DGL pipelines. Times are CPU seconds on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from dglkgmix._dgl import dgl
from dglkgmix.allocator import keep_freed_memory
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.rgcn import RGCN
from dglkgmix.pipeline.rgcn import HeteroRGCN

FEW, MANY = (20, 500), (2000, 5)  # relations, edges of each
ENTITIES, REPEATS = 1000, 5


def edges(relations: int, each: int) -> torch.Tensor:
    """Random triples (M, 3), sorted by relation."""
    generator = torch.Generator().manual_seed(0)
    heads, tails = torch.randint(ENTITIES, (2, relations * each), generator=generator)
    return torch.stack([heads, torch.arange(relations).repeat_interleave(each), tails], 1)


def encoder(shape: tuple[int, int], dim: int, decomposition: str, bases: int) -> float:
    """Seconds of a step of the encoder over the graph and its reciprocals."""
    kg = KnowledgeGraph.from_arrays(edges(*shape), entities=ENTITIES, relations=shape[0])
    model = RGCN(kg, dim, dim, decomposition=decomposition, bases=bases)
    return fastest(model, lambda: model.encode().entities)


def part(shape: tuple[int, int], dim: int, decomposition: str, bases: int) -> float:
    """Seconds of a step of the part for pipelines over a DGL graph with an edge type a relation."""
    pairs = edges(*shape)[:, [0, 2]].split(shape[1])
    data = {("node", f"r{i}", "node"): tuple(own.T) for i, own in enumerate(pairs)}
    graph = dgl.heterograph(data, num_nodes_dict={"node": ENTITIES})
    model = HeteroRGCN(graph.canonical_etypes, dim, decomposition=decomposition, bases=bases)  # type: ignore[arg-type]
    features = {"node": torch.randn(ENTITIES, dim)}
    return fastest(model, lambda: model(graph, features)["node"])


def fastest(model: torch.nn.Module, encode: Callable[[], torch.Tensor]) -> float:
    """The shortest of several steps; the first warms up."""
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.process_time()
        model.zero_grad()
        encode().square().sum().backward()
        seconds.append(time.process_time() - started)
    return min(seconds[1:])


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    for dim in (64, 200):
        for decomposition, bases in (("basis", 30), ("block", 4)):
            for measure in (encoder, part):
                few, many = (measure(shape, dim, decomposition, bases) for shape in (FEW, MANY))
                print(
                    f"{measure.__name__:8} {decomposition} {bases:2}  dim {dim:3}  "
                    f"{1000 * few:6.1f} ms  {1000 * many:6.1f} ms  ratio {many / few:.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
