from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglkgmix.errors import CheckpointError
from dglkgmix.manifest import ABSENT, Manifest, digest


def test_the_digest_is_sha256() -> None:
    assert digest(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_states_come_and_go() -> None:
    manifest = Manifest({"kept": ("1",), "going": ("2",)})
    assert manifest.states("new") == (ABSENT,)
    during = manifest.adding({"new": "3", "going": ABSENT, "kept": "1"})
    assert during.files == {"kept": ("1",), "going": ("2", ABSENT), "new": (ABSENT, "3")}
    after = during.with_states({"new": ("3",), "going": (ABSENT,)})
    assert after.files == {"kept": ("1",), "new": ("3",)}
    assert manifest.files == {"kept": ("1",), "going": ("2",)}, "a value is never changed"


def test_round_trip_and_form() -> None:
    manifest = Manifest({"b": ("1", ABSENT), "a/ä": ("2",)})
    data = manifest.to_bytes()
    assert Manifest.from_bytes(data, "m") == manifest
    assert list(json.loads(data)) == ["format", "files", "seal"]
    assert list(json.loads(data)["files"]) == ["a/ä", "b"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'"files"',
        b'{"files": 3}',
        b'{"files": {"a": 3}}',
        b'{"files": {"a": ["x"]}}',
        b'{"files": {"../a": ["x"]}}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"name": "A web app", "icons": []}',
    ],
)
def test_anything_else_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"^runs/1/manifest\.json: damaged"):
        Manifest.from_bytes(data, "runs/1/manifest.json")


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_every_flipped_bit_is_seen(place: int, bit: int) -> None:
    data = bytearray(Manifest({"config.toml": ("0" * 64,), "last/state": ("1" * 64,)}).to_bytes())
    data[place % len(data)] ^= 1 << bit
    with pytest.raises(CheckpointError):
        Manifest.from_bytes(bytes(data), "m")


def test_a_name_that_climbs_out_is_refused_even_under_a_valid_seal() -> None:
    forged = Manifest({"../../precious": ("0" * 64,)}).to_bytes()
    with pytest.raises(CheckpointError, match="damaged"):
        Manifest.from_bytes(forged, "m")
