"""Where a training runs and with which precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch

from dglkgmix.errors import ConfigError

Precision = Literal["auto", "fp32", "bf16"]
# Names of /proc/cpuinfo for instructions that multiply bfloat16 faster than float32: Intel's matrix
# unit, then ARM, then AMD (Zen 4: 140-153 GF/s against 39-70, one thread, beside other work).
# Intel's avx512_bf16 alone does not: 85-96 against 150-205 (Sapphire Rapids without AMX).
_BF16_FLAGS = {"amx_bf16", "bf16"}
_AMD, _AMD_BF16_FLAGS = "AuthenticAMD", {"avx512_bf16"}


def pick_device(name: str) -> torch.device:
    """``auto`` is CUDA where there is a GPU, else the CPU.

    Raises:
        ConfigError: a name that PyTorch does not know, or a GPU that is not there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(
            f"runtime.device {name!r} is no device: auto, cpu, cuda, cuda:1 …"
        ) from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"runtime.device {name!r}: only cpu and cuda are supported")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"runtime.device {name!r}: PyTorch sees {torch.cuda.device_count()} CUDA devices here; "
            "take --device cpu"
        )
    return device


def pick_precision(name: Precision, device: torch.device) -> Precision:
    """``auto`` is bf16 where ``device`` multiplies it natively, fp32 elsewhere."""
    if name != "auto":
        return name
    return "bf16" if multiplies_bf16(device) else "fp32"


def multiplies_bf16(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether bfloat16 products are faster than float32 ones: emulated ones are not."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return False
    lines = text.lower().splitlines()
    flags = next((line for line in lines if line.startswith(("flags", "features"))), "")
    multiplying = _BF16_FLAGS | (_AMD_BF16_FLAGS if _AMD in text else set())
    return bool(multiplying & set(flags.split()))


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """PyTorch's global generators start from ``seed``; the caller's come back afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """PyTorch computes with ``count`` threads: results hold to the bit for one number only."""
    before = torch.get_num_threads()
    if count != before:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        if count != before:
            torch.set_num_threads(before)
