"""Freed memory is kept, and few kinds of products are."""

import os
import sys
from unittest import mock

import pytest

from dglkgmix import Config, train
from dglkgmix.allocator import keep_few_products
from dglkgmix.config import ModelConfig, RuntimeConfig, TrainingConfig

SMALL = {"model": ModelConfig(entity_dim=8), "training": TrainingConfig(epochs=1)}

PROGRAM = """
import resource, sys
import torch
from dglkgmix.allocator import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.zeros(12_000_000)  # 48 MB, beyond what glibc keeps of its own accord
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

plain = faults()
told = keep_freed_memory()
faults()
print(int(told), plain, faults())
"""


def test_buffers_are_used_again(run_python):
    """A buffer that is made anew costs no page faults."""
    told, plain, kept = map(int, run_python(PROGRAM).stdout.split())
    assert told == ("linux" in sys.platform)
    assert kept < plain / 5


@pytest.mark.parametrize(("given", "found"), [(None, ["32", "32"]), ("5", ["32", "5"])])
def test_few_kinds_of_products_are_kept(monkeypatch, given, found):
    """Unless the user's own variables say how many."""
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    for name in names:  # Set first, so that what is set here goes away again.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    if given:
        monkeypatch.setenv("LRU_CACHE_CAPACITY", given)
    keep_few_products()
    assert [os.environ[name] for name in names] == found


@pytest.mark.parametrize(("precision", "calls"), [("bf16", 1), ("fp32", 0)])
def test_a_training_in_bf16_keeps_few_kinds_of_products(
    tmp_path, toy, monkeypatch, precision, calls
):
    asked = mock.Mock()
    monkeypatch.setattr("dglkgmix.training.stage_loop.keep_few_products", asked)
    train(toy, Config(runtime=RuntimeConfig(precision=precision), **SMALL), tmp_path / "run")
    assert asked.call_count == calls
