"""The semaphore behind the locks of `multiprocessing`, in memory that forked processes share and not in `/dev/shm`."""

from __future__ import annotations

import ctypes
import errno
import mmap
import threading
import time

_RECURSIVE = 0
_SIZE = 64


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


_libc = ctypes.CDLL(None, use_errno=True)
_init, _wait, _try_wait, _timed_wait = _libc.sem_init, _libc.sem_wait, _libc.sem_trywait, _libc.sem_timedwait
_post, _value_of = _libc.sem_post, _libc.sem_getvalue


class SemLock:
    """Replaces `_multiprocessing.SemLock`. It has no name: processes that were not forked cannot find it."""

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind: int, value: int, maxvalue: int, *_: object, **__: object) -> None:
        self._memory = mmap.mmap(-1, _SIZE)
        self._semaphore = ctypes.byref(ctypes.c_char.from_buffer(self._memory))
        if _init(self._semaphore, 1, ctypes.c_uint(value)) != 0:
            raise OSError(ctypes.get_errno(), "no semaphore can be made")
        self.kind = kind
        self.maxvalue = maxvalue
        self.name = None
        self.handle = id(self)
        self._held = 0
        self._holder = 0

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        if self.kind == _RECURSIVE and self._is_mine():
            self._held += 1
            return True
        if _try_wait(self._semaphore) != 0 and not (block and self._wait_for(timeout)):
            return False
        self._held += 1
        self._holder = threading.get_ident()
        return True

    def release(self) -> None:
        if self.kind == _RECURSIVE:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        if self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._held -= 1
        _post(self._semaphore)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _wait_for(self, timeout: float | None) -> bool:
        until = None if timeout is None else time.time() + max(timeout, 0)
        while True:
            if until is None:
                failed = _wait(self._semaphore)
            else:
                moment = _Time(int(until), int(until % 1 * 1e9))
                failed = _timed_wait(self._semaphore, ctypes.byref(moment))
            if failed == 0:
                return True
            if ctypes.get_errno() != errno.EINTR:
                return False

    def _count(self) -> int:
        return self._held

    def _is_mine(self) -> bool:
        return self._held > 0 and self._holder == threading.get_ident()

    def _get_value(self) -> int:
        value = ctypes.c_int()
        _value_of(self._semaphore, ctypes.byref(value))
        return max(value.value, 0)

    def _is_zero(self) -> bool:
        return self._get_value() == 0

    def _after_fork(self) -> None:
        self._held = 0
