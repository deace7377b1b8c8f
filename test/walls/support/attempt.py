"""Runs an attempt: system calls, one after the other, as `steps.ts` writes them. Any code of a knowledge object may do this."""

import ctypes
import json
import mmap
import platform
import struct

_EXIT_GROUP = 231 if platform.machine() == "x86_64" else 94
_SHOWS_NOTHING = -10000
_KILLED = -1000

# It keeps the interpreter's lock, which a forked child could not take again.
_libc = ctypes.PyDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.waitpid.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]


class _Way:
    def __init__(self):
        self.results = []
        self.kept = []
        self.rooms = []
        self.named = {}

    def memory(self, content):
        buffer = ctypes.create_string_buffer(content, len(content))
        self.kept.append(buffer)
        return ctypes.addressof(buffer)

    def number(self, arg):
        if isinstance(arg, int):
            return arg
        if isinstance(arg, str):
            return self.memory(arg.encode() + b"\0")
        if "kept" in arg:
            if arg["kept"] not in self.named:
                self.named[arg["kept"]] = self.memory(bytes.fromhex(arg["content"]))
            return self.named[arg["kept"]]
        if "bytes" in arg:
            return self.memory(bytes.fromhex(arg["bytes"]))
        if "room" in arg:
            self.rooms.append((self.memory(bytes(arg["room"])), arg["room"]))
            return self.rooms[-1][0]
        if "words" in arg:
            words = [self.number(each) & 0xFFFFFFFFFFFFFFFF for each in arg["words"]]
            return self.memory(struct.pack(f"={len(words)}Q", *words))
        return self.results[arg["of"]]

    def call(self, step):
        self.rooms = []
        numbers = [self.number(each) for each in step["args"]]
        result = _libc.syscall(ctypes.c_long(step["nr"]), *[ctypes.c_long(each) for each in numbers])
        if result < 0:
            return 0 if ctypes.get_errno() in step.get("passes", ()) else -ctypes.get_errno()
        shows = step.get("shows")
        if shows is not None and not any(_is_shown(shows, ctypes.string_at(*room)) for room in self.rooms):
            return _SHOWS_NOTHING
        return result

    def child(self, step):
        pid = _libc.syscall(ctypes.c_long(step["nr"]), *[ctypes.c_long(self.number(each)) for each in step["args"]])
        if pid == 0:
            _libc.syscall(ctypes.c_long(_EXIT_GROUP), ctypes.c_long(-min(0, self.run(step["child"]))))
        if pid < 0 or not step.get("wait", True):
            return -ctypes.get_errno() if pid < 0 else pid
        status = ctypes.c_int(0)
        _libc.waitpid(pid, ctypes.addressof(status), 0)
        if status.value & 0x7F:
            return _KILLED - (status.value & 0x7F)
        return -((status.value >> 8) & 0xFF)

    def code(self, step):
        content = bytes.fromhex(step["code"])
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(content)
        self.kept.append(page)
        return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()

    def run(self, steps):
        for step in steps:
            result = 0
            for _ in range(step.get("repeat", 1)):
                one = self.code if "code" in step else self.child if "child" in step else self.call
                result = one(step)
                if result < 0:
                    break
            self.results.append(result)
            if result < 0:
                return result
        return 0


def _is_shown(shows, content):
    if isinstance(shows, str):
        return shows.encode() in content
    return content[shows["at"] :].startswith(bytes.fromhex(shows["bytes"]))


def attempt(ways):
    """Tries one way after the other, until one goes to its end."""
    tried = []
    for steps in ways:
        way = _Way()
        tried.append(way.results)
        if way.run(steps) == 0:
            return {"through": True, "tried": tried}
    return {"through": False, "tried": tried}


def run(ways):
    """Of a knowledge object."""
    return attempt(ways)


def attempts(text):
    """Results of several, by name."""
    return {name: attempt(ways) for name, ways in json.loads(text).items()}
