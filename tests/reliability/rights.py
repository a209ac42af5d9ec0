"""Permissions that count for root as well."""

import ctypes
import os

_VERSION = 0x20080522
_READ_AND_WRITE_ANYTHING = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def obey_permissions():
    """Give up, for this process, what lets root write where nobody may; others have no such right.

    A process of root's owns root's folders like any other user's process then: what it may do
    there is what their mode says.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION, 0), (_Sets * 2)()
    if libc.capget(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for kind in ("effective", "permitted"):
        setattr(sets[0], kind, getattr(sets[0], kind) & ~_READ_AND_WRITE_ANYTHING)
    if libc.capset(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise OSError(ctypes.get_errno(), "capset")
