from pathlib import Path

import numpy as np
import pytest
import torch

from dglkgmix.plain import plain_values


def test_values_of_other_libraries():
    value = {
        "array": np.array([1.5, np.nan]),
        "scalar": np.int64(3),
        "flag": np.bool_(True),
        "tensor": torch.tensor([[1, 2]]),
        "path": Path("a/b"),
        "pair": (1, None),
        7: "key",
    }
    assert plain_values(value) == {
        "array": [1.5, None],
        "scalar": 3,
        "flag": True,
        "tensor": [[1, 2]],
        "path": "a/b",
        "pair": [1, None],
        "7": "key",
    }


def test_anything_else_is_an_error():
    with pytest.raises(TypeError, match="object has no place in JSON"):
        plain_values({"x": object()})
