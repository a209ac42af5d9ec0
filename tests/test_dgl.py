import os
import sys

import pytest

from dglkgmix import _dgl
from dglkgmix.errors import DependencyError


def fake_dgl(folder, graphbolt=None, init=""):
    """A package named dgl that imports its graphbolt at import, as DGL 2.1 does."""
    package = folder / "dgl"
    package.mkdir()
    start = "" if graphbolt is None else "from . import graphbolt\n"
    (package / "__init__.py").write_text(start + init)
    if graphbolt is not None:
        (package / "graphbolt").mkdir()
        (package / "graphbolt" / "__init__.py").write_text(graphbolt)
        (package / "graphbolt" / "base.py").write_text("ItemSet = 'the real one'\n")
    return folder


class TestRealDgl:
    def test_imports_in_silence_and_writes_nothing_at_home(self, run_python, tmp_path):
        code = """
            import os
            from dglkgmix._dgl import dgl
            assert dgl.backend.backend_name == "pytorch"
            assert os.environ["DGLBACKEND"] == "pytorch"
        """
        done = run_python(
            code, HOME=tmp_path, DGLBACKEND=None, DGLDEFAULTDIR=None, PYTHONWARNINGS="always"
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert list(tmp_path.iterdir()) == []

    def test_an_undeclared_need_is_named(self, run_python):
        code = """
            import sys
            sys.modules["packaging"] = None
            sys.modules["setuptools.extern"] = None  # DGL's second choice
            import dglkgmix._dgl
        """
        message = "DependencyError: DGL needs the package 'packaging': pip install packaging"
        assert message in run_python(code).stderr


class TestGraphbolt:
    USE = """
        import sys
        from dglkgmix._dgl import dgl
        from dglkgmix.errors import DependencyError
        uses = [
            "dgl.graphbolt.ItemSet",
            "from dgl.graphbolt import ItemSet",
            "import dgl.graphbolt.base",
            "from dgl.graphbolt.base import ItemSet",
        ]
        for use in uses:
            try:
                exec(use)
                print("works")
            except DependencyError as error:
                print(error)
        print(hasattr(dgl.graphbolt, "__wrapped__"), len(sys.meta_path), dgl.version)
    """
    FINDERS = "import sys; print(len(sys.meta_path))"

    @pytest.mark.parametrize(
        "failure",
        [
            "raise FileNotFoundError('no libgraphbolt_pytorch_2.13.0.so')",
            "raise ImportError('no libgraphbolt_pytorch_2.13.0.so')",
            "raise AttributeError('no libgraphbolt_pytorch_2.13.0.so')",
        ],
    )
    def test_a_stand_in_where_the_real_one_does_not_load(self, run_python, tmp_path, failure):
        path = fake_dgl(tmp_path, f"from .base import *\n{failure}\n", "version = 'fake'\n")
        done = run_python(self.USE, PYTHONPATH=path)
        *complaints, rest = done.stdout.splitlines()
        assert len(complaints) == 4, done.stderr
        for complaint in complaints:
            assert complaint.startswith("dgl.graphbolt.")
            assert "was used, but DGL's graphbolt library did not load" in complaint
            assert "no libgraphbolt_pytorch_2.13.0.so" in complaint
            assert "torch<=2.2.1" in complaint
        assert rest.startswith("False")
        assert rest.endswith("fake")

    def test_the_real_one_where_it_loads(self, run_python, tmp_path):
        path = fake_dgl(tmp_path, "from .base import *\n", "version = 'fake'\n")
        done = run_python(self.USE, PYTHONPATH=path)
        finders = run_python(self.FINDERS, PYTHONPATH=path).stdout.strip()
        assert done.stdout.splitlines() == ["works"] * 4 + [f"False {finders} fake"], done.stderr

    def test_a_dgl_without_graphbolt(self, run_python, tmp_path):
        path = fake_dgl(tmp_path, None, "version = 'fake'\n")
        code = "from dglkgmix._dgl import dgl; print(dgl.version); import dgl.graphbolt"
        done = run_python(code, PYTHONPATH=path)
        assert done.stdout == "fake\n"
        assert "ModuleNotFoundError: No module named 'dgl.graphbolt'" in done.stderr

    def test_a_fault_of_another_kind_is_not_hidden(self, run_python, tmp_path):
        path = fake_dgl(tmp_path, "raise KeyError('a bug')\n")
        done = run_python("import dglkgmix._dgl", PYTHONPATH=path)
        assert "KeyError: 'a bug'" in done.stderr


class TestFaults:
    def test_dgl_is_not_installed(self, run_python):
        code = """
            import importlib.abc, sys
            class Hide(importlib.abc.MetaPathFinder):
                def find_spec(self, name, path, target=None):
                    if name == "dgl":
                        raise ModuleNotFoundError("No module named 'dgl'", name="dgl")
            sys.meta_path.insert(0, Hide())
            import dglkgmix._dgl
        """
        done = run_python(code)
        assert "DependencyError: DGL is not installed: pip install 'dgl>=1.1.3,<3'" in done.stderr

    def test_dgl_does_not_load(self, run_python, tmp_path):
        fault = "raise OSError('libcudart.so.12: cannot open shared object file\\nsecond line')"
        done = run_python("import dglkgmix._dgl", PYTHONPATH=fake_dgl(tmp_path, None, fault))
        assert "DGL is installed but does not load (libcudart.so.12: cannot open" in done.stderr
        assert "--force-reinstall" in done.stderr

    def test_the_user_s_own_import_is_as_good(self, run_python, tmp_path):
        code = """
            import dgl, os
            del os.environ["DGLBACKEND"]
            from dglkgmix._dgl import dgl as ours
            print(ours is dgl, "DGLBACKEND" in os.environ)
        """
        path = fake_dgl(tmp_path)
        assert run_python(code, PYTHONPATH=path, DGLBACKEND="x").stdout == "True False\n"

    def test_another_backend_in_the_environment(self, monkeypatch):
        monkeypatch.setenv("DGLBACKEND", "tensorflow")
        with pytest.raises(DependencyError, match=r"DGLBACKEND is 'tensorflow'.*unset it"):
            _dgl._choose_backend()

    @pytest.mark.parametrize("value", [None, "", "pytorch"])
    def test_no_backend_in_the_environment(self, monkeypatch, value):
        monkeypatch.delenv("DGLBACKEND", raising=False)
        if value is not None:
            monkeypatch.setenv("DGLBACKEND", value)
        _dgl._choose_backend()
        assert os.environ["DGLBACKEND"] == "pytorch"

    def test_a_module_whose_package_has_another_name(self):
        error = ModuleNotFoundError("No module named 'yaml'", name="yaml")
        assert str(_dgl._explain(error)).endswith("pip install pyyaml")

    def test_only_the_finder_for_graphbolt_may_stay(self):
        ours = [f for f in sys.meta_path if type(f).__module__ == "dglkgmix._dgl"]
        assert len(ours) == isinstance(sys.modules.get(_dgl.GRAPHBOLT), _dgl._StandIn)
