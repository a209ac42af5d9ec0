"""``make mutants``: every small change to the numeric core, and whether a test notices.

Each mutant is tried in a fork of one warm process that has imported everything and never computed:
the fork puts the changed code in its place and runs the mirrored tests of that module until the
first failure. What survives is tried once more in a fork that imports all of the package afresh,
the changed module in its place. Time is counted as the processor's, so that a busy machine kills no
mutant.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from tests.mutation.operators import Mutant, mutants  # noqa: E402
from tests.mutation.transplant import transplant  # noqa: E402

FILES = (
    "dglkgmix/kg/degrees.py",
    "dglkgmix/sampling/mixup.py",
    "dglkgmix/evaluation/ranking.py",
    "dglkgmix/training/losses",
)
SURVIVED, FAILED = 0, 1


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed tree."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        tree = ast.fix_missing_locations(self.tree)
        exec(compile(tree, str(self.path), "exec"), module.__dict__)


def main() -> int:
    """Tries all mutants of all files; prints how many survived."""
    options = parse()
    warm_up()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    records = []
    with options.out.open("w") as log:
        for path in files(options.files):
            for record in try_file(path):
                records.append(record)
                log.write(json.dumps(record) + "\n")
                log.flush()
    survivors = [record for record in records if record["end"] == "survived"]
    print(f"{len(records)} mutants, {len(survivors)} survived. Log: {options.out}")
    return 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("files", nargs="*", default=FILES, help="modules, or folders of them")
    parser.add_argument("--out", type=Path, default=Path("build/mutants.jsonl"))
    return parser.parse_args()


def warm_up() -> None:
    """Import what modules and tests import."""
    import hypothesis

    for name in ("pandas", "scipy.stats", "torch._dynamo", "dglkgmix.training.launch"):
        importlib.import_module(name)
    hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("mutants")


def files(chosen: list[str]) -> Iterator[Path]:
    """Modules that have code of their own."""
    for path in map(Path, chosen):
        yield from (
            (p for p in sorted(path.glob("*.py")) if p.name != "__init__.py")
            if (path.is_dir())
            else [path]
        )


def try_file(path: Path) -> Iterator[dict[str, Any]]:
    """A record for each mutant of a module, after a try without any change."""
    source = path.read_text(encoding="utf-8")
    tests = Path("tests", *path.parts[1:-1], f"test_{path.name}")
    status, seconds = attempt(path, ast.parse(source), tests, limit=300)
    if status != SURVIVED:
        raise SystemExit(f"{tests} fails without any change ({status})")
    print(f"{path}: {seconds:.1f} s of {tests}", flush=True)
    limit = int(4 * seconds + 20)
    for mutant in mutants(source):
        status, spent = attempt(path, mutant.tree, tests, limit)
        if status == SURVIVED:
            status, spent = attempt(path, mutant.tree, tests, limit, afresh=True)
        yield record(path, mutant, status, spent)


def record(path: Path, mutant: Mutant, status: int, spent: float) -> dict[str, Any]:
    """One line of the log."""
    end = {SURVIVED: "survived", FAILED: "failed"}.get(status, f"broken ({status})")
    found = {
        "file": str(path),
        "line": mutant.line,
        "before": mutant.before,
        "after": mutant.after,
        "end": end,
        "seconds": round(spent, 2),
    }
    if end == "survived":
        print(f"  {path.name}:{mutant.line}  {mutant.before}  ->  {mutant.after}", flush=True)
    return found


def attempt(
    path: Path, tree: ast.Module, tests: Path, limit: int, *, afresh: bool = False
) -> tuple[int, float]:
    """Exit status of the tests with the module so, and the seconds they took."""
    child = os.fork()
    if child == 0:
        os._exit(run_tests(path, tree, tests, limit, afresh))
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def run_tests(path: Path, tree: ast.Module, tests: Path, limit: int, afresh: bool) -> int:
    """In the fork."""
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    name = ".".join(path.with_suffix("").parts)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is warm
    try:
        if afresh:
            for each in [each for each in sys.modules if each.split(".")[0] == "dglkgmix"]:
                del sys.modules[each]
            sys.meta_path.insert(0, Loader(name, path, tree))
        else:
            transplant(importlib.import_module(name), tree)
        return int(pytest.main([*options, str(tests)]))
    except BaseException:
        return FAILED


if __name__ == "__main__":
    start = time.process_time()
    sys.exit(main())
