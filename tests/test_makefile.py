import os
import re
import subprocess

import pytest

from tests.conftest import ROOT
from tests.lowest_versions import lowest, pins

MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")


def make(*arguments):
    """Make as a person calls it, whatever make started the tests."""
    command = ["make", "--no-print-directory", *arguments]
    alone = {name: value for name, value in os.environ.items() if name not in MAKE}
    return subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=60)


def another_python(folder, version):
    """Says that it is some version, and fails all else that is asked of it."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\n[ "$1" = -V ] && echo "Python {version}"\nexit 1\n')
    program.chmod(0o755)
    return program


def test_an_unsupported_python_gets_one_clear_line(tmp_path):
    program = another_python(tmp_path, "3.13.1")
    done = make(f"PYTHON={program}", f"VENV={tmp_path / 'venv'}", "demo")
    first, *rest = done.stderr.splitlines()
    assert done.returncode == 2
    assert first == (
        "dglkgmix needs Python 3.10, 3.11 or 3.12: make PYTHON=/path/to/it demo "
        f"({program} is Python 3.13.1)"
    )
    assert [line for line in rest if not line.startswith("make: ")] == []
    assert done.stdout == ""
    assert not (tmp_path / "venv").exists()


def test_help_lists_every_command():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert commands is not None
    listed = [line.split()[1] for line in make("help").stdout.splitlines()]
    assert sorted(listed) == sorted(commands[1].split())


def test_no_recipe_names_a_host():
    stated = [ROOT / name for name in ("Makefile", "constraints.txt", ".ci/run")]
    for path in stated:
        assert not re.search(r"https?://|--(extra-)?index-url|--find-links", path.read_text()), path


@pytest.mark.parametrize(
    ("requirement", "pin"),
    [
        ("click>=8.2", "click==8.2"),
        ("dgl>=1.1.3,<3; python_version < '3.12'", "dgl==1.1.3; python_version < '3.12'"),
        ("scikit-learn>=1.4,<2", "scikit-learn==1.4"),
    ],
)
def test_the_lowest_version_of_a_requirement(requirement, pin):
    assert lowest(requirement) == pin


def test_every_requirement_states_a_lowest_version():
    assert "torch==2.4" in pins(ROOT / "pyproject.toml")
    with pytest.raises(ValueError, match="states no lowest version"):
        lowest("torch")
