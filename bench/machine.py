"""What the figures were measured on, and a probe that lets other machines scale them."""

from __future__ import annotations

import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import torch

PROBE_SIZE = 2048


def matmul_gflops(dtype: torch.dtype = torch.float32, repeats: int = 3) -> float:
    """Median GFLOP/s of a square matrix product of side ``PROBE_SIZE``."""
    left = torch.randn(PROBE_SIZE, PROBE_SIZE, dtype=torch.float32).to(dtype)
    right = torch.randn(PROBE_SIZE, PROBE_SIZE, dtype=torch.float32).to(dtype)
    left @ right
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - start)
    return 2 * PROBE_SIZE**3 / statistics.median(seconds) / 1e9


def _processor() -> tuple[str, bool]:
    """Name of the processor, and whether it multiplies bf16 natively."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor(), False
    text = info.read_text(encoding="utf-8", errors="replace")
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if "model name" in line]
    return (names[0] if names else "unknown"), ("avx512_bf16" in text or "amx_bf16" in text)


def describe() -> dict[str, Any]:
    """The machine as every benchmark's JSON records it."""
    name, native_bf16 = _processor()
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "native_bf16": native_bf16,
        "matmul_gflops_fp32": round(matmul_gflops(), 1),
        "matmul_gflops_bf16": round(matmul_gflops(torch.bfloat16), 1) if native_bf16 else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": platform.platform(terse=True),
    }
