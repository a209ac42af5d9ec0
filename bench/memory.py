"""Peak resident memory of trainings, and the rate of a million entities.

    python -m bench.memory

Each training runs in a process of its own. ConvE 1-N on FB15k-237 is a whole training of one
epoch, as ``dglkgmix train`` makes it: saving its state and ranking both splits included. The
million entities with ten million triples train ConvE 1-K for a stated number of batches; then the
epoch is ended, a state is saved and 100 triples are ranked, so that the peak has everything in it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from bench.generated import generated
from bench.report import leave, parser
from bench.steps import Steps, graph, settings
from bench.turns import Work, interleaved, peak_gib, sides

HOW = (
    "peak resident memory of the whole process; triples a second = positives of a batch / median "
    "seconds of a batch"
)
COLUMNS = ("case", "graph", "entities", "triples", "peak_gib", "triples_a_second", "epoch_seconds")


def whole(case: tuple[str, str]) -> Work:
    """One epoch of ConvE 1-N, from the files to the ranks."""
    _, name = case

    def work(_: int) -> dict[str, Any]:
        from dglkgmix.allocator import keep_freed_memory
        from dglkgmix.kg.sources import load
        from dglkgmix.runs.run import Run
        from dglkgmix.training.launch import train

        keep_freed_memory()
        kg = load(name)
        with tempfile.TemporaryDirectory() as folder:
            train(kg, settings(validate_every=1), Path(folder) / "run")
            peak = peak_gib()
            row = Run.open(Path(folder) / "run").history[-1]
        return {
            "entities": kg.num_entities, "triples": len(kg.train), "peak_gib": peak,
            "epoch_seconds": row["seconds"],
        }  # fmt: skip

    return work


def many(case: tuple[str, Any]) -> Work:
    """ConvE 1-K on a data set, or on a generated graph of (entities, relations, triples)."""
    _, source = case
    kg = graph(source) if isinstance(source, str) else generated(*source)
    steps = Steps(kg, settings(regime="1-k"))

    def work(count: int) -> dict[str, Any]:
        if count > 0:
            return steps(count)
        _end_epoch(steps.loop)
        return {"entities": kg.num_entities, "triples": len(kg.train), "peak_gib": peak_gib()}

    return work


def _end_epoch(loop: Any) -> None:
    """What a training does after its batches: validate, keep the best, save its state."""
    from dglkgmix.evaluation.queries import queries_of
    from dglkgmix.files import RunFolder
    from dglkgmix.runs.checkpoint import StateFile

    loop._valid = queries_of(loop.kg, loop.kg.valid[:100])
    loop.work.end_epoch()
    loop.work.record(loop._validation().goal)
    with tempfile.TemporaryDirectory() as folder, RunFolder.create(Path(folder) / "run") as run:
        StateFile(run, 1).save(loop.work.state(), torch.device("cpu"))


def rate(source: Any, batches: int, repeats: int) -> dict[str, Any]:
    """A row of 1-K."""
    case = ("ConvE 1-K", source)
    with sides(many) as (side,):
        started = time.perf_counter()
        (timing,) = interleaved([(side, case, batches)], repeats)
        _, notes = side.turn(case, 0)
        whole_seconds = time.perf_counter() - started
    speed = timing.notes["positives"] / batches / timing.median
    graph = source if isinstance(source, str) else "generated"
    return {
        "case": case[0], "graph": graph, **notes, "triples_a_second": speed,
        "measured_seconds": whole_seconds, **timing.report(),
    }  # fmt: skip


def main() -> None:
    options = parser(__doc__).parse_args()
    large, name = (1_000_000, 500, 10_000_000), "fb15k-237"
    if options.tiny:
        large, name = (20_000, 50, 50_000), "world"
    batches, repeats = (2, 2) if options.tiny else (20, 3)
    with sides(whole) as (side,):
        _, notes = side.turn(("ConvE 1-N", name), 1)
    rows = [{"case": "ConvE 1-N", "graph": name, **notes}]
    rows += [rate(source, batches, repeats) for source in (name, large)]
    rows[2]["rate_of_the_smaller"] = rows[2]["triples_a_second"] / rows[1]["triples_a_second"]
    leave("memory", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
