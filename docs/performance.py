"""``make performance``: the tables of docs/performance.md, from the JSON of the benchmarks.

``python docs/performance.py --take FOLDER`` first copies the JSON that ``make bench`` left there.
Each table stands between two comments that name it; a part that has not been measured has no table,
and its section is left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE / "performance.md"
FOLDER = HERE / "results" / "performance"
Row = dict[str, Any]


def load(name: str) -> dict[str, Any] | None:
    """The JSON of a part, or None where it has not been measured."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def seconds(value: float | None) -> str:
    """Three digits, with a unit."""
    if value is None:
        return ""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}" if value < 1000 else f"{value:,.0f} s"
    return f"{value * 1e9:.3g} ns"


def times(value: float | None) -> str:
    """A ratio."""
    return "" if value is None else f"{value:.2f}×"


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> str:
    """What the parts were measured on, and which of them on which."""
    seen: dict[tuple[Any, ...], tuple[Row, list[str]]] = {}
    for heading, name, _ in SECTIONS:
        if result := load(name):
            found = result["machine"]
            key = (found["processor"], found["cores"], found["threads"], found["native_bf16"])
            seen.setdefault(key, (found, []))[1].append(heading)
    return "\n".join(
        f"- {m['processor']}, {m['cores']} cores, {m['threads']} thread{'s' * (m['threads'] > 1)}, "
        f"{'with' if m['native_bf16'] else 'without'} native bf16; {m['matmul_gflops_fp32']:.0f} "
        f"GFLOP/s in a float32 product of 2,048 × 2,048; PyTorch {m['torch']}, "
        f"Python {m['python']}: {', '.join(headings)}"
        for m, headings in seen.values()
    )


def training(rows: list[Row]) -> str:
    """Decoders beside the textbook."""
    return markdown(
        ["", "graph", "batch", "an epoch", "textbook", "ratio"],
        [
            [
                row["case"], row["graph"], str(row["batch"]), seconds(row["ours"]["epoch_seconds"]),
                seconds(row.get("textbook", {}).get("epoch_seconds")), times(row.get("ratio")),
            ]
            for row in rows
            if "to_standard" not in row
        ],
    )  # fmt: skip


def strategies(rows: list[Row]) -> str:
    """Strategies in both regimes, beside the standard one."""
    return markdown(
        ["", "graph", "an epoch", "to standard"],
        [
            [row["case"], row["graph"], seconds(row["ours"]["epoch_seconds"]),
             times(row["to_standard"])]
            for row in rows
            if "to_standard" in row
        ],
    )  # fmt: skip


def mixup(rows: list[Row]) -> str:
    """Mixup's epoch beside the standard one's."""
    return markdown(
        ["graph", "regime", "strategy", "an epoch", "to standard", "faster than 1-K"],
        [
            [row["graph"], row["way"], row["mixup"], seconds(row["epoch_seconds"]),
             times(row["to_standard"]), times(row["to_1_k"])]
            for row in rows
            if "to_1_k" in row
        ],
    )  # fmt: skip


def softmax(rows: list[Row]) -> str:
    """The same of ComplEx with softmax cross-entropy."""
    return markdown(
        ["graph", "strategy", "rivals", "an epoch", "to standard"],
        [
            [row["graph"], row["mixup"], str(row.get("rivals", "")),
             seconds(row["epoch_seconds"]), times(row["to_standard"])]
            for row in rows
            if "to_1_k" not in row
        ],
    )  # fmt: skip


def profiles(rows: list[Row]) -> str:
    """Shares of a step."""
    shares = [name for name in rows[0] if name not in ("case", "graph", "batch")]
    return markdown(
        ["", "graph", *shares],
        [
            [row["case"], row["graph"], *(f"{100 * row[name]:.0f} %" for name in shares)]
            for row in rows
        ],
    )


def evaluation(rows: list[Row]) -> str:
    """Ranking a test set."""
    return markdown(
        ["", "graph", "queries", "time", "to dglkgmix", "triples measured"],
        [
            [row["case"], row["graph"], f"{row['queries']:,}", seconds(row["seconds"]),
             times(row.get("times_ours")), f"{row['units']:,}"]
            for row in rows
        ],
    )  # fmt: skip


def partners(rows: list[Row]) -> str:
    """Drawing mixing partners."""
    return markdown(
        ["graph", "triples", "synthetic samples", "dglkgmix", "plain Python", "ratio"],
        [
            [row["graph"], f"{row['triples']:,}", f"{row['samples']:,}",
             seconds(row["ours"]["epoch_seconds"]), seconds(row["plain"]["epoch_seconds"]),
             times(row["ratio"])]
            for row in rows
        ],
    )  # fmt: skip


def memory(rows: list[Row]) -> str:
    """Peak memory."""
    return markdown(
        ["", "graph", "entities", "training triples", "peak memory", "triples a second"],
        [
            [row["case"], row["graph"], f"{row['entities']:,}", f"{row['triples']:,}",
             f"{row['peak_gib']:.2f} GiB",
             f"{row['triples_a_second']:,.0f}" if "triples_a_second" in row else ""]
            for row in rows
        ],
    )  # fmt: skip


def growth(rows: list[Row]) -> str:
    """Exponents."""
    return markdown(
        ["", "grows with", "from", "to", "time at the first", "at the last", "exponent"],
        [
            [row["what"], row["grows"], f"{row['sizes'][0]:,}", f"{row['sizes'][-1]:,}",
             seconds(row["seconds"][0]), seconds(row["seconds"][-1]), f"{row['exponent']:.2f}"]
            for row in rows
        ],
    )  # fmt: skip


def loading(rows: list[Row]) -> str:
    """From files to degrees."""
    return markdown(
        ["graph", "entities", "edges with reciprocals", "edge types", "time", "peak memory"],
        [
            [row["graph"], f"{row['entities']:,}", f"{row['edges']:,}", f"{row['edge_types']:,}",
             seconds(row["seconds_total"]), f"{row['peak_gib']:.2f} GiB"]
            for row in rows
        ],
    )  # fmt: skip


# Heading, the JSON's name and its tables.
SECTIONS: tuple[tuple[str, str, tuple[Callable[[list[Row]], str], ...]], ...] = (
    ("Training", "training", (training, strategies)),
    ("What mixup costs", "mixup", (mixup, softmax)),
    ("Where a step's time goes", "profiles", (profiles,)),
    ("Evaluation", "evaluation", (evaluation,)),
    ("Mixing partners", "partners", (partners,)),
    ("Memory", "memory", (memory,)),
    ("How cost grows", "growth", (growth,)),
    ("Loading", "loading", (loading,)),
)
# What each section measures, and how.
WORDS = {
    "training": """
A stated number of batches after a warm-up, scaled to the epoch by the number of its batches; the
median of several turns, in which both sides alternate in processes of their own. The textbook is
`bench/textbook.py`: float32, dense targets from a prebuilt index,
`binary_cross_entropy_with_logits`, Adam as it comes. TuckER's dropouts are .3, .4 and .5; mixup has
η = k = 5 and K = 100.
""",
    "mixup": """
`python -m bench.mixup`: ConvE with d = 200, batch 128, η = k = 5 and K = 100, in processor time on
one thread, all ways of a graph in turns, beside a training on the other core. The number beside
"mixup" is `strategy.draws`, the partners that an epoch draws of each triple's five; 0.5 is one
partner of half the triples (`strategy.share = 0.5`). "1-K by query" is `training.group_queries`.
A batch of 128 triples asks some 40 queries, and one of 512 some 160, with which an epoch has as
many steps as 1-N. Half of an epoch with small batches is what every step does to the whole model:
the optimiser, and the gradient of the entity table.
*To standard* is a ratio to the same regime without mixup. *Faster than 1-K* compares with 1-K
as the paper has it, standard with standard and mixup with mixup of all draws. The second table is
ComplEx, 1-N, with softmax cross-entropy, N3 and Adagrad, d = 512 and batch 500: `strategy.rivals`
are the entities that are drawn for a batch to stand for all but its synthetic tails.
At as many epochs most faster ways learn less, TuckER in 1-N and by query most of all:
[what they cost in quality](results/first-findings.md#fewer-synthetic-samples).
""",
    "profiles": """
Shares of the operators' own time. The products are the floor: in the same precision no version can
be faster than their share allows, and a processor that multiplies bf16 natively, which `precision =
"auto"` then takes, mostly shortens them. Where two thirds of a step are products, dropping all the
rest would make it 1.5 times as fast at most. So three times the speed of the textbook, whose
products are the same, is out of reach. What bf16 does to the quality of a model is
among the [results](results/first-findings.md#bf16-beside-float32).
""",
    "evaluation": """
Filtered ranks of the test set, both directions. The sides share the weights of a DistMult; the
slower ones rank a part of the triples, and their time is scaled.
""",
    "partners": """
All partners of an epoch. The plain side walks over 20,000 triples with `random.sample`, scaled to
all.
""",
    "memory": """
Peak resident memory of a process that does nothing else. ConvE 1-N is a whole training of one
epoch, from the files to the ranks of both splits. In 1-K a number of batches is trained, the epoch
ended, a state saved and 100 validation triples ranked. The figures of the generated graph are from
before every step of Adam updated the whole entity table: on one thread and with 1,000,000 training
triples, a batch then took 0.10 s of processor time and 4.24 GiB at the peak, and takes 0.46 s and
5.46 GiB now.

In bf16, oneDNN keeps scratch memory for each of the last 1,024 kinds of products, and relation
prediction, mixup and 1-K multiply other numbers of rows in each batch: ComplEx with d = 1,024 and
relation prediction held 11.6 GB on FB15k-237. A training in bf16 has it keep 32 kinds, and holds
1.4 GB in the same time, unless `ONEDNN_PRIMITIVE_CACHE_CAPACITY` and `LRU_CACHE_CAPACITY` are set.
""",
    "growth": """
One size varied at a time on generated graphs, else 15,000 entities, 200 relations, 100,000 triples,
batch 128 and d = 200. The exponent is the slope in logarithms: 1 is proportional, 0 no growth.
""",
    "loading": """
From the files to the DGL graph and all degrees, imports included, once.
""",
}
HEAD = """# Performance

What training, ranking and loading cost, beside a plain textbook version in PyTorch and PyKEEN's
evaluator. `make bench` measures the sections up to *Loading* in about a quarter of an hour on two
idle cores, and their tables are made of its JSON (`docs/results/performance`), which also holds
every single turn. The later sections name their own commands.

Measured on these, beside processes of idle priority at most where a section says nothing else:

{machine}
"""


# Measured by hand, with other programs than the benchmarks.
TAIL = """\
## What a step moves

`python -m bench.moved`, FB15k-237, d = 200 and batch 128 with Adam, ComplEx as named with batch
1,000 and Adagrad: sums over PyTorch's operators of a step, of the tensors that they read and write.
They do not depend on the processor. Copies from one type into another and allocations count from
1 MiB. *Before* is the version in which losses read float32 copies of bf16 scores, each block of the
table was converted for itself, and the gradient's norm was taken of every batch.

| | precision | dtype copies | their MB | allocations | MB moved | of these the optimiser |
| --- | --- | --- | --- | --- | --- | --- |
| ConvE | bf16, before | 14 | 102 | 24 | 533 | 159 |
| ConvE | bf16 | 6 | 62 | 15 | 390 | 159 |
| ConvE | float32, before | 0 | 0 | 12 | 504 | 159 |
| ConvE | float32 | 0 | 0 | 12 | 486 | 159 |
| TuckER | bf16, before | 12 | 171 | 22 | 1,023 | 353 |
| TuckER | bf16 | 4 | 131 | 13 | 858 | 353 |
| TuckER | float32, before | 0 | 0 | 10 | 1,062 | 353 |
| TuckER | float32 | 0 | 0 | 10 | 1,022 | 353 |
| DistMult | bf16, before | 10 | 75 | 14 | 343 | 96 |
| DistMult | bf16 | 2 | 35 | 5 | 217 | 96 |
| DistMult | float32, before | 0 | 0 | 4 | 296 | 96 |
| DistMult | float32 | 0 | 0 | 4 | 286 | 96 |
| ComplEx, d = 1,024, softmax | bf16, before | 71 | 449 | 110 | 2,173 | 369 |
| ComplEx, d = 1,024, softmax | bf16 | 3 | 185 | 35 | 1,505 | 369 |
| ComplEx, d = 1,024, softmax | float32, before | 0 | 0 | 25 | 1,901 | 369 |
| ComplEx, d = 1,024, softmax | float32 | 0 | 0 | 25 | 1,845 | 369 |

The copies that are left are those that training in bf16 needs: of each large weight a bf16 copy for
the products, and of its gradient a float32 copy, as PyTorch's CPU products of bf16 write bf16 alone
and its fused optimisers take gradients in the weights' own type.

## Beside other processes

OpenMP's threads wait for each other by spinning, on cores that other processes need. The command
line sets `GOMP_SPINCOUNT=30000` (libgomp's own is 300,000), unless that, `OMP_WAIT_POLICY` or
`KMP_BLOCKTIME` is set. Where other processes compute all the time, `train`, `evaluate`,
`experiment`, `tune` and `demo` take one thread less for each and say so, unless `OMP_NUM_THREADS`
is set. The number is recorded as `runtime.threads`. Linux tells how many threads run on the whole
machine, those of low priority included. A user's own Python process is left as it is.

`dglkgmix train world --epochs 25 --quiet` on two cores, alone (two turns) and beside one process
that multiplies matrices, in seconds:

| turns of a waiting thread | idle cores | beside one process |
| --- | --- | --- |
| 1,000, two threads | 16.5, 18.2 | 16.0 |
| 10,000, two threads | 13.1, 12.3 | 29.7 |
| 30,000, two threads | 11.1, 11.7 | 47.7 |
| 100,000, two threads | 12.2, 11.9 | 96.6 |
| 300,000, two threads | 12.4, 10.5 | 41.5 |
| one thread | 12.6 | 12.6 |

So 30,000 turns cost nothing on idle cores; what saves a busy machine is the smaller number of
threads, chosen when the command starts. A process that begins later slows it down as the column
shows.

`python -m bench.busy OUT --graph codex-s --turns 1` times whole commands, on two idle cores of a
Zen 4. Seconds from the command to its end, as the command line chooses (`chosen`) and with a thread
for each core and 300,000 turns, which is what PyTorch does by itself (`all cores`):

| | | alone | beside one process | beside two |
| --- | --- | --- | --- | --- |
| `demo` | chosen | 58.0 | 66.7 | 88.3 |
| | all cores | 64.2 | 59.8 | 117 |
| `train codex-s --model conve --epochs 1` | chosen | 9.49 | 11.8 | 16.8 |
| | all cores | 9.90 | 18.8 | 62.4 |
| `predict` on the demo's run | chosen | 2.18 | 2.29 | 3.58 |
| | all cores | 2.08 | 2.57 | 3.15 |

## Start-up

`dglkgmix predict` on a run without an encoder imports PyTorch and Arrow, and neither DGL, pandas
nor SciPy: on the demo's run 1.80 CPU seconds against 2.66 before, 0.67 times as many (six pairs in
turns, on a busy machine). `import torch` alone took 1.72 there.

## Beside another implementation

`python -m bench.reference --help` times a checkout that you name, such as the public KG-Mixup, and
dglkgmix in turns: an epoch, and what is not epochs.
"""


def render() -> str:
    """The page, with the sections that have been measured."""
    parts = [HEAD.format(machine=machine())]
    for heading, name, tables in SECTIONS:
        found = load(name)
        if found is not None:
            shown = [table(found["rows"]) for table in tables]
            parts.append("\n".join([f"## {heading}", WORDS[name], "\n\n".join(shown), ""]))
    return "\n".join([*parts, TAIL])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--take", type=Path, help="folder with new JSON")
    options = parser.parse_args()
    if options.take is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in sorted(options.take.glob("*.json")):
            shutil.copy(path, FOLDER / path.name)
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
