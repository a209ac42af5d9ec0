"""What a training's process keeps of the memory that its steps take and give back."""

from __future__ import annotations

import os

# Parameters of glibc's mallopt.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_NEVER = 2**31 - 1
# oneDNN's own cache, and that of PyTorch's layer above it.
_PRODUCT_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
# More than the shapes of products that every step of a training has.
_KEPT_PRODUCTS = "32"


def keep_freed_memory() -> bool:
    """Let this process keep the memory that it frees, for what it allocates next.

    glibc takes large buffers from the system and gives them back one by one, and the system
    fills each anew with zeros, page by page: in a step of mixup 1-K on CoDEx-M 15 % of the time,
    in one of ConvE 1-N on FB15k-237 7 %. The peak stays the same within 2 %. It concerns the
    whole process, so only processes of our own ask for it: the command line's, those that it
    starts and the benchmarks', never a user's.

    Returns:
        whether the C library has been told; others than glibc are left alone.
    """
    import ctypes

    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    told = [library.mallopt(_MMAP_MAX, 0), library.mallopt(_TRIM_THRESHOLD, _NEVER)]
    return all(told)


def keep_few_products() -> None:
    """Let oneDNN keep 32 kinds of products with their scratch memory, where nothing else is set.

    By default it keeps 1,024. The number of rows that relation prediction, mixup and 1-K multiply
    differs from batch to batch, and so each is a kind of its own: ComplEx with relation prediction
    on FB15k-237, d = 1,024, in bf16, held 11.6 GB after three epochs. Float32 products are not
    oneDNN's. Read at a process's first product in bf16: later, nothing changes.
    """
    for name in _PRODUCT_CACHES:
        os.environ.setdefault(name, _KEPT_PRODUCTS)
