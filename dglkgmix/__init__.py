"""Knowledge graph completion that knows about degree bias.

The names below are imported from their modules on first use, so that ``import dglkgmix`` loads
neither PyTorch nor DGL.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dglkgmix.version import __version__

if TYPE_CHECKING:
    from dglkgmix.config import Config
    from dglkgmix.estimator.completer import KGCompleter
    from dglkgmix.evaluation.rank_table import RankTable
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.sources import load
    from dglkgmix.models.link_predictor import LinkPredictor
    from dglkgmix.prediction.answers import Predictor
    from dglkgmix.runs.run import Run
    from dglkgmix.training.launch import train

# Public name to module.
_EXPORTS = {
    "Config": "dglkgmix.config",
    "DegreeBins": "dglkgmix.kg.degrees",
    "KGCompleter": "dglkgmix.estimator.completer",
    "KnowledgeGraph": "dglkgmix.kg.graph",
    "LinkPredictor": "dglkgmix.models.link_predictor",
    "Predictor": "dglkgmix.prediction.answers",
    "RankTable": "dglkgmix.evaluation.rank_table",
    "Run": "dglkgmix.runs.run",
    "load": "dglkgmix.kg.sources",
    "train": "dglkgmix.training.launch",
}

__all__ = [
    "Config",
    "DegreeBins",
    "KGCompleter",
    "KnowledgeGraph",
    "LinkPredictor",
    "Predictor",
    "RankTable",
    "Run",
    "__version__",
    "load",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value  # The next look-up finds it at once.
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
