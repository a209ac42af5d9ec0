"""CUDA: agreement with the CPU, seconds of an epoch, and one training, unattended in 8 minutes.

    python bench/cuda.py FOLDER --out FOLDER/cuda.json

FOLDER holds the data sets ``fb15k-237/`` and ``codex-s/`` (train, valid and test files) and DGL's
wheel (``dgl-*.whl``), which is installed where DGL is missing, with whatever else dglkgmix needs,
from wheels in FOLDER or the package index. Beside that the machine needs PyTorch with CUDA and this
checkout. Each part has a share of the minutes; what is done is in the JSON at any time.

``--device cpu --dry`` goes through the same steps on a bundled graph in seconds, without a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

NEEDED = ("pyarrow", "safetensors", "sklearn", "scipy", "pandas", "click", "tqdm", "packaging")
PACKAGES = {"sklearn": "scikit-learn"}
# What float32 sums in another order come to over ten steps of a small model.
TOLERANCE = 1e-3


def main() -> None:
    options = _options()
    deadline = time.monotonic() + options.minutes * 60
    _install(options.folder)
    result: dict[str, Any] = {"bench": "cuda", "minutes": options.minutes, "parts": {}}
    for name, share, part in PARTS:
        left = deadline - time.monotonic()
        started = time.monotonic()
        try:
            found: dict[str, Any] = part(options, left * share)
        except Exception as error:  # the other parts still have their minutes
            found = {"error": f"{type(error).__name__}: {error}"}
        result["parts"][name] = {**found, "seconds": round(time.monotonic() - started, 1)}
        print(name, json.dumps(result["parts"][name]), flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sys.exit(any("error" in found for found in result["parts"].values()))


def _options() -> argparse.Namespace:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("folder", type=Path, help="data sets and DGL's wheel")
    made.add_argument("--out", type=Path, default=Path("cuda.json"), help="the JSON")
    made.add_argument("--minutes", type=float, default=7.5, help="for everything")
    made.add_argument("--device", default="cuda", help="cpu only to try the script")
    made.add_argument("--dry", action="store_true", help="a small graph and few batches")
    options = made.parse_args()
    if not options.folder.is_dir():
        made.error(f"{options.folder} is no folder")
    missing = [name for name in ("fb15k-237", "codex-s") if not (options.folder / name).is_dir()]
    if missing and not options.dry:
        made.error(f"{options.folder} lacks {' and '.join(missing)}")
    return options


def _install(folder: Path) -> None:
    """DGL from its wheel, not the PyTorch that it asks for; the rest from FOLDER or the index."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--find-links", str(folder)]
    missing = [PACKAGES.get(n, n) for n in NEEDED if importlib.util.find_spec(n) is None]
    if missing:
        subprocess.run([*pip, *missing], check=True)
    if importlib.util.find_spec("dgl") is None:
        wheels = sorted(map(str, folder.glob("dgl-*.whl")))
        subprocess.run([*pip, "--no-deps", wheels[-1] if wheels else "dgl==2.1.0"], check=True)
        subprocess.run([*pip, "networkx", "requests", "psutil", "pydantic", "pyyaml"], check=True)


def about(options: argparse.Namespace, _: float) -> dict[str, Any]:
    """The machine."""
    import torch

    from bench.machine import describe

    found = describe()
    if options.device != "cpu":
        found["gpu"] = torch.cuda.get_device_name()
        found["cuda"] = torch.version.cuda
        found["matmul_gflops_gpu_bf16"] = _gpu_gflops()
    return found


def _gpu_gflops(size: int = 8192, repeats: int = 10) -> float:
    import torch

    left = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    left @ left
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(repeats):
        left @ left
    torch.cuda.synchronize()
    return 2 * size**3 * repeats / (time.perf_counter() - started) / 1e9


def agreement(options: argparse.Namespace, _: float) -> dict[str, Any]:
    """Losses and weights after ten steps in float32 without dropout, against the CPU's."""
    found = {}
    for decoder in ("distmult", "conve", "tucker"):
        for regime, strategy in (("1-n", "standard"), ("1-k", "mixup")):
            cpu, device = (
                _ten_steps(options, decoder, regime, strategy, d) for d in ("cpu", options.device)
            )
            apart = max(abs(a - b) / abs(a) for a, b in zip(cpu[0], device[0], strict=True))
            weights = float((cpu[1] - device[1]).abs().mean() / cpu[1].abs().mean())
            found[f"{decoder} {regime} {strategy}"] = {"losses": apart, "tables": weights}
    agrees = all(max(pair.values()) < TOLERANCE for pair in found.values())
    if not agrees:
        return {"apart": found, "error": f"further apart than {TOLERANCE}"}
    return {"apart": found, "tolerance": TOLERANCE}


def _ten_steps(
    options: argparse.Namespace, decoder: str, regime: str, strategy: str, device: str
) -> tuple[list[float], Any]:
    import dataclasses

    from bench.steps import Steps, settings

    dropouts = ("input_dropout", "feature_dropout", "hidden_dropout", "hidden_dropout1",
                "hidden_dropout2")  # fmt: skip
    config = settings(decoder, regime, 64, strategy, dim=32, device=device, precision="fp32")
    model = dataclasses.replace(config.model, **dict.fromkeys(dropouts, 0.0))
    steps = Steps(_graph(options, "codex-s"), dataclasses.replace(config, model=model))
    losses = [steps(1)["loss"] for _ in range(10)]
    return losses, steps.loop.work.model.encoder.entity_table.detach().cpu()


def epochs(options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Whole epochs of ConvE 1-N and mixup 1-K on FB15k-237, the first one being a warm-up."""
    from bench.steps import Steps, settings

    found = {}
    stop = time.monotonic() + seconds
    for regime, batch, strategy in (
        ("1-n", 128, "standard"), ("1-n", 512, "standard"), ("1-k", 128, "mixup"),
    ):  # fmt: skip
        config = settings("conve", regime, batch, strategy, device=options.device)
        steps = Steps(_graph(options, "fb15k-237"), config)
        count = 3 if options.dry else len(steps.loop)
        taken = []
        for _ in range(3):
            if taken and time.monotonic() + max(taken) > stop:
                break
            _wait(options)
            started = time.perf_counter()
            steps(count)
            _wait(options)
            taken.append(time.perf_counter() - started)
        found[f"ConvE {regime} {strategy}, batch {batch}"] = {"batches": count, "seconds": taken}
    return {"epochs": found}


def training(options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """ConvE 1-N on FB15k-237 for as many epochs as fit, then its test MRR."""
    import dataclasses

    from bench.steps import Steps, settings
    from dglkgmix.runs.run import Run
    from dglkgmix.training.launch import train

    kg = _graph(options, "fb15k-237")
    config = settings("conve", "1-n", 512, device=options.device, validate_every=5)
    steps = Steps(kg, config)
    count = 3 if options.dry else len(steps.loop)
    steps(min(20, count))
    _wait(options)
    started = time.perf_counter()
    steps(count)
    _wait(options)
    an_epoch = (time.perf_counter() - started) * len(steps.loop) / count
    # A third is kept back for validations, the ranks and what runs slower than this epoch.
    fitting = 1 if options.dry else max(1, min(300, int(seconds * 0.65 / an_epoch)))
    config = dataclasses.replace(
        config, training=dataclasses.replace(config.training, epochs=fitting)
    )
    with tempfile.TemporaryDirectory() as folder:
        train(kg, config, Path(folder) / "run")
        run = Run.open(Path(folder) / "run")
        rows = [(row["epoch"], row["loss"], row["valid_mrr"]) for row in run.history]
        return {"epochs": fitting, "test": run.metrics["test"]["overall"], "history": rows}


def _graph(options: argparse.Namespace, name: str) -> Any:
    from dglkgmix.kg.sources import load

    if name not in _GRAPHS:
        _GRAPHS[name] = load("world" if options.dry else str(options.folder / name))
    return _GRAPHS[name]


def _wait(options: argparse.Namespace) -> None:
    """Until the GPU has done what it was given."""
    if options.device != "cpu":
        import torch

        torch.cuda.synchronize()


_GRAPHS: dict[str, Any] = {}
# Name, the share of what is then left of the time, and the part.
PARTS: tuple[tuple[str, float, Callable[[argparse.Namespace, float], dict[str, Any]]], ...] = (
    ("machine", 0.1, about),
    ("agreement", 0.2, agreement),
    ("epochs", 0.4, epochs),
    ("training", 0.9, training),
)

if __name__ == "__main__":
    main()
