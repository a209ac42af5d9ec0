from __future__ import annotations

import io
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

from dglkgmix import atomic, files
from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.training import checkpoint
from dglkgmix.training.tensor_file import TensorFile, read_tensors

BASE = torch.arange(12.0).view(3, 4)
TENSORS = {
    "b": torch.randn(3, 2),
    "scalar": torch.tensor(4.0),
    'é "\\\n\x7f': torch.arange(5),
    "transposed": BASE.T,
    "row": BASE[1],
    "again": BASE[1],
    "half": torch.randn(3).half(),
    "bfloat": torch.randn(3).bfloat16(),
    "flags": torch.tensor([True, False, True]),
    "double": torch.randn(2, dtype=torch.double),
    "empty": torch.empty(0, 3),
    **{str(t): torch.arange(3, dtype=t) for t in (torch.int8, torch.uint8, torch.int16)},
    "i32": torch.arange(3, dtype=torch.int32),
}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(
        a.dtype == other[name].dtype
        and a.shape == other[name].shape
        and torch.equal(a, other[name])
        for name, a in one.items()
    )


def content(header: Any, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("texts", [None, {"state": '{"é": "\\u00e9"}'}])
def test_another_reader_reads_what_is_written(tmp_path: Path, texts: dict[str, str] | None) -> None:
    written = bytes(TensorFile(TENSORS, texts))
    assert same(safetensors.torch.load(written), TENSORS)
    (tmp_path / "file").write_bytes(written)
    with safetensors.safe_open(tmp_path / "file", "pt") as file:
        assert file.metadata() == texts
    assert struct.unpack("<Q", written[:8])[0] % 8 == 0


def test_the_bytes_are_those_of_the_package() -> None:
    own = {name: tensor.clone().contiguous() for name, tensor in TENSORS.items()}
    assert bytes(TensorFile(TENSORS, {"a": "b"})) == safetensors.torch.save(own, {"a": "b"})
    assert bytes(TensorFile({})) == safetensors.torch.save({})


def test_what_another_writes_is_read_into_memory_of_its_own() -> None:
    own = {name: tensor.clone().contiguous() for name, tensor in TENSORS.items()}
    tensors, texts = read_tensors(io.BytesIO(safetensors.torch.save(own, {"a": "ü"})))
    assert same(tensors, TENSORS)
    assert texts == {"a": "ü"}
    assert len({t.untyped_storage().data_ptr() for t in tensors.values() if t.numel()}) == 14
    assert all(t.untyped_storage().nbytes() == t.numel() * t.itemsize for t in tensors.values())


def test_content_is_the_memory_of_the_tensors_and_comes_as_often_as_it_is_asked_for() -> None:
    tensor = torch.zeros(1000)
    file = TensorFile({"a": tensor})
    first = bytes(file)
    assert bytes(file) == first
    _, memory = file
    tensor[0] = 1
    assert bytes(memory) == tensor.numpy().tobytes()


def test_numbers_of_another_kind_are_refused() -> None:
    with pytest.raises(TypeError, match=r"z holds torch\.complex64"):
        TensorFile({"z": torch.zeros(1, dtype=torch.complex64)})


def told(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes where 8 belong"),
        (struct.pack("<Q", 2**40) + b"{}", "a header of"),
        (struct.pack("<Q", 3) + b"{}", "a header of 3 bytes"),
        (content([]), "names no tensors"),
        (content({"a": []}), "no tensor"),
        (content(told(dtype="F31"), bytes(8)), "no tensor"),
        (content(told(shape=[-2]), bytes(8)), "no tensor"),
        (content(told(shape=[2.0]), bytes(8)), "no tensor"),
        (content(told(shape=2), bytes(8)), "no tensor"),
        (content(told(shape=[0, 2**40, 2**40], data_offsets=[0, 0])), "no tensor"),
        (content(told(data_offsets=[0, 8, 8]), bytes(8)), "no tensor"),
        (content(told(shape=[3]), bytes(8)), "'a' is not where"),
        (content(told(shape=[2**40]), bytes(8)), "'a' is not where"),
        (content(told(data_offsets=[4, 12]), bytes(12)), "'a' is not where"),
        (content({**told(), "b": told()["a"]}, bytes(8)), "'b' is not where"),
        (content(told(), bytes(7)), "8 bytes of tensors, and 7"),
        (content(told(), bytes(9)), "8 bytes of tensors, and 9"),
        (struct.pack("<Q", 4) + b"\xff\xff\xff\xff", "utf-8"),
    ],
)
def test_what_is_no_such_file_is_refused_before_memory_is_taken(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_tensors(io.BytesIO(data))


def test_a_header_of_a_million_brackets_is_an_error_of_the_file() -> None:
    data = struct.pack("<Q", 10**6) + b"[" * 10**6
    with pytest.raises(CheckpointError, match="here: no complete state"):
        checkpoint.unpack(data, "here")


def test_a_file_that_shrinks_while_it_is_read_is_an_error() -> None:
    class Shrinking(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            return 0

    with pytest.raises(ValueError, match="it ends within 'a'"):
        read_tensors(Shrinking(bytes(TensorFile({"a": torch.ones(2)}))))


def test_a_state_is_neither_written_nor_read_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No bytes object of the state's size: parts are the tensors, pieces are small."""
    tensors = {name: torch.randn(300_000) for name in "abcd"}
    own = {tensor.data_ptr() for tensor in tensors.values()}
    seen: list[tuple[bool, int]] = []
    parts = files.parts_of

    def watched(data: atomic.Content) -> Any:
        for part in parts(data):
            array = np.frombuffer(part, np.uint8)
            borrowed = array.__array_interface__["data"][0] in own
            seen.append((borrowed, array.nbytes))
            yield part

    def refuse(path: Path) -> bytes:
        raise AssertionError(f"{path} read as a whole")

    with RunFolder.create(tmp_path / "run") as folder:
        monkeypatch.setattr(files, "parts_of", watched)
        monkeypatch.setattr(atomic, "parts_of", watched)
        folder.write("state", checkpoint.pack({"t": tensors}))
        large = [size for borrowed, size in seen if not borrowed]
        assert sum(borrowed for borrowed, _ in seen) == 2 * len(tensors)
        assert max(large) < 10_000
        monkeypatch.setattr(files, "_read", refuse)
        with folder.reading("state") as file:
            assert file.tell() == 0
            assert same(checkpoint.unpack(file)["t"], tensors)


def test_a_damaged_state_is_not_read_at_all(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run") as folder:
        folder.write("state", checkpoint.pack({"t": torch.ones(3)}))
        whole = (tmp_path / "run" / "state").read_bytes()
        for damaged in (whole[:-1], whole + b"\0", whole[:-1] + b"\1", b""):
            (tmp_path / "run" / "state").write_bytes(damaged)
            with (
                pytest.raises(CheckpointError, match=r"run/state: damaged"),
                folder.reading("state"),
            ):
                raise AssertionError("opened")
        (tmp_path / "run" / "state").write_bytes(whole)
        with folder.reading("state") as file:
            opened = file
            assert os.fstat(file.fileno()).st_size == len(whole)
        assert opened.closed
