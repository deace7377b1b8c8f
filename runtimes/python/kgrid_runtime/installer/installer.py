"""Gives a knowledge object the folders that its imports are looked up in, beside its own files."""

from __future__ import annotations

import asyncio
import contextlib
import email.parser
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kgrid_runtime.failures import Failure, activation_failed
from kgrid_runtime.installer.environments import Environments, Progress, key_of
from kgrid_runtime.installer.processes import StartProcess
from kgrid_runtime.installer.reasons import one_sentence, reason_of
from kgrid_runtime.installer.requirement_lines import (
    check_requirement,
    check_requirements,
    names_own_files,
    requirement_lines,
)
from kgrid_runtime.installer.steps import Doing, Ended, InstallLimits, Steps
from kgrid_runtime.package_cache import Package

_OPTIONS = ("--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar", "off")
_METADATA = "metadata.json"
_DEPENDENCIES = "installing dependencies"
_NOTE = "kgrid-install.json"
_LARGEST_METADATA = 1024 * 1024
# Asking for what is required to build, for what the backend requires further, and building.
_MOST_BUILD_STEPS = 3


@dataclass(frozen=True)
class _Work:
    """What one installation is about."""

    package: Package
    folder: Path
    """Of the package, or where `requirements.txt` lies."""
    sources: bool


class Installer:
    def __init__(
        self,
        environments: Environments,
        limits: InstallLimits,
        environment: Mapping[str, str],
        source_builds: frozenset[str],
        start: StartProcess,
        warn: Callable[[str], None],
    ) -> None:
        """`source_builds`: `naan/name` of knowledge objects whose dependencies may be built from their sources.

        `start` starts what fetches and builds; `warn` is told what the operator should know.
        """
        self._environments = environments
        self._steps = Steps(limits, environment, start)
        self._retries = () if "PIP_RETRIES" in environment else ("--retries", "2")
        self._source_builds = source_builds
        self._warn = warn

    async def requirements_of(self, package: Package, progress: Progress) -> tuple[Path, ...]:
        """Folders with what its `requirements.txt` names. Raises Failure and OSError."""
        if package.requirements is None:
            return ()
        work = self._work(package, package.requirements.parent)
        return await self._requirements(work, [], package.requirements, progress)

    async def package(self, package: Package, folder: str, progress: Progress) -> tuple[Path, ...]:
        """Folders with the package in `folder` of the knowledge object, and with what it requires.

        Raises Failure and OSError.
        """
        work = self._work(package, package.root / folder)
        content = json.dumps(sorted(package.digests_in(folder).items()))

        async def make(staging: Path, made: Path, tell: Progress) -> None:
            await self._install_package(work, staging, made, tell)

        own = await self._environments.obtain(key_of("package", content, str(work.sources)), make, progress)
        note = json.loads((own / _NOTE).read_bytes())
        file = work.folder / "requirements.txt" if note["requirements"] else None
        return (own, *await self._requirements(work, note["requires"], file, progress))

    def kill(self) -> None:
        self._steps.kill()

    def _work(self, package: Package, folder: Path) -> _Work:
        return _Work(package, folder, package.ko.rpartition("/")[0] in self._source_builds)

    async def _install_package(self, work: _Work, staging: Path, made: Path, tell: Progress) -> None:
        wheel = await self._wheel(work, staging, tell)
        arguments = ["--no-deps", "--no-index", "--only-binary=:all:", "--target", str(made), *wheel]
        ended = await self._pip(work, staging, arguments, Doing("installing the package", tell))
        if ended.code != 0:
            raise activation_failed(f"Installing the package failed: {reason_of(ended.output)}")
        requires = await asyncio.to_thread(_requires_of, made)
        for line in requires:
            _check_named(line, "the package")
        file = work.folder / "requirements.txt"
        listed = file if _lines_of(file) else None
        try:
            await self._requirements(work, requires, listed, tell)
        except Failure as failure:
            if listed is None or not requires:
                raise
            # Many list there what only their authors need; the package itself says what it requires.
            await self._requirements(work, requires, None, tell)
            self._warn(f"{work.package.ko} runs without its requirements.txt: {failure.description}")
            listed = None
        # Code that asks where its knowledge object is described looks beside its package.
        if (work.folder / _METADATA).is_file() and not (made / _METADATA).exists():
            shutil.copyfile(work.folder / _METADATA, made / _METADATA)
        (made / _NOTE).write_text(json.dumps({"requires": requires, "requirements": listed is not None}))

    async def _wheel(self, work: _Work, staging: Path, tell: Progress) -> list[str]:
        """What tells pip which wheel to install."""
        ready = sorted((work.folder / "dist").glob("*-*-*.whl"), key=lambda file: _numbers(file.name))
        try:
            return [str(await self._build(work, staging, tell))]
        except Failure as failure:
            if not ready:
                raise
            name, version = ready[-1].name.split("-")[:2]
            self._warn(f"{work.package.ko} runs from its wheel {name} {version}: {failure.description}")
            # Of one version there may be wheels for several platforms.
            return ["--find-links", str(work.folder / "dist"), f"{name}=={version}"]

    async def _build(self, work: _Work, staging: Path, tell: Progress) -> Path:
        source = staging / "source"
        await asyncio.to_thread(shutil.copytree, work.folder, source)
        environment: Path | None = None
        for step in range(_MOST_BUILD_STEPS):
            last = step == _MOST_BUILD_STEPS - 1
            ended = await self._steps.build(staging, source, environment, last, Doing("building the package", tell))
            needs, wheel = ended.outcome.get("needs"), ended.outcome.get("wheel")
            if isinstance(wheel, str) and wheel.endswith(".whl") and "/" not in wheel:
                if (staging / "wheel" / wheel).is_file():
                    return staging / "wheel" / wheel
                break
            if last or not isinstance(needs, list) or not needs:
                break
            lines = [str(need) for need in needs]
            for line in lines:
                _check_named(line, "pyproject.toml")
            environment = (await self._requirements(work, lines, None, tell, "fetching the build backend"))[0]
        said = ended.outcome.get("failure")
        reason = one_sentence(said) if isinstance(said, str) else reason_of(ended.output)
        raise activation_failed(f"Building the package failed: {reason}")

    async def _requirements(
        self, work: _Work, lines: list[str], file: Path | None, progress: Progress, doing: str = _DEPENDENCIES
    ) -> tuple[Path, ...]:
        """The folder with what the lines and the file require, if that is anything."""
        listed = _lines_of(file)
        if not lines and not listed:
            return ()
        if file is not None:
            check_requirements(file, work.package.root)
        own = work.package.key if names_own_files(listed) else ""
        key = key_of("requirements", "\n".join(sorted(lines)), "\n".join(listed), own, str(work.sources))

        async def make(staging: Path, made: Path, tell: Progress) -> None:
            await self._install_requirements(work, (lines, file), staging, made, Doing(doing, tell))

        return (await self._environments.obtain(key, make, progress),)

    async def _install_requirements(
        self, work: _Work, wanted: tuple[list[str], Path | None], staging: Path, made: Path, doing: Doing
    ) -> None:
        lines, file = wanted
        arguments = ["--prefer-binary" if work.sources else "--only-binary=:all:", "--target", str(made), *lines]
        if file is not None:
            arguments += ["-r", str(file)]
        ended = await self._pip(work, staging, arguments, doing)
        if ended.code != 0:
            raise activation_failed(f"{doing.what[0].upper()}{doing.what[1:]} failed: {_why(ended, work.package.ko)}")

    async def _pip(self, work: _Work, staging: Path, arguments: list[str], doing: Doing) -> Ended:
        return await self._steps.pip(
            staging, work.folder, ["install", *_OPTIONS, *self._retries, *arguments], work.sources, doing
        )


def _why(ended: Ended, ko: str) -> str:
    only_sources = ended.outcome.get("onlySources")
    if ended.outcome.get("built") is True or isinstance(only_sources, str):
        which = one_sentence(only_sources) if isinstance(only_sources, str) else "a dependency"
        return (
            f"{which} is there as sources only, and to build it would run its code with the network open; "
            f"--allow-source-builds {ko.rpartition('/')[0]} permits that"
        )
    return reason_of(ended.output)


def _lines_of(file: Path | None) -> list[str]:
    there = file is not None and file.is_file()
    return requirement_lines(file.read_text("utf-8", "replace")) if file is not None and there else []


def _check_named(line: str, file: str) -> None:
    """Raises Failure where pip would read it as anything but a requirement."""
    if line.lstrip().startswith("-") or "\n" in line or "\r" in line:
        raise activation_failed(f"Building the package failed: {line[:100]!r} is no requirement")
    check_requirement(line, file)


def _requires_of(installed: Path) -> list[str]:
    """What an installed package says that it requires."""
    for file in installed.glob("*.dist-info/METADATA"):
        with contextlib.suppress(OSError), file.open(encoding="utf-8", errors="replace") as text:
            head = text.read(_LARGEST_METADATA).partition("\n\n")[0]
            found = email.parser.HeaderParser().parsestr(head).get_all("Requires-Dist", [])
            return sorted({" ".join(str(each).split()) for each in found})
    return []


def _numbers(name: str) -> list[int]:
    """To sort files by version."""
    version = name.split("-")[1] if "-" in name else ""
    return [int(part) for part in version.split(".") if part.isdigit()]
