"""A call of an endpoint on its way through the runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgrid_python_runtime.worker.frames import CALL, LOAD, frame

# How a call's body is to be read; LOADS has none: the function is only looked up.
TEXT, JSON, LOADS = 0, 1, 2

Reply = Callable[[int, bytes, tuple[tuple[str, str], ...]], None]


class Call:
    __slots__ = (
        "_reply",
        "body",
        "deadline",
        "depth",
        "done",
        "input_kind",
        "last_moment",
        "nested",
        "order",
        "target",
        "token",
        "trace",
    )

    def __init__(
        self,
        target: tuple[str, str],
        input_kind: int,
        body: bytes,
        reply: Reply,
        last_moment: float,
        deadline: float,
        depth: str = "",
        token: str = "",
        trace: Mapping[str, str] | None = None,
    ) -> None:
        """`target`: entry, or module of a package, and function.

        `deadline` is when the caller gets an answer at the latest; at `last_moment` the code itself is stopped."""
        self.target = target
        self.input_kind = input_kind
        self.body = body
        self._reply = reply
        self.last_moment = last_moment
        self.deadline = deadline
        # The header x-kgrid-depth as it came.
        self.depth = depth
        # The header x-kgrid-call-token as it came: it proves the depth, and is never for the worker.
        self.token = token
        # Headers by which its request is known in logs, to go on with calls of other endpoints.
        self.trace = trace or {}
        self.nested = depth not in ("", "0")
        self.done = False
        # Place among the calls that were sent to one worker.
        self.order = 0

    def frame(self, number: int, endpoint: int) -> bytes:
        """`endpoint`: its index in the worker."""
        if self.input_kind == LOADS:
            return frame(LOAD, number, endpoint)
        return frame(CALL, number, endpoint * 2 + self.input_kind, self.body)

    def answer(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """The first answer counts."""
        if not self.done:
            self.done = True
            self._reply(status, body, headers)
