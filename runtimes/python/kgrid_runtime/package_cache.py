"""The files of knowledge objects on disk. What is there once needs no network again.

`packages/<key>/files/…` holds the artifacts, `packages/<key>/index.json` their digests. The key comes from the
package's checksum, or from the contents where there is none. `latest/<ko>` names the key that was used last.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from kgrid_runtime import scratch
from kgrid_runtime.activation_request import ActivationRequest
from kgrid_runtime.activator import Activator, Refused
from kgrid_runtime.failures import activation_failed

REQUIREMENTS = "requirements.txt"
_LARGEST_FILE = 100 * 1024 * 1024
_LARGEST_PACKAGE = 300 * 1024 * 1024
_AT_ONCE = 4

# Digest of each file, None for one that the knowledge object does not have.
Index = dict[str, "str | None"]


@dataclass(frozen=True)
class Package:
    ko: str
    """<naan>/<name>/<version>"""
    key: str
    root: Path
    requirements: Path | None
    index: Index
    hosts: Mapping[str, object] = field(default_factory=dict)
    """From which packages may be fetched beside the indexes: `any` public one, and `hosts` with their ports."""

    def digests_in(self, folder: str) -> dict[str, str]:
        """Of each file in a folder, by path from there; the empty folder is the root."""
        start = f"{folder}/" if folder else ""
        files = {path: digest for path, digest in self.index.items() if digest is not None}
        return {path[len(start) :]: digest for path, digest in files.items() if path.startswith(start)}


class PackageCache:
    def __init__(self, folder: Path, strategy: str, activator: Activator) -> None:
        self._packages = folder / "packages"
        self._latest = folder / "latest"
        self._staging = folder / "staging"
        self._strategy = strategy
        self._activator = activator
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def prepare(self) -> None:
        """Makes the folders, and drops what was interrupted. Raises OSError."""
        scratch.prepare(self._staging)
        for folder in (self._packages, self._latest):
            folder.mkdir(parents=True, exist_ok=True)

    async def obtain(self, request: ActivationRequest) -> Package:
        """The artifacts of the request, fetched where they are not there yet. Raises Failure and OSError."""
        optional = not any(path.rpartition("/")[2] == REQUIREMENTS for path in request.artifacts)
        paths = [*request.artifacts, *([REQUIREMENTS] if optional else [])]
        async with self._locks[request.ko]:
            key = await asyncio.to_thread(self._cached, request, paths)
            if key is None:
                key = await self._fetch(request, paths)
            await asyncio.to_thread(self._use, request.ko, key)
        root = self._packages / key / "files"
        named = sorted((p for p in paths if p.rpartition("/")[2] == REQUIREMENTS), key=len)
        requirements = root / named[0] if named else None
        is_there = requirements is not None and requirements.is_file()
        return Package(request.ko, key, root, requirements if is_there else None, self._index(key))

    async def discard(self, package: Package) -> None:
        async with self._locks[package.ko]:
            await asyncio.to_thread(shutil.rmtree, self._packages / package.key, True)
            latest = self._latest / _digest(package.ko.encode())
            if latest.is_file() and latest.read_text() == package.key:
                latest.unlink()

    def _cached(self, request: ActivationRequest, paths: list[str]) -> str | None:
        if self._strategy == "always":
            latest = self._latest / _digest(request.ko.encode())
            key = latest.read_text() if latest.is_file() else None
        elif self._strategy == "use_checksum" and request.checksum is not None:
            key = _key(request.ko, request.checksum)
        else:
            key = None
        return key if key is not None and self._holds(key, paths) else None

    def _holds(self, key: str, paths: list[str]) -> bool:
        index, root = self._index(key), self._packages / key / "files"
        return all(path in index and _is_intact(root / path, index[path]) for path in paths)

    def _index(self, key: str) -> Index:
        try:
            value: Index = json.loads((self._packages / key / "index.json").read_bytes())
            return value
        except (OSError, ValueError):
            return {}

    async def _fetch(self, request: ActivationRequest, paths: list[str]) -> str:
        staging = scratch.make(self._staging)
        try:
            index = await self._download(request, paths, staging / "files")
            by_checksum = self._strategy == "use_checksum" and request.checksum is not None
            contents = json.dumps(sorted(index.items(), key=lambda item: item[0]))
            key = _key(request.ko, str(request.checksum) if by_checksum else "contents " + contents)
            await asyncio.to_thread(self._store, key, staging, index)
            return key
        finally:
            await asyncio.to_thread(shutil.rmtree, staging, True)

    async def _download(self, request: ActivationRequest, paths: list[str], into: Path) -> Index:
        index: Index = {}
        left = _LARGEST_PACKAGE
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(path: str) -> None:
            nonlocal left
            async with turn:
                try:
                    content = await self._activator.artifact(
                        request.base_url + quote(path), max(min(left, _LARGEST_FILE), 0)
                    )
                except Refused as refused:
                    raise activation_failed(f"The artifact {path} cannot be fetched: {refused}") from None
            if content is None:
                if path in request.artifacts:
                    raise activation_failed(f"The artifact {path} is missing")
                index[path] = None
                return
            left -= len(content)
            index[path] = _digest(content)
            await asyncio.to_thread(_write, into / path, content)

        await _all(one(path) for path in paths)
        return index

    def _store(self, key: str, staging: Path, index: Index) -> None:
        """Puts fetched files in their place; others that were there stay."""
        package = self._packages / key
        for path, digest in index.items():
            if digest is not None:
                target = package / "files" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                (staging / "files" / path).replace(target)
        written = staging / "index.json"
        written.write_text(json.dumps({**self._index(key), **index}))
        written.replace(package / "index.json")

    def _use(self, ko: str, key: str) -> None:
        (self._packages / key).touch()
        pointer = scratch.make(self._staging) / "latest"
        pointer.write_text(key)
        pointer.replace(self._latest / _digest(ko.encode()))
        pointer.parent.rmdir()


async def _all(steps: Iterable[Coroutine[object, object, None]]) -> None:
    tasks = [asyncio.ensure_future(step) for step in steps]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _key(ko: str, version: str) -> str:
    return _digest(f"{ko}\0{version}".encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_intact(path: Path, digest: str | None) -> bool:
    if digest is None:
        return True
    try:
        return _digest(path.read_bytes()) == digest
    except OSError:
        return False


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
