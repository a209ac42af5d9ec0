"""A checkout of another implementation, as the public KG-Mixup, beside dglkgmix, in turns.

Both sides are commands, run as whole processes with two numbers of epochs. An epoch is the
difference; what remains is start-up, data and evaluation. The checkout stays where it is:

    python -m bench.reference --path ../kg-mixup \\
        --command "python {path}/src/main.py --epochs {epochs}" \\
        --ours "dglkgmix train fb15k-237 --model conve --epochs {epochs} --quiet --out {out}"

Give both the same model, batch size, dimension and evaluation: the options are theirs.
"""

from __future__ import annotations

import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.report import Row, leave, parser

HOW = "whole processes in turns; medians; epoch = difference of two numbers of epochs"


def main(arguments: Sequence[str] | None = None) -> int:
    made = parser(__doc__)
    made.add_argument("--path", type=Path, required=True, help="the checkout, for {path}")
    made.add_argument("--command", required=True, help="its training, with {path} and {epochs}")
    made.add_argument("--ours", required=True, help="ours, with {epochs} and {out}, a new folder")
    made.add_argument("--epochs", type=int, nargs=2, default=(1, 3), metavar=("FEW", "MORE"))
    made.add_argument("--repeats", type=int, default=3)
    options = made.parse_args(arguments)
    if not options.path.is_dir():
        made.error(f"--path {options.path}: no such folder")
    if not 0 < options.epochs[0] < options.epochs[1] or options.repeats < 1:
        made.error("--epochs takes two ascending numbers from 1, --repeats one from 1")
    for name in ("command", "ours"):
        if "{epochs}" not in getattr(options, name):
            made.error(f"--{name} needs {{epochs}}: two numbers of epochs are compared")
    sides = {"reference": options.command, "dglkgmix": options.ours}
    seconds: dict[tuple[str, int], list[float]] = {}
    for _ in range(1 if options.tiny else options.repeats):
        for epochs in options.epochs:
            for side, template in sides.items():
                took = _seconds(template, options.path, epochs)
                seconds.setdefault((side, epochs), []).append(took)
    leave("reference", options.out, HOW, _rows(seconds, *options.epochs), COLUMNS)
    return 0


COLUMNS = ("part", "reference", "dglkgmix", "ratio")


def _seconds(template: str, path: Path, epochs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        fields = {"path": path.resolve(), "epochs": epochs, "out": Path(folder) / "run"}
        command = [word.format(**fields) for word in shlex.split(template)]
        started = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        took = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: exit status {done.returncode}")
    return took


def _rows(seconds: dict[tuple[str, int], list[float]], few: int, more: int) -> list[Row]:
    parts: dict[str, Row] = {"epoch": {}, "start-up, data and evaluation": {}}
    for side in ("reference", "dglkgmix"):
        first, last = (statistics.median(seconds[side, epochs]) for epochs in (few, more))
        epoch = (last - first) / (more - few)
        for row, value in zip(parts.values(), (epoch, first - few * epoch), strict=True):
            row[side] = value
    return [
        {"part": part, **row, "ratio": row["reference"] / row["dglkgmix"]}
        for part, row in parts.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
