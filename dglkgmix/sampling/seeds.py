"""Seeds that follow from one seed and a purpose, the same in every process and on every machine."""

from __future__ import annotations

import hashlib

import torch


def derive(seed: int, *parts: int | str) -> int:
    """A seed in [0, 2**63) for one purpose, as ``derive(0, "partners", epoch)``.

    A digest of the values and their types, so that nearby seeds and parts give unrelated results
    and ``derive(1, 23)`` differs from ``derive(12, 3)`` and from ``derive(1, "23")``. Python's own
    ``hash`` would differ from process to process.
    """
    text = "\0".join(f"{type(part).__name__}:{part}" for part in (seed, *parts))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def generator(seed: int, *parts: int | str) -> torch.Generator:
    """A CPU generator that starts at ``derive(seed, *parts)``."""
    return torch.Generator().manual_seed(derive(seed, *parts))
