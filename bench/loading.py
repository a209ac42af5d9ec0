"""Time and peak memory from a TSV file to the DGL heterograph and its degrees.

    python -m bench.loading
    python -m bench.loading --sources --entities 14000 --relations 7000 --triples 300000

Data sets, then a generated graph that is written as a folder with train, valid and test. A process
of its own reads each, so that the memory is that of loading alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.report import leave, parser
from bench.turns import peak_gib

HOW = "seconds from start to degrees, imports included, in a process of its own, once"
COLUMNS = ("graph", "entities", "edges", "edge_types", "seconds_total", "peak_gib")


def write_split(path: Path, entities: int, relations: int, triples: int, seed: int) -> None:
    """Random triples, entities crowded towards low ids as in real graphs."""
    random = np.random.default_rng(seed)
    with path.open("wb") as file:
        for begin in range(0, triples, 1_000_000):
            share = random.random((min(1_000_000, triples - begin), 3))
            share[:, [0, 2]] **= 2
            ids = (share * [entities, relations, entities]).astype(np.int64)
            columns = [
                pc.binary_join_element_wise(prefix, pa.array(column).cast(pa.string()), "")
                for prefix, column in zip(("entity ", "relation ", "entity "), ids.T, strict=True)
            ]
            rows = pc.binary_join_element_wise(*columns, "\t").to_pylist()
            file.write("".join(f"{row}\n" for row in rows).encode())


def measure(source: str) -> None:
    """Loads a source step by step and prints what it took."""
    seconds, cpu_seconds = {}, {}
    started, used = time.perf_counter(), time.process_time()

    def lap(step: str) -> None:
        seconds[step] = round(time.perf_counter() - started - sum(seconds.values()), 2)
        cpu_seconds[step] = round(time.process_time() - used - sum(cpu_seconds.values()), 2)

    from dglkgmix.kg.degrees import DegreeBins, degree_summary
    from dglkgmix.kg.dgl_edges import edge_type
    from dglkgmix.kg.sources import load

    lap("imports")
    kg = load(source)
    lap("read")
    graph = kg.graph
    lap("heterograph")
    assert graph.num_edges(edge_type(0)) > 0
    summary = degree_summary(kg, DegreeBins(), 5, 5, "any")
    lap("degrees")
    found = {
        "entities": kg.num_entities,
        "relations": kg.num_relations,
        "edge_types": len(graph.etypes),
        "edges": kg.num_edges,
        "pairs": summary["pairs"],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "seconds_total": round(time.perf_counter() - started, 2),
        "peak_gib": round(peak_gib(), 2),
    }
    print(json.dumps(found))


def row(name: str, source: str) -> dict[str, Any]:
    """What a process that loads ``source`` tells of it."""
    command = [sys.executable, "-m", "bench.loading", "--measure", source]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {"graph": name, **json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    options = _options()
    if options.measure:
        measure(options.measure)
        return
    rows = [row(source, source) for source in options.sources]
    with tempfile.TemporaryDirectory() as folder:
        sizes = {"train": options.triples, "valid": 10_000, "test": 10_000}
        for seed, (split, triples) in enumerate(sizes.items()):
            path = Path(folder) / f"{split}.txt"
            write_split(path, options.entities, options.relations, triples, seed)
        rows.append(row("generated", folder))
    leave("loading", options.out, HOW, rows, COLUMNS)


def _options() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument("--entities", type=int, default=1_000_000)
    made.add_argument("--relations", type=int, default=500)
    made.add_argument("--triples", type=int, default=10_000_000)
    made.add_argument("--sources", nargs="*", default=["fb15k-237", "nell-995"])
    made.add_argument("--measure", metavar="SOURCE", help=argparse.SUPPRESS)
    options = made.parse_args()
    if options.tiny:
        options.sources, options.entities = ["world"], 2_000
        options.relations, options.triples = 20, 20_000
    return options


if __name__ == "__main__":
    main()
