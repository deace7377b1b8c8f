"""A worker whose own threads fail ends at once: the runtime answers its calls and starts another."""

from __future__ import annotations

import os
import traceback
from collections.abc import Generator
from contextlib import contextmanager, suppress

# Not even the worker itself could get memory.
EXIT_MEMORY = 86
EXIT_FAULT = 70


@contextmanager
def end_on_error() -> Generator[None]:
    try:
        yield
    except MemoryError:
        with suppress(OSError):
            os.write(2, b"the knowledge object passed its memory limit\n")
        os._exit(EXIT_MEMORY)
    except BaseException:
        traceback.print_exc()
        os._exit(EXIT_FAULT)
