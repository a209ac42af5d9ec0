"""Knowledge graph completion that knows about degree bias.

The names below are imported from their modules on first use, so that ``import dglkgmix`` loads
neither PyTorch nor DGL.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.training.config import Config

__version__ = "0.1.0"

# Public name to module.
_EXPORTS = {
    "Config": "dglkgmix.training.config",
    "KnowledgeGraph": "dglkgmix.kg.graph",
}

__all__ = ["Config", "KnowledgeGraph", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value  # The next look-up finds it at once.
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
