import ast
from pathlib import Path

import pytest

import dglkgmix


def test_every_public_name_is_what_its_module_holds():
    for name, module in dglkgmix._EXPORTS.items():
        value = getattr(dglkgmix, name)
        assert value.__name__ == name
        assert value.__module__.startswith(module.rpartition(".")[0])
        assert vars(dglkgmix)[name] is value, "kept after the first look-up"


def test_the_three_lists_of_names_agree():
    """For users, for type checkers, for ``from dglkgmix import *``."""
    source = ast.parse(Path(str(dglkgmix.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in source.body if isinstance(node, ast.If))
    checked = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert checked == dglkgmix._EXPORTS
    assert sorted([*dglkgmix._EXPORTS, "__version__"]) == dglkgmix.__all__ == dir(dglkgmix)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'dglkgmix' has no attribute 'Nothing'"):
        _ = dglkgmix.Nothing
    with pytest.raises(ImportError):
        from dglkgmix import Nothing  # noqa: F401
