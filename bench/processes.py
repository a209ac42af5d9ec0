"""One process with all threads against several that divide them, side by side.

    python -m bench.processes
    python -m bench.processes --source fb15k-237 --regime 1-k --strategy mixup --processes 2 4

Every round trains a few epochs of the same settings with each number of processes in turn, as
`dglkgmix train --processes N` does; the fastest epoch of each counts, its validation left out.
Prints JSON: positive and synthetic terms a second, the ratio to one process, the validation MRR
after the last epoch, and what a sum over processes costs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from bench.machine import describe
from dglkgmix.runs.run import Run


def train(count: int, threads: int, out: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The history of a run with ``count`` processes that share ``threads``."""
    command = [
        *(sys.executable, "-m", "dglkgmix", "train", options.source, "--out", out, "--quiet"),
        *("--processes", count, "--epochs", options.epochs, "--no-pretrain", "--no-swa"),
        *("--model", options.model, "--regime", options.regime, "--strategy", options.strategy),
        *("--set", f"training.validate_every={options.epochs}", "--device", "cpu"),
        *(part for batch in [options.batch_size] if batch for part in ("--batch-size", batch)),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    subprocess.run(list(map(str, command)), check=True, env=environment, stdout=subprocess.DEVNULL)
    return Run.open(out).history


def summary(history: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the fastest epoch that was not validated."""
    rows = [row for row in history if row["valid_mrr"] is None]
    best = min(rows, key=lambda row: row["seconds"])
    terms = best["positives"] + best["synthetic_samples"]
    return {
        "seconds": round(best["seconds"], 3),
        "terms_per_second": round(terms / best["seconds"]),
        "milliseconds_a_batch": round(1000 * best["seconds"] / best["batches"], 2),
        "valid_mrr": round(history[-1]["valid_mrr"], 4),
    }


def sums(count: int, sizes: list[int]) -> dict[str, float]:
    """Milliseconds of a sum of so many float32 over ``count`` processes, after a few to warm up."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.processes", "--sum", f"{folder}/store"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        running = [
            subprocess.Popen(
                [*command, *map(str, (index, count, *sizes))],
                env=environment, stdout=subprocess.PIPE, text=True,
            )
            for index in range(count)
        ]  # fmt: skip
        found = [process.communicate()[0] for process in running]
    return dict(json.loads(found[0]))


def measure_sums(path: str, index: int, count: int, sizes: list[int]) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{path}", rank=index, world_size=count)
    found = {}
    for size in sizes:
        tensor, seconds = torch.zeros(size), []
        for _ in range(12):
            began = time.perf_counter()
            dist.all_reduce(tensor)
            seconds.append(time.perf_counter() - began)
        found[str(size)] = round(1000 * min(seconds), 3)
    dist.barrier()
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default="codex-s")
    parser.add_argument("--model", default="conve")
    parser.add_argument("--regime", default="1-n")
    parser.add_argument("--strategy", default="standard")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--processes", type=int, nargs="+", default=[2])
    parser.add_argument("--sum", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sum:
        path, *numbers = options.sum
        index, count, *sizes = map(int, numbers)
        measure_sums(path, index, count, sizes)
        return
    threads = torch.get_num_threads()
    best: dict[int, dict[str, Any]] = {}
    for _ in range(options.rounds):
        for count in [1, *options.processes]:
            with tempfile.TemporaryDirectory() as folder:
                found = summary(train(count, threads, Path(folder) / "run", options))
            if count not in best or found["seconds"] < best[count]["seconds"]:
                best[count] = found
    for count, found in best.items():
        found["threads_each"] = max(1, threads // count)
        found["speed_up"] = round(best[1]["seconds"] / found["seconds"], 2)
    report = {
        "settings": {k: v for k, v in vars(options).items() if k != "sum"},
        "processes": best,
        "milliseconds_of_a_sum": {n: sums(n, [1000, 10**6, 10**7]) for n in options.processes},
        "machine": describe(),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
