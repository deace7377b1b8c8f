"""Limits that a process lays on itself before it runs code of others, each as far as the system has it."""

from __future__ import annotations

import contextlib
import os
import signal
import struct

try:
    import ctypes
    import resource
except ImportError:  # not on every platform
    pass

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522


def die_with_parent(parent: int) -> None:
    """Makes the kernel kill this process when the runtime dies, even while it runs a loop that nothing interrupts."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The runtime may have died before the request above.
    if os.getppid() != parent:
        os._exit(1)


def be_first_to_go() -> None:
    """Makes the kernel choose this process, and not the runtime, when the machine runs out of memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def drop_privileges() -> None:
    """Gives up every capability, so that the runtime's memory and environment, which hold credentials, stay closed."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(64):
        if not _prctl(_PR_CAPBSET_DROP, capability):
            break
    libc = _libc()
    if libc is not None and hasattr(libc, "capset"):
        libc.capset(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), bytes(24))


def limit_memory(soft: int, hard: int) -> None:
    """Allocations beyond `soft` bytes of private memory raise MemoryError. No core files."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    except (NameError, ValueError, OSError):
        pass


def allow_more_memory(more: int) -> None:
    """Raises the soft limit by `more` bytes: the stack of a further thread is not the knowledge object's memory."""
    try:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_DATA, (min(soft + more, hard), hard))
    except (NameError, ValueError, OSError):
        pass


def stay_unreadable() -> None:
    """Closes `/proc/<pid>/environ` and the memory of this process to others of the same user."""
    _prctl(_PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> bool:
    libc = _libc()
    if libc is None or not hasattr(libc, "prctl"):
        return False
    numbers = [ctypes.c_ulong(number) for number in (value, 0, 0, 0)]
    return bool(libc.prctl(ctypes.c_int(option), *numbers) == 0)


def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (NameError, OSError):
        return None
