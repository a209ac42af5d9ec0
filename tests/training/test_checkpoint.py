from __future__ import annotations

import contextlib
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.errors import CheckpointError
from dglkgmix.training.checkpoint import (
    copy_weights,
    load_weights,
    pack,
    pack_weights,
    unpack,
    unpack_weights,
)

STATE = {
    "epoch": 3,
    "nothing": None,
    "text": "naïve \u2028 \x00",
    "third": 1 / 3,
    "flags": [True, False],
    "optimizer": {"state": {0: {"step": torch.tensor(4.0), "m": torch.arange(6.0).view(2, 3)}}},
    "rows": [{"loss": 0.1 + 0.2}, {"loss": math.inf}],
    "random": torch.get_rng_state(),
    "empty": torch.empty(0, 3),
}


def equal(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


def test_a_state_comes_back_exactly() -> None:
    assert equal(unpack(bytes(pack(STATE))), STATE)


def test_views_and_transposes_are_stored_as_their_values() -> None:
    base = torch.arange(6.0).view(2, 3)
    state = unpack(bytes(pack({"t": base.T, "row": base[1]})))
    assert torch.equal(state["t"], base.T)
    assert torch.equal(state["row"], base[1])


def test_the_same_tensor_twice_is_stored_twice() -> None:
    tensor = torch.ones(3)
    state = unpack(bytes(pack({"a": tensor, "b": tensor})))
    assert torch.equal(state["a"], state["b"])


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", len])
def test_nothing_but_tensors_and_plain_values_is_written(value: object) -> None:
    with pytest.raises(TypeError, match=r"tensors and plain values, not .* at /deep/0"):
        pack({"deep": [value]})


@settings(max_examples=100)
@given(st.data())
def test_damaged_states_are_one_error(data: st.DataObject) -> None:
    content = bytearray(bytes(pack({"epoch": 1, "w": torch.ones(2)})))
    cut = data.draw(st.integers(0, len(content)))
    flips = data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3))
    for position in flips:
        content[position] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(CheckpointError):
        unpack(bytes(content[:cut]))


@pytest.mark.parametrize("content", [b"", b"\xff" * 16, b"\x02\0\0\0\0\0\0\0{}"])
def test_what_is_no_state_is_refused(content: bytes) -> None:
    with pytest.raises(CheckpointError, match="run/last: no complete state"):
        unpack(content, "run/last")


def test_weights_are_plain_safetensors(tmp_path) -> None:
    from safetensors import safe_open

    model = torch.nn.Linear(2, 3)
    (tmp_path / "w").write_bytes(bytes(pack_weights(model.state_dict())))
    with safe_open(tmp_path / "w", "pt") as file:
        assert set(file.keys()) == {"weight", "bias"}
    again = unpack_weights((tmp_path / "w").read_bytes())
    assert torch.equal(again["weight"], model.weight)


def test_weights_that_do_not_fit_are_refused() -> None:
    weights = copy_weights(torch.nn.Linear(2, 3))
    with pytest.raises(CheckpointError, match="here does not fit the model: size mismatch"):
        load_weights(torch.nn.Linear(3, 3), weights, "here")
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        unpack_weights(b"nonsense")


def test_a_copy_stays_as_training_goes_on_and_a_newer_one_takes_its_place() -> None:
    model = torch.nn.Linear(2, 3)
    weights = copy_weights(model)
    place = weights["weight"]
    with torch.no_grad():
        model.weight.add_(1)
    assert torch.equal(weights["weight"] + 1, model.weight)
    assert copy_weights(model, weights) is weights
    assert weights["weight"] is place
    assert torch.equal(place, model.weight)
    assert place.data_ptr() != model.weight.data_ptr()
