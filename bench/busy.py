"""Whole commands, quiet and beside busy processes: ``python -m bench.busy OUT [--graph FOLDER]``.

Each command runs as the command line chooses (``chosen``) and with as many OpenMP threads as there
are cores (``all cores``, what PyTorch does by itself). Seconds from the command to its end; the
median of ``--turns``. The busy processes multiply matrices on one thread each.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

_BUSY = (
    "import torch; torch.set_num_threads(1); a = torch.rand(1024, 1024)\nwhile True: torch.mm(a, a)"
)


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began


def _commands(out: Path, graph: Path | None) -> dict[str, list[str]]:
    tool = [sys.executable, "-m", "dglkgmix"]
    demo = out / "demo"
    if not demo.exists():
        _seconds([*tool, "demo", "--out", str(demo)], dict(os.environ))
    run = demo / "mixup"
    query = ["predict", str(run), "--head", "Austria", "--relation", "member of"]
    commands = {
        "help": [*tool, "--help"],
        "predict": [*tool, *query],
        "demo": [*tool, "demo", "--overwrite", "--out", str(out / "again")],
    }
    if graph is not None:
        conve = ["--model", "conve", "--epochs", "1", "--out", str(out / "conve"), "--overwrite"]
        commands["ConvE, one epoch"] = [*tool, "train", str(graph), *conve]
    return commands


def main() -> None:
    """Print a row for each command: quiet, beside one and beside two busy processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--graph", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    plain = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    sides = {
        "chosen": plain,
        "all cores": {**plain, "OMP_NUM_THREADS": str(os.cpu_count()), "GOMP_SPINCOUNT": "300000"},
    }
    for name, command in _commands(given.out, given.graph).items():
        if given.only and name not in given.only:
            continue
        for count in range(3):
            took: dict[str, list[float]] = {side: [] for side in sides}
            load = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(count)]
            try:
                time.sleep(3 * bool(count))
                for _ in range(given.turns):
                    for side, environment in sides.items():
                        took[side].append(_seconds(command, environment))
            finally:  # They would compute for ever after a command that fails, or Ctrl-C.
                for process in load:
                    process.kill()
            row = "  ".join(f"{side} {statistics.median(t):.2f} s" for side, t in took.items())
            print(f"{name}, beside {count}: {row}", flush=True)


if __name__ == "__main__":
    main()
