"""Time and peak memory from a TSV file to the DGL heterograph and its degrees.

    python bench/loading.py
    python bench/loading.py --entities 14000 --relations 7000 --triples 300000
    python bench/loading.py --source fb15k-237

Without ``--source`` a graph is generated and written as a folder with train, valid and test; a
process of its own then reads it, so that the memory is that of loading alone. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


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
    from dglkgmix.kg.heterograph import edge_type
    from dglkgmix.kg.sources import load

    lap("imports")
    kg = load(source)
    lap("read")
    graph = kg.graph
    lap("heterograph")
    assert graph.num_edges(edge_type(0)) > 0
    summary = degree_summary(kg, DegreeBins(), 5, 5, "any")
    lap("degrees")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report = {
        "source": str(kg),
        "edge_types": len(graph.etypes),
        "edges": kg.num_edges,
        "pairs": summary["pairs"],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "seconds_total": round(time.perf_counter() - started, 2),
        "peak_gib": round(peak, 2),
    }
    print(json.dumps(report, indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--relations", type=int, default=500)
    parser.add_argument("--triples", type=int, default=10_000_000)
    parser.add_argument("--source", help="a data set, folder or file instead of a generated graph")
    parser.add_argument("--measure", metavar="SOURCE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.source is None:
            sizes = {"train": options.triples, "valid": 10_000, "test": 10_000}
            for seed, (split, triples) in enumerate(sizes.items()):
                path = Path(folder) / f"{split}.txt"
                write_split(path, options.entities, options.relations, triples, seed)
        command = [sys.executable, __file__, "--measure", options.source or folder]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
