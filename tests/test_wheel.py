import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import ROOT

STATED = ["pyproject.toml", "README.md", "LICENSE"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy: the build writes into the folder that it builds."""
    source = tmp_path_factory.mktemp("source")
    for name in ("dglkgmix", "cli", "datasets"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in STATED:
        shutil.copy(ROOT / name, source / name)
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", out, source]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.long
def test_the_wheel_holds_what_the_repository_does(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {
        str(path.relative_to(base))
        for base, folder in [(ROOT, "dglkgmix")]
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    for folder in ("cli", "datasets"):
        wanted |= {
            f"dglkgmix/{path.relative_to(ROOT)}"
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and not {"__pycache__", "facts"} & set(path.parts)
        }
    assert held == wanted


@pytest.mark.long
def test_it_works_without_the_source_tree(wheel, tmp_path, run_python):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = """
        import os, sys
        os.chdir(sys.argv[1])
        import dglkgmix
        from dglkgmix.cli import main
        for module in (dglkgmix, main):
            assert module.__file__.startswith(sys.argv[1]), module.__file__
        for arguments in ([], ["recipes"], ["data", "info", "world", "--json"]):
            status = main.main(arguments)
            assert status == (0 if arguments else 2), (arguments, status)
    """
    done = run_python(code, tmp_path, PYTHONPATH=tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert '"relations"' in done.stdout
