"""A service of the project, in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[4]
_BIN = PROJECT / "node_modules" / ".bin"


class Service:
    """With the examples that are named, at a free port of this machine."""

    def __init__(self, *examples: str, options: tuple[str, ...] = (), port: int = 0) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kgrid-client-"))
        shelf = self._folder / "shelf"
        shelf.mkdir()
        for example in examples:
            shutil.copytree(PROJECT / "examples" / example, shelf / example)
        start = ["src/start.sh", "--profile", "dev", "--runtimes", "none", "--port", str(port)]
        self.process = subprocess.Popen(
            [*start, "--shelf", str(shelf), *options],
            cwd=PROJECT,
            env={"PATH": f"{_BIN}:{os.environ['PATH']}", "KGRID_LOG_FORMAT": "json"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.url = str(self._read_until("listening")["url"])
        self._read_until("ready")
        threading.Thread(target=self._drain, daemon=True).start()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_until(self, event: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        seen = []
        for text in self.process.stdout:
            seen.append(text)
            line = json.loads(text) if text.startswith(b"{") else {}
            if line.get("event") == event:
                return dict(line)
        raise AssertionError(f"the service did not start: {seen[-20:]}")

    def _drain(self) -> None:
        assert self.process.stdout is not None
        for _ in self.process.stdout:
            pass
