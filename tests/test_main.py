import runpy
import sys

import pytest

import dglkgmix


def test_python_m_is_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dglkgmix", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("dglkgmix", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"dglkgmix {dglkgmix.__version__}\n"
