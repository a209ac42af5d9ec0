"""All benchmarks one after the other: ``python -m bench``.

Parts whose JSON is in the folder already are passed over, so that what was interrupted goes on.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench.report import parser

PARTS = ("training", "mixup", "profiles", "evaluation", "partners", "memory", "growth", "loading")


def main() -> int:
    made = parser(__doc__)
    made.add_argument("--again", action="store_true", help="measure anew what is there")
    options = made.parse_args()
    failed = []
    for part in PARTS:
        if (options.out / f"{part}.json").exists() and not options.again:
            print(f"{part}: in {options.out} already (--again measures anew)", flush=True)
            continue
        print(f"\n== {part}", flush=True)
        started = time.perf_counter()
        command = [sys.executable, "-m", f"bench.{part}", "--out", str(options.out)]
        status = subprocess.run([*command, *(["--tiny"] if options.tiny else [])], check=False)
        failed += [part] if status.returncode else []
        print(f"{part}: {time.perf_counter() - started:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
