"""Freed memory is kept: a buffer that is made anew costs no page faults."""

import sys

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
    told, plain, kept = map(int, run_python(PROGRAM).stdout.split())
    assert told == ("linux" in sys.platform)
    assert kept < plain / 5
