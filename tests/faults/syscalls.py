"""Makes system calls of this process fail, for good: a seccomp filter, which needs neither root nor a compiler."""

from __future__ import annotations

import ctypes
import platform
import sys
from pathlib import Path

_NUMBERS = {
    "x86_64": {"arch": 0xC000003E, "fsync": 74, "fdatasync": 75, "pwrite64": 18},
    "aarch64": {"arch": 0xC00000B7, "fsync": 82, "fdatasync": 83, "pwrite64": 68},
}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUALS, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


class _Step(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step)))


def missing() -> str:
    """Why calls cannot be made to fail on this machine; nothing if they can."""
    if sys.platform != "linux" or platform.machine() not in _NUMBERS:
        return "system call filters are known here for Linux on x86-64 and ARM64 only"
    status = Path("/proc/self/status").read_text()
    return "" if "\nSeccomp:" in status else "this kernel has no system call filters"


def fail(number: int, *calls: str) -> None:
    """From here on these calls of this process return that ``errno``."""
    known = _NUMBERS[platform.machine()]
    steps = [_Step(_LOAD, 0, 0, 4), _Step(_EQUALS, 1, 0, known["arch"]), _Step(_RETURN, 0, 0, _ALLOW)]
    steps.append(_Step(_LOAD, 0, 0, 0))
    for call in calls:
        steps += [_Step(_EQUALS, 0, 1, known[call]), _Step(_RETURN, 0, 0, _ERRNO | number)]
    steps.append(_Step(_RETURN, 0, 0, _ALLOW))
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    system = ctypes.CDLL(None, use_errno=True)
    for request in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)):
        if system.prctl(*request) != 0:
            raise OSError(ctypes.get_errno(), "the system call filter was refused")
