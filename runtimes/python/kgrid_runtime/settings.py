"""The settings, read once from the environment. README.md has the table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from kgrid_runtime.installer.steps import InstallLimits

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
CACHE_STRATEGIES = ("never", "always", "use_checksum")


class BadSetting(Exception):
    """One sentence that names the variable and what is allowed."""


@dataclass(frozen=True)
class WorkerLimits:
    execution_timeout: float
    """Seconds from the arrival of a call to its answer."""
    idle_timeout: float
    memory: int
    output: int
    body: int
    """Bytes of an input."""
    concurrency: int
    queue: int


@dataclass(frozen=True)
class Settings:
    activator: SplitResult
    credentials: tuple[str, str] | None
    host: str
    port: int
    url: str | None
    """The address that the activator is told; None: the one that is listened on."""
    heartbeat: float
    cache_strategy: str
    cache_folder: Path
    cache_size: int
    install: InstallLimits
    source_builds: frozenset[str]
    """`naan/name` of knowledge objects whose dependencies may be built from their sources."""
    workers: WorkerLimits
    stop_with_stdin: bool
    debug: bool


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Raises BadSetting."""
    read = _Reader(environment)
    activator = read.url("KGRID_PROXY_ADAPTER_URL", "http://localhost:8080")
    own = read.url("KGRID_PYTHON_ENV_URL", "")
    elsewhere = own.hostname is not None and own.hostname not in _LOOPBACK
    credentials = None
    if activator.username is not None:
        credentials = (unquote(activator.username), unquote(activator.password or ""))
    return Settings(
        activator=activator._replace(netloc=activator.netloc.rpartition("@")[2], path=activator.path.rstrip("/")),
        credentials=credentials,
        host=read.text("KGRID_PYTHON_HOST", "0.0.0.0" if elsewhere else "127.0.0.1"),
        port=int(read.number("KGRID_PYTHON_ENV_PORT", 5000, 0, 65535, whole=True)),
        url=own.geturl().rstrip("/") or None,
        heartbeat=read.number("KGRID_PROXY_HEARTBEAT_INTERVAL", 30, 0, 86400),
        cache_strategy=read.choice("KGRID_PYTHON_CACHE_STRATEGY", CACHE_STRATEGIES, "use_checksum"),
        cache_folder=Path(read.text("KGRID_PYTHON_CACHE_DIR", "~/.cache/kgrid-python-runtime")).expanduser().absolute(),
        cache_size=read.size("KGRID_PYTHON_CACHE_SIZE", "10G", "0"),
        install=InstallLimits(
            seconds=read.number("KGRID_PYTHON_INSTALL_TIMEOUT", 600, 1, 86400),
            size=read.size("KGRID_PYTHON_INSTALL_SIZE", "4G", "1M"),
        ),
        source_builds=read.names("KGRID_PYTHON_ALLOW_SOURCE_BUILDS"),
        workers=WorkerLimits(
            execution_timeout=read.number("KGRID_PYTHON_EXECUTION_TIMEOUT", 29, 0.1, 86400),
            idle_timeout=read.number("KGRID_PYTHON_IDLE_TIMEOUT", 300, 0.1, 86400),
            memory=read.size("KGRID_PYTHON_MEMORY_LIMIT", "512M", "32M"),
            output=read.size("KGRID_PYTHON_OUTPUT_LIMIT", "19M", "1K"),
            body=read.size("KGRID_PYTHON_BODY_LIMIT", "11M", "1K"),
            concurrency=int(read.number("KGRID_PYTHON_CONCURRENCY", 8, 1, 1000, whole=True)),
            queue=int(read.number("KGRID_PYTHON_QUEUE", 1000, 0, 1_000_000, whole=True)),
        ),
        stop_with_stdin=read.choice("KGRID_RUNTIME_PARENT", ("stdin", ""), "") == "stdin",
        debug=read.text("DEBUG", "").lower() in ("1", "true", "yes"),
    )


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str, default: str) -> str:
        return self._environment.get(name, "").strip() or default

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value not in allowed:
            raise BadSetting(f"{name} must be one of {', '.join(filter(None, allowed))}, not '{value}'")
        return value

    def number(self, name: str, default: float, least: float, most: float, whole: bool = False) -> float:
        text = self.text(name, str(default))
        try:
            value = float(int(text)) if whole else float(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            kind = "a whole number" if whole else "a number"
            raise BadSetting(f"{name} must be {kind} from {least:g} to {most:g}, not '{text}'")
        return value

    def size(self, name: str, default: str, least: str) -> int:
        text = self.text(name, default)
        value = _bytes(text)
        if value is None or value < (_bytes(least) or 0):
            raise BadSetting(f"{name} must be a size of at least {least}, such as 512M or 2G, not '{text}'")
        return value

    def names(self, name: str) -> frozenset[str]:
        names = frozenset(part.strip().strip("/") for part in self.text(name, "").split(",") if part.strip())
        for each in names:
            if re.fullmatch(r"[A-Za-z0-9.]+/[A-Za-z0-9.]+", each) is None:
                raise BadSetting(f"{name} must be a list such as naan/name,naan/other, not '{each}'")
        return names

    def url(self, name: str, default: str) -> SplitResult:
        text = self.text(name, default)
        try:
            url = urlsplit(text)
            usable = not text or (url.scheme in ("http", "https") and url.hostname and (url.port or 1))
        except ValueError:
            usable = False
        if not usable:
            # Without the value: it may hold a password.
            raise BadSetting(f"{name} must be an address such as {default or 'http://127.0.0.1:5000'}")
        return url


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"(\d+)\s*([KMG]?)B?", text.upper())
    return int(match[1]) * _UNITS[match[2]] if match else None
