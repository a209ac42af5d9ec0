"""Freed memory is kept, and few kinds of products are."""

import sys

import pytest

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


TRAINING = """
import os, sys
from dglkgmix import Config, load, train
from dglkgmix.config import ModelConfig, RuntimeConfig, TrainingConfig

config = Config(
    model=ModelConfig(entity_dim=8),
    training=TrainingConfig(epochs=1, batch_size=2000, validate_every=1),
    runtime=RuntimeConfig(precision=sys.argv[2]),
)
train(load("world"), config, sys.argv[1])
names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
print(*(os.environ.get(name) for name in names))
"""


@pytest.mark.parametrize(
    ("precision", "given", "found"),
    [("bf16", None, "32 32"), ("bf16", 5, "32 5"), ("fp32", None, "None None")],
)
def test_a_training_in_bf16_keeps_few_kinds_of_products(
    tmp_path, run_python, precision, given, found
):
    """Unless the user's own variables say how many."""
    names = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": None, "LRU_CACHE_CAPACITY": given}
    done = run_python(TRAINING, tmp_path / "run", precision, **names)
    assert done.stdout.splitlines()[-1:] == [found], done.stderr
