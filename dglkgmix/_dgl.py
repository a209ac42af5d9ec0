"""The one place that imports DGL, and makes it import: ``from dglkgmix._dgl import dgl``.

Three things stand between DGL and a current PyTorch:

- Without ``DGLBACKEND`` DGL prints a notice and writes ``~/.dgl/config.json``.
- DGL 2.1 loads its graphbolt library at import and fails where there is none for the installed
  PyTorch (all after 2.2.1). Nothing here uses graphbolt, so a stand-in takes its place, but only
  where the real one does not load; whoever then uses graphbolt is told so.
- Some packages that DGL imports are not among its declared requirements.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from dglkgmix.errors import DependencyError

GRAPHBOLT = "dgl.graphbolt"
BACKEND = "DGLBACKEND"
# Modules whose package has another name; DGL falls back on setuptools where packaging is missing.
PACKAGES = {"setuptools": "packaging", "yaml": "pyyaml"}
INSTALL = "pip install 'dgl>=1.1.3,<3'"


class _StandIn(ModuleType):
    """Takes the place of ``dgl.graphbolt``; any use of it says why it is not there."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(GRAPHBOLT, "Stand-in for the graphbolt library, which did not load.")
        self.__path__: list[str] = []
        self._cause = cause

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and its tools look for these everywhere.
            raise AttributeError(name)
        raise self.error(f"{GRAPHBOLT}.{name}")

    def error(self, used: str) -> DependencyError:
        """Says which part of graphbolt was used and why it cannot be had."""
        return DependencyError(
            f"{used} was used, but DGL's graphbolt library did not load "
            f"({_first_line(self._cause)}). dglkgmix does without it; graphbolt itself needs a DGL "
            "built for this PyTorch, or DGL 2.1.0 with torch<=2.2.1 and torchdata<0.9"
        )


class _GraphboltFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the real graphbolt, or puts the stand-in in its place.

    It has to act during DGL's import: a second ``import dgl`` after a failed first one would
    register DGL's types with its C library twice.
    """

    def __init__(self) -> None:
        self.stand_in: _StandIn | None = None
        self._loader: importlib.abc.Loader

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answers for graphbolt alone."""
        if self.stand_in is not None and name.startswith(f"{GRAPHBOLT}."):
            raise self.stand_in.error(name)
        if name != GRAPHBOLT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            self._loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Leaves the module object to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the real module; where that fails, the stand-in stays in ``sys.modules``."""
        try:
            self._loader.exec_module(module)
        except (ImportError, OSError, RuntimeError, AttributeError) as error:
            for name in [name for name in sys.modules if name.startswith(f"{GRAPHBOLT}.")]:
                del sys.modules[name]
            self.stand_in = _StandIn(error)
            sys.modules[GRAPHBOLT] = self.stand_in


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _choose_backend() -> None:
    chosen = os.environ.get(BACKEND) or "pytorch"
    if chosen != "pytorch":
        raise DependencyError(
            f"{BACKEND} is {chosen!r} in the environment, but dglkgmix needs DGL on PyTorch: "
            f"unset it, or set {BACKEND}=pytorch"
        )
    # Kept set: a child process that imports DGL by itself stays silent too.
    os.environ[BACKEND] = chosen


def _explain(error: Exception) -> DependencyError:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing == "dgl":
        return DependencyError(f"DGL is not installed: {INSTALL}")
    if missing and not missing.startswith("dgl."):
        top = missing.partition(".")[0]
        package = PACKAGES.get(top, top)
        return DependencyError(f"DGL needs the package {package!r}: pip install {package}")
    return DependencyError(
        f"DGL is installed but does not load ({_first_line(error)}): "
        f"try {INSTALL} --force-reinstall --no-deps"
    )


def _load() -> ModuleType:
    if "dgl" in sys.modules:  # The user's own import came first; it is as good.
        return sys.modules["dgl"]
    _choose_backend()
    finder = _GraphboltFinder()
    sys.meta_path.insert(0, finder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # DGL's and torchdata's own deprecations
            return importlib.import_module("dgl")
    except (ImportError, OSError) as error:
        raise _explain(error) from error
    finally:
        if finder.stand_in is None:  # Else it stays, to explain imports of graphbolt's parts.
            sys.meta_path.remove(finder)


dgl: Any = _load()
