import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.training.device import (
    multiplies_bf16,
    pick_device,
    pick_precision,
    seeded,
    use_threads,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "meta", "cuda:99", "mps"])
def test_devices_that_are_not_there_are_refused_by_name(name):
    with pytest.raises(ConfigError, match=f"runtime.device '{name}'"):
        pick_device(name)


def test_auto_is_cuda_only_where_there_is_one():
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert pick_device("cpu") == CPU


@pytest.mark.parametrize(
    ("cpuinfo", "native"),
    [
        ("vendor_id\t: GenuineIntel\nflags\t\t: fpu avx512f avx512_bf16 sse\n", False),
        ("vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx512f avx512_bf16 sse\n", True),
        ("vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 sse\n", False),
        ("processor : 0\nflags\t\t: fpu amx_bf16\n", True),
        ("Features\t: fp asimd bf16\n", True),
        ("flags\t\t: fpu avx2 avx512f\n", False),
        ("flags\t\t: no_bf16_here\n", False),
        ("", False),
    ],
)
def test_bf16_is_native_where_the_processor_says_so(tmp_path, cpuinfo, native):
    file = tmp_path / "cpuinfo"
    file.write_text(cpuinfo)
    assert multiplies_bf16(CPU, file) is native


def test_without_cpuinfo_nothing_is_native(tmp_path):
    assert multiplies_bf16(CPU, tmp_path / "missing") is False


def test_an_explicit_precision_is_taken():
    assert pick_precision("bf16", CPU) == "bf16"
    assert pick_precision("auto", CPU) == ("bf16" if multiplies_bf16(CPU) else "fp32")


def test_seeding_is_repeatable_and_leaves_no_trace():
    before = torch.get_rng_state()
    with seeded(5, CPU):
        first = torch.rand(3)
    with seeded(5, CPU):
        second = torch.rand(3)
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_come_back():
    before = torch.get_num_threads()
    seen = []

    def fail():
        with use_threads(before + 1):
            seen.append(torch.get_num_threads())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == [before + 1]
    assert torch.get_num_threads() == before
