import contextlib
import math
import struct

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from dglkgmix.errors import CheckpointError, StorageError
from dglkgmix.runs import checkpoint
from dglkgmix.runs.checkpoint import (
    StateFile,
    copy_weights,
    load_weights,
    pack,
    pack_weights,
    restore_random,
    unpack,
    unpack_weights,
)
from tests.test_files import file_size_limit

LIE = b'{"a":{"dtype":"F32","shape":[9000000000],"data_offsets":[0,8]}}'
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


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


def saved(state, path):
    pack(state)(path)
    return path


def test_a_state_comes_back_exactly_in_memory_of_its_own(tmp_path):
    state = unpack(saved(STATE, tmp_path / "s"))
    assert equal(state, STATE)
    (tmp_path / "s").write_bytes(bytes(4096))
    assert equal(state, STATE)


def test_tensors_that_share_memory_are_stored_as_their_values(tmp_path):
    base = torch.arange(6.0).view(2, 3)
    given = {"base": base, "t": base.T, "row": base[1], "again": base[1], "empty": base[2:]}
    assert equal(unpack(saved(given, tmp_path / "s")), given)


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", len])
def test_nothing_but_tensors_and_plain_values_is_written(value):
    with pytest.raises(TypeError, match=r"tensors and plain values, not .* at /deep/0"):
        pack({"deep": [value]})


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_states_are_one_error(tmp_path, data):
    file = saved({"epoch": 1, "w": torch.ones(2)}, tmp_path / "s")
    content = bytearray(file.read_bytes())
    cut = data.draw(st.integers(0, len(content)))
    flips = data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3))
    for position in flips:
        content[position] ^= data.draw(st.integers(1, 255))
    file.write_bytes(bytes(content[:cut]))
    with contextlib.suppress(CheckpointError):
        unpack(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 16,
        b"\x02\0\0\0\0\0\0\0{}",
        struct.pack("<Q", 10**6) + b"[" * 10**6,
        struct.pack("<Q", len(LIE)) + LIE + bytes(8),
    ],
)
def test_what_is_no_state_is_refused(tmp_path, content):
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(CheckpointError, match="run/last: no complete state"):
        unpack(tmp_path / "s", "run/last")


def test_weights_are_plain_safetensors(tmp_path):
    model = torch.nn.Linear(2, 3)
    pack_weights(model.state_dict())(tmp_path / "w")
    with safe_open(tmp_path / "w", "pt") as file:
        assert set(file.keys()) == {"weight", "bias"}
    for source in (tmp_path / "w", (tmp_path / "w").read_bytes()):
        assert torch.equal(unpack_weights(source)["weight"], model.weight)


def test_a_full_disk_is_told_as_one(folder):
    folder.write("state", pack({"w": torch.zeros(2)}))
    before = folder.read("state")
    with (
        file_size_limit(50_000),
        pytest.raises(StorageError, match="run/state: the file would be larger"),
    ):
        folder.write("state", pack({"w": torch.zeros(20_000)}))
    assert folder.read("state") == before


def test_writing_takes_no_copy_of_the_state(tmp_path, run_python):
    """Four tensors of 64 MiB."""
    code = """
        import resource, sys
        from pathlib import Path
        import torch
        from dglkgmix.files import RunFolder
        from dglkgmix.runs.checkpoint import pack

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

        tensors = {name: torch.ones(2**24) for name in "abcd"}
        with RunFolder.create(sys.argv[1]) as folder:
            folder.write("small", pack({"w": torch.ones(2)}))
            before = peak()
            folder.write("state", pack(tensors))
            print(peak() - before)
    """
    assert float(run_python(code, tmp_path / "run").stdout) < 32


def test_weights_that_do_not_fit_are_refused():
    weights = copy_weights(torch.nn.Linear(2, 3))
    with pytest.raises(CheckpointError, match="here does not fit the model: size mismatch"):
        load_weights(torch.nn.Linear(3, 3), weights, "here")
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        unpack_weights(b"nonsense")


def test_a_copy_stays_as_training_goes_on_and_a_newer_one_takes_its_place():
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


def test_what_is_saved_comes_back_with_the_random_state(folder):
    states = StateFile(folder, 1)
    assert states.load() is None
    torch.manual_seed(3)
    states.save({"epoch": 4}, torch.device("cpu"))
    expected = torch.rand(2)
    state = states.load()
    assert state is not None
    assert state["epoch"] == 4
    torch.manual_seed(9)
    restore_random(state, torch.device("cpu"))
    assert torch.equal(torch.rand(2), expected)


def test_a_number_says_how_often(folder):
    states = StateFile(folder, 3)
    assert [epoch for epoch in range(1, 8) if states.is_due(epoch)] == [3, 6]


def test_auto_writes_at_once_and_then_stays_below_a_twentieth_of_the_time(folder, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: clock[0])
    states = StateFile(folder, "auto")
    assert states.is_due(1)
    write = folder.write

    def slow(name, data):
        write(name, data)
        clock[0] += 2.0

    monkeypatch.setattr(folder, "write", slow)
    states.save({}, torch.device("cpu"))
    clock[0] = 102.0 + 39.9
    assert not states.is_due(2)
    clock[0] = 102.0 + 40.1
    assert states.is_due(2)


def test_a_state_of_another_format_or_none_at_all_is_refused(folder):
    folder.write(checkpoint.STATE, pack({"format": 99}))
    with pytest.raises(
        CheckpointError, match=r"state.safetensors: format 99, this version reads 1"
    ):
        StateFile(folder, 1).load()
    folder.write(checkpoint.STATE, b"half a st")
    with pytest.raises(CheckpointError, match=r"state.safetensors: no complete state"):
        StateFile(folder, 1).load()
