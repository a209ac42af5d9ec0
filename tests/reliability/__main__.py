"""``make reliability``: kills, faults and foreign bytes, one JSON line a try, no loss allowed."""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

# Before any import that would start threads: forks of a process with threads are not safe.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

PARTS = ("kills", "faults", "fuzz")


def main():
    """Runs the parts asked for; 1 where anything was lost."""
    options = parse()
    from tests.reliability.summary import summary
    from tests.reliability.training import warm_up

    warm_up()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    records = []
    with (
        tempfile.TemporaryDirectory(prefix="dglkgmix-") as folder,
        options.out.open("w") as log,
    ):
        for record in tries(options, Path(folder)):
            line = json.dumps(record).replace(f"{folder}/", "")
            records.append(record)
            log.write(line + "\n")
            log.flush()
            if record["lost"]:
                print(f"\nLOST: {line}", file=sys.stderr)
    print(summary(records))
    print(f"Log: {options.out}")
    return int(any(record["lost"] for record in records))


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="trainings to kill")
    parser.add_argument("--faults", type=int, default=5, help="tries of each fault")
    parser.add_argument("--inputs", type=int, default=5000, help="foreign inputs of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first try")
    parser.add_argument("--out", type=Path, default=Path("build/reliability.jsonl"))
    return parser.parse_args()


def tries(options, base):
    """The records of all parts, in order."""
    from tests.reliability.faults import faults, kills
    from tests.reliability.foreign import foreign
    from tests.reliability.training import undisturbed

    whole = undisturbed(base)
    yield {
        "kind": "whole",
        "seconds": round(whole.seconds, 3),
        "weights": whole.weights,
        "lost": "",
    }
    start = time.monotonic()
    for part in (
        kills(whole, base, options.kills, options.seed),
        faults(whole, base, options.faults, options.seed),
        foreign(whole, base, options.inputs, options.seed),
    ):
        for record in part:
            print(f"\r{time.monotonic() - start:6.1f} s  {record['kind']:<8}", end="", flush=True)
            yield record
    print("\r", end="")


if __name__ == "__main__":
    sys.exit(main())
