"""What the kernel keeps from code of packages that is being built, as far as it can."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000

# The same numbers on every architecture.
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_VERSION = 1
_PATH_BENEATH = 1
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = 0b1_1111_1111 << 4
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def leave_network_and_processes() -> None:
    """Moves this process to a network without any address, and what it forks from now on to processes of their own."""
    libc = _libc()
    if libc is None or not hasattr(libc, "unshare"):
        return
    user, group = os.getuid(), os.getgid()
    if libc.unshare(ctypes.c_int(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWPID)) == 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")


def write_only_below(folders: list[str]) -> None:
    """Refuses changes elsewhere, TCP, and signals to others."""
    libc = _libc()
    if libc is None or not sys.platform.startswith("linux"):
        return
    abi = libc.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    if abi < 1:
        return
    files = _WRITE_FILE | _REMOVE_AND_MAKE | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    handled = [files, *([_TCP] if abi >= 4 else []), *([_ABSTRACT_SOCKETS_AND_SIGNALS] if abi >= 6 else [])]
    attributes = struct.pack(f"={len(handled)}Q", *handled)
    rules = libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if rules < 0:
        return
    for folder in folders:
        _allow(libc, rules, folder, files)
    for device in ("/dev/null", "/dev/zero", "/dev/full"):
        _allow(libc, rules, device, files & (_WRITE_FILE | _TRUNCATE))
    libc.syscall(_LANDLOCK_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        beneath = struct.pack("=Qi", rights, descriptor)
        libc.syscall(_LANDLOCK_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), beneath, ctypes.c_uint32(0))
        os.close(descriptor)


def _write(path: str, text: str) -> None:
    with contextlib.suppress(OSError), open(path, "w") as file:  # noqa: PTH123
        file.write(text)


def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except OSError:
        return None
