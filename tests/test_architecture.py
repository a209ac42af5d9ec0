"""Rules of CONTRIBUTING.md, checked on the source files."""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from tests.conftest import ROOT, read_toml

# The step of each module, which imports from its own step or earlier ones. The longest prefix
# decides.
LAYERS = {
    "dglkgmix.errors": 0,
    "dglkgmix._dgl": 0,
    "dglkgmix.parquet": 0,
    "dglkgmix.allocator": 0,
    "dglkgmix.atomic": 0,
    "dglkgmix.files": 0,
    "dglkgmix.passwords": 0,
    "dglkgmix.paths": 0,
    "dglkgmix.plain": 0,
    "dglkgmix.version": 0,
    # Options are plain values: every step may read its own.
    "dglkgmix.config": 0,
    "dglkgmix.datasets": 0,
    "dglkgmix.kg": 1,
    "dglkgmix.sampling": 2,
    "dglkgmix.processes": 2,
    "dglkgmix.losses": 3,
    "dglkgmix.kernels": 4,
    "dglkgmix.models": 5,
    "dglkgmix.strategies": 6,
    "dglkgmix.evaluation": 7,
    "dglkgmix.runs": 8,
    "dglkgmix.training": 9,
    "dglkgmix.prediction": 10,
    "dglkgmix.report": 11,
    "dglkgmix.experiments": 12,
    "dglkgmix.estimator": 13,
    "dglkgmix.pipeline": 13,
    "dglkgmix.cli": 14,
    "dglkgmix.__main__": 15,
}
# Of the package's root, which offers names of every step to users.
TOP = 16
# Import name to package, where they differ.
PACKAGES = {"sklearn": "scikit-learn", "typing_extensions": "typing-extensions"}
# The estimator pickles, as users of scikit-learn expect.
PICKLES = ("dglkgmix/estimator/",)


def sources() -> list[Path]:
    """The Python files that are installed."""
    return sorted(p for folder in ("dglkgmix", "cli") for p in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    """``cli/main.py`` -> ``dglkgmix.cli.main``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "dglkgmix" else ("dglkgmix", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(node: ast.AST) -> list[str]:
    """The modules that an import statement may load."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def imports(path: Path) -> list[str]:
    return [name for node in ast.walk(tree(path)) for name in imported(node)]


def runtime_imports(path: Path) -> list[str]:
    """All but what stands under ``if TYPE_CHECKING``."""
    for_types = {
        id(node)
        for block in ast.walk(tree(path))
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    return [
        name
        for node in ast.walk(tree(path))
        if id(node) not in for_types
        for name in imported(node)
    ]


def top_imports(path: Path) -> list[str]:
    """What importing the module loads: no function bodies, no ``if TYPE_CHECKING``."""
    return [name for node in tree(path).body for name in imported(node)]


def layer(name: str) -> int | None:
    fitting = [prefix for prefix in LAYERS if f"{name}.".startswith(f"{prefix}.")]
    return LAYERS[max(fitting, key=len)] if fitting else None


def step(name: str) -> int:
    found = layer(name)
    return TOP if found is None else found


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and number of lines of each function's body, docstring apart."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            yield f"{label(path)}:{node.lineno} {node.name}", lines


def test_imports_go_up_the_way() -> None:
    wrong = [
        f"{label(path)} imports {name}"
        for path in sources()
        for name in imports(path)
        if name.split(".")[0] == "dglkgmix" and step(name) > step(name_of(path))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_needs_itself() -> None:
    """No circle of imports, those for types and in functions included."""
    names = {name_of(path): path for path in sources() if name_of(path) != "dglkgmix"}
    needs = {
        module: {
            max((name for name in names if f"{found}.".startswith(f"{name}.")), key=len, default="")
            for found in imports(path)
        }
        - {"", module}
        for module, path in names.items()
    }
    while ready := {module for module, found in needs.items() if not found & needs.keys()}:
        needs = {module: found for module, found in needs.items() if module not in ready}
    circle = {module: sorted(found & needs.keys()) for module, found in needs.items()}
    assert not circle, circle


def test_every_module_has_a_layer() -> None:
    unplaced = [label(p) for p in sources() if layer(name_of(p)) is None]
    assert unplaced == ["dglkgmix/__init__.py"]


def test_one_file_alone_imports_dgl() -> None:
    importers = {
        label(path)
        for path in sources()
        if "dgl" in {n.split(".")[0] for n in runtime_imports(path)}
    }
    assert importers <= {"dglkgmix/_dgl.py"}


def test_one_file_alone_reads_with_arrow() -> None:
    """Arrow's readers leave threads that can abort a process while it ends."""
    readers = re.compile(r"pq\.(?!write_table$|ParquetWriter$).+|(pa|pyarrow)\.ipc")
    modules = {f"pyarrow.{name}" for name in ("csv", "json", "dataset", "feather", "orc", "ipc")}
    found = [
        f"{label(path)} uses {ast.unparse(node)}"
        for path in sources()
        if label(path) != "dglkgmix/parquet.py"
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and readers.fullmatch(ast.unparse(node)))
        or modules & set(imported(node))
    ]
    assert not found, "\n".join(found)


def test_commands_import_the_library_only_when_they_run() -> None:
    light = {"click", *sys.stdlib_module_names}
    ours = (
        *("dglkgmix.cli.", "dglkgmix.config.", "dglkgmix.errors.", "dglkgmix.paths."),
        "dglkgmix.version.",
    )
    heavy = [
        f"{label(path)} imports {name}"
        for path in sources()
        if path.is_relative_to(ROOT / "cli")
        for name in top_imports(path)
        if name.split(".")[0] not in light and not name.startswith(ours)
    ]
    assert not heavy, "\n".join(heavy)


def test_settings_load_nothing_heavy(run_python) -> None:
    """Every command imports them before it knows what it is asked for."""
    code = "import sys, dglkgmix.config.assembly, dglkgmix.cli.options; print(*sys.modules)"
    found = {name.split(".")[0] for name in run_python(code).stdout.split()}
    assert "click" in found
    assert not found & {"torch", "dgl", "numpy", "pandas", "pyarrow", "sklearn", "scipy"}


def test_files_are_short() -> None:
    lengths = {label(p): len(p.read_text(encoding="utf-8").splitlines()) for p in sources()}
    # One table has a line for every option.
    del lengths["dglkgmix/config/tables.py"]
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def test_functions_are_short() -> None:
    """One in ten may be longer than 30 lines, none than 60: a method reads from top to bottom."""
    lengths = dict(item for path in sources() for item in functions(path))
    assert {name: n for name, n in lengths.items() if n > 60} == {}
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= 30


def test_nothing_that_runs_what_it_reads() -> None:
    """No pickle, no eval, no torch.load on any path that reads a file."""
    wrong = []
    for path in sources():
        allowed = label(path).startswith(PICKLES)
        wrong += [
            f"{label(path)} imports {name}"
            for name in imports(path)
            if name.split(".")[0]
            in {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
            and not allowed
        ]
        wrong += [
            f"{label(path)}:{node.lineno} calls {ast.unparse(node.func)}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) in {"eval", "exec", "compile", "torch.load", "__import__"}
        ]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_unfinished() -> None:
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error"]))
    found = [
        f"{label(path)}:{number}"
        for path in sources()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line)
    ]
    assert not found, "\n".join(found)


def kept_files() -> list[Path]:
    """All text files of the repository, but for what commands make and git keeps."""
    made = re.compile(
        r"^(\.git|\.venv.*|.*\.egg-info|build|dist|site|runs|\..*_cache|\.hypothesis)$"
    )
    return [
        path
        for entry in ROOT.iterdir()
        if not made.match(entry.name)
        for path in ([entry] if entry.is_file() else entry.rglob("*"))
        if path.is_file() and path.suffix not in {".pyc", ".png", ".parquet", ".gz"}
    ]


def test_no_file_speaks_of_one_machine() -> None:
    places = re.compile(rb"(?<![\w.])/(wo" + rb"rk|ro" + rb"ot|home/\w+|Users/\w+)/\w")
    found = [label(path) for path in kept_files() if places.search(path.read_bytes())]
    assert not found, "\n".join(found)


def mirror(path: Path) -> Path:
    """``dglkgmix/kg/index.py`` -> ``tests/kg/test_index.py``, ``_dgl.py`` -> ``test_dgl.py``."""
    inner = path.relative_to(ROOT / "dglkgmix" if path.is_relative_to(ROOT / "dglkgmix") else ROOT)
    return ROOT / "tests" / inner.parent / f"test_{inner.stem.strip('_')}.py"


def test_every_file_has_its_test() -> None:
    with_code = [p for p in sources() if p.name != "__init__.py" or list(functions(p))]
    missing = [label(mirror(path)) for path in with_code if not mirror(path).is_file()]
    assert not missing, "\n".join(missing)


class TestProject:
    def test_every_package_is_listed(self) -> None:
        """Folders of data inside packages count as packages."""
        folders = {
            path.parent
            for pattern in ("dglkgmix/**/*", "cli/**/*", "datasets/**/*")
            for path in ROOT.glob(pattern)
            if path.name == "__init__.py" or path.suffix in {".toml", ".txt", ".j2"}
        } - {ROOT / "datasets" / "facts"}  # what `world` is built from
        listed = read_toml(ROOT / "pyproject.toml")["tool"]["setuptools"]["packages"]
        assert listed == sorted(name_of(folder / "__init__.py") for folder in folders)

    def test_every_import_is_declared(self) -> None:
        project = read_toml(ROOT / "pyproject.toml")["project"]
        stated = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
        declared = {re.split(r"[\[>=;<]", item)[0].lower() for item in stated}
        used = {name.split(".")[0] for path in sources() for name in imports(path)}
        foreign = used - set(sys.stdlib_module_names) - {"dglkgmix", "tomllib"}
        assert {PACKAGES.get(name, name) for name in foreign} <= declared

    def test_every_pin_is_of_a_stated_version(self) -> None:
        lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith("#")]
        pin = re.compile(r'[\w.-]+==[\w.]+(; python_version (<|>=) "3\.1[12]")?')
        assert [line for line in pins if not pin.fullmatch(line)] == []
        assert "torch==2.13.0" in pins

    def test_the_first_commands_are_there(self) -> None:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in set(re.findall(r"\bmake ([a-z][a-z0-9-]+)", readme)):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
        assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
