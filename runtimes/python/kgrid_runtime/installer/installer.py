"""Gives a knowledge object the folders that its imports are looked up in, beside its own files."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kgrid_runtime.installer import scratch
from kgrid_runtime.installer.environments import Environments, Progress, key_of
from kgrid_runtime.installer.failures import Failure
from kgrid_runtime.installer.package import Package
from kgrid_runtime.installer.reasons import one_sentence, reason_of
from kgrid_runtime.installer.requirement_files import archives_in, read_requirements
from kgrid_runtime.installer.requirements import Line, Requirements, read_needs, requires_in
from kgrid_runtime.installer.steps import Doing, Ended, InstallLimits, RunStep, Steps
from kgrid_runtime.installer.tree import TreeRefused, check_folder, read_file, take_file, take_folder, write_new

_OPTIONS = ("--no-input", "--disable-pip-version-check", "--progress-bar", "off")
_METADATA = "metadata.json"
_DEPENDENCIES = "installing dependencies"
_NOTE = "kgrid-install.json"
_LARGEST_METADATA = 1024 * 1024
_WHEEL = re.compile(r"[A-Za-z0-9_.!+-]+\.whl")
_NO_HOSTS: Mapping[str, object] = {"named": [], "allowed": {}}
# In the folder of an installation: what its steps are given, and read only.
_GIVEN = "given"
# Asking for what is required to build, for what the backend requires further, and building.
_MOST_BUILD_STEPS = 3


@dataclass(frozen=True)
class _Work:
    """What one installation is about."""

    package: Package
    folder: Path
    """The folder of the package, or of `requirements.txt`."""
    sources: bool

    @property
    def alone(self) -> str:
        """Part of the key of what others do not get: code of packages may have changed it."""
        return self.package.ko.rpartition("/")[0] if self.sources else ""


class Installer:
    def __init__(
        self,
        environments: Environments,
        limits: InstallLimits,
        environment: Mapping[str, str],
        source_builds: frozenset[str],
        run: RunStep,
        warn: Callable[[str], None],
    ) -> None:
        """`source_builds`: `naan/name` of knowledge objects whose dependencies may be built from their sources.

        `run` runs what fetches and builds; `warn` is told what the operator should know.
        """
        self._environments = environments
        self._limits = limits
        self._steps = Steps(limits, environment, run)
        self._retries = () if "PIP_RETRIES" in environment else ("--retries", "2")
        self._source_builds = source_builds
        self._warn = warn

    async def requirements_of(self, package: Package, progress: Progress) -> tuple[Path, ...]:
        """Folders with what its `requirements.txt` names. Raises Failure and OSError."""
        if package.requirements is None:
            return ()
        work = self._work(package, package.requirements.parent)
        listed = await asyncio.to_thread(read_requirements, package.requirements, package.root)
        return await self._requirements(work, listed, progress)

    async def package(self, package: Package, folder: str, progress: Progress) -> tuple[Path, ...]:
        """Folders with the package in `folder` of the knowledge object, and with what it requires.

        Raises Failure and OSError.
        """
        work = self._work(package, package.root / folder)

        async def make(staging: Path, made: Path, tell: Progress) -> None:
            await self._install_package(work, staging, made, tell)

        own = await self._environments.obtain(key_of("package", package.key, folder, work.alone), make, progress)
        note = json.loads((own / _NOTE).read_bytes())
        wanted = read_needs(note["requires"], "the package")
        if note["requirements"]:
            wanted = wanted.and_of(await asyncio.to_thread(_listed, work))
        return (own, *await self._requirements(work, wanted, progress))

    def _work(self, package: Package, folder: Path) -> _Work:
        return _Work(package, folder, package.ko.rpartition("/")[0] in self._source_builds)

    async def _install_package(self, work: _Work, staging: Path, made: Path, tell: Progress) -> None:
        wheel = await self._wheel(work, staging, tell)
        doing = Doing("installing the package", tell)
        ended = await self._pip(staging, ["--no-deps", "--no-index", "--only-binary=:all:", *wheel], False, doing)
        if ended.code != 0:
            raise Failure(f"Installing the package failed: {reason_of(ended.output)}")
        await self._take(staging, made, False, doing)
        needed = read_needs(await asyncio.to_thread(_requires_of, made), "the package")
        requires = [line.before for line in needed.lines]
        listed = Requirements()
        try:
            listed = await asyncio.to_thread(_listed, work)
            await self._requirements(work, needed.and_of(listed), tell)
        except Failure as failure:
            if not requires:
                raise
            # Many list there what only their authors need; the package itself says what it requires.
            await self._requirements(work, needed, tell)
            self._warn(f"{work.package.ko} runs without its requirements.txt: {failure.description}")
            listed = Requirements()
        # Code that asks where its knowledge object is described looks beside its package.
        metadata = read_file(work.folder, _METADATA, most=_LARGEST_METADATA)
        if metadata is not None and not (made / _METADATA).exists():
            write_new(made, _METADATA, metadata)
        write_new(made, _NOTE, json.dumps({"requires": requires, "requirements": any(listed)}).encode())

    async def _wheel(self, work: _Work, staging: Path, tell: Progress) -> list[str]:
        """What tells pip which wheel to install."""
        dist = work.folder / "dist"
        ready = sorted((each for each in dist.glob("*-*-*.whl") if _WHEEL.fullmatch(each.name)), key=_numbers)
        try:
            return [str(await self._build(work, staging, tell))]
        except Failure as failure:
            if not ready:
                raise
            name, version = ready[-1].name.split("-")[:2]
            self._warn(f"{work.package.ko} runs from its wheel {name} {version}: {failure.description}")
            # A version may have wheels for several platforms.
            return ["--find-links", str(await asyncio.to_thread(_links, dist, staging)), f"{name}=={version}"]

    async def _build(self, work: _Work, staging: Path, tell: Progress) -> Path:
        environment: Path | None = None
        folder = staging / "build"
        for step in range(_MOST_BUILD_STEPS):
            # Nothing of an earlier step is used again but what it said.
            await asyncio.to_thread(scratch.drop, folder)
            folder = staging / f"build-{step}"
            await asyncio.to_thread(shutil.copytree, work.folder, folder / "source")
            last = step == _MOST_BUILD_STEPS - 1
            ended = await self._steps.build(folder, environment, last, Doing("building the package", tell))
            needs, wheel = ended.outcome.get("needs"), ended.outcome.get("wheel")
            if ended.code == 0 and isinstance(wheel, str):
                return await asyncio.to_thread(self._take_wheel, folder, wheel, staging)
            if last or not isinstance(needs, list) or not needs:
                break
            wanted = read_needs(needs, "pyproject.toml")
            environment = (await self._requirements(work, wanted, tell, "fetching the build backend"))[0]
        said = ended.outcome.get("failure")
        reason = (
            one_sentence(said) if isinstance(said, str) else reason_of(ended.output, "its build ended without a wheel")
        )
        raise Failure(f"Building the package failed: {reason}")

    def _take_wheel(self, folder: Path, name: str, staging: Path) -> Path:
        if _WHEEL.fullmatch(name) is None:
            raise Failure("Building the package failed: its build backend made no wheel")
        wheel = _given(staging) / name
        try:
            take_file(folder, ("wheel", name), wheel, self._limits.count())
        except (TreeRefused, FileNotFoundError, NotADirectoryError) as error:
            why = error if isinstance(error, TreeRefused) else "made no wheel"
            raise Failure(f"Building the package failed: its build backend {why}") from None
        return wheel

    async def _requirements(
        self, work: _Work, wanted: Requirements, progress: Progress, doing: str = _DEPENDENCIES
    ) -> tuple[Path, ...]:
        """The folder with what is wanted, if that is anything."""
        if not any(wanted.lines):
            return ()
        alone = work.package.ko.rpartition("/")[0] if wanted.has_own or wanted.hosts else ""
        key = key_of("requirements", wanted.meaning, alone, work.alone)

        async def make(staging: Path, made: Path, tell: Progress) -> None:
            await self._install_requirements(work, wanted, key, staging, made, Doing(doing, tell))

        return (await self._environments.obtain(key, make, progress),)

    async def _install_requirements(
        self, work: _Work, wanted: Requirements, key: str, staging: Path, made: Path, doing: Doing
    ) -> None:
        arguments = ["--prefer-binary" if work.sources else "--only-binary=:all:"]

        def place(line: Line) -> Path:
            own = line.own or staging
            if line.names_links:
                return _links(own, staging)
            if not own.is_dir():
                return own
            if not work.sources:
                raise Failure(f"{doing.words} failed: {_only_sources('a dependency', work.package.ko)}")
            # Its build writes beside its files.
            copy = staging / "fetch" / "own" / str(uuid.uuid4()) / own.name
            shutil.copytree(own, copy)
            return copy

        def write() -> None:
            for option, name, lines in (("-r", "requirements.txt", wanted.lines), ("-c", "limits", wanted.constraints)):
                if lines == wanted.lines and wanted.are_short:
                    # pip then names them as they are.
                    arguments.extend(line.before for line in lines)
                elif lines:
                    file = _given(staging) / name
                    file.write_text("".join(f"{line.written(place)}\n" for line in lines))
                    arguments.extend([option, str(file)])

        await asyncio.to_thread(write)
        hosts = {"named": wanted.hosts, "allowed": work.package.hosts}
        # What is built from sources, or lies in the package, is no use to other nodes.
        shared = None if work.sources or wanted.has_own else key
        ended = await self._pip(staging, arguments, work.sources, doing, hosts, shared)
        if ended.code != 0:
            raise Failure(f"{doing.words} failed: {_why(ended, work.package.ko)}")
        await self._take(staging, made, work.sources, doing)

    async def _pip(
        self,
        staging: Path,
        arguments: list[str],
        sources: bool,
        doing: Doing,
        hosts: Mapping[str, object] = _NO_HOSTS,
        shared: str | None = None,
    ) -> Ended:
        """`shared`: the key under which nodes of a fleet share what is fetched."""
        work = staging / "fetch"
        install = ["install", *_OPTIONS, "--no-warn-script-location", "--target", str(work / "target")]
        asked: dict[str, object] = {"arguments": [*install, *self._retries, *arguments], "sources": sources, **hosts}
        if shared is not None:
            asked["shared"] = {
                "key": shared,
                "download": ["download", *_OPTIONS, *self._retries, *arguments],
                "install": [*install, "--no-index", "--no-deps", "--only-binary=:all:"],
            }
        return await self._steps.pip(work, asked, sources, doing)

    async def _take(self, staging: Path, made: Path, sources: bool, doing: Doing) -> None:
        """What pip has installed; where code of packages ran meanwhile, a copy."""

        def take() -> None:
            target = staging / "fetch" / "target"
            if not target.exists():
                made.mkdir()
            elif sources:
                take_folder(target, made, self._limits.count())
            else:
                check_folder(target, self._limits.count())
                target.rename(made)

        try:
            await asyncio.to_thread(take)
        except TreeRefused as refused:
            raise Failure(f"{doing.words} {refused}") from None


def _given(staging: Path) -> Path:
    folder = staging / _GIVEN
    folder.mkdir(exist_ok=True)
    return folder


def _links(folder: Path, staging: Path) -> Path:
    """The packages in a folder of the knowledge object, where pip looks for them."""
    links = _given(staging) / str(uuid.uuid4())
    links.mkdir()
    for file in archives_in(folder):
        shutil.copyfile(file, links / file.name)
    return links


def _why(ended: Ended, ko: str) -> str:
    refused = ended.outcome.get("refusedHost")
    if isinstance(refused, str):
        name = ko.rpartition("/")[0]
        return (
            f"{one_sentence(refused)} is no host from which packages are fetched; take them from a package index of "
            f"the operator, who can add one (PIP_EXTRA_INDEX_URL) or permit the host (--allow-network {name}="
            f"{one_sentence(refused)})"
        )
    only_sources = ended.outcome.get("onlySources")
    if ended.outcome.get("built") is True or isinstance(only_sources, str):
        return _only_sources(one_sentence(only_sources) if isinstance(only_sources, str) else "a dependency", ko)
    return reason_of(ended.output)


def _only_sources(which: str, ko: str) -> str:
    return (
        f"{which} is there as sources only, and to build it would run its code with the network open; "
        f"--allow-source-builds {ko.rpartition('/')[0]} permits that"
    )


def _listed(work: _Work) -> Requirements:
    """What a `requirements.txt` beside the package says."""
    file = work.folder / "requirements.txt"
    return read_requirements(file, work.package.root) if file.is_file() else Requirements()


def _requires_of(installed: Path) -> list[str]:
    """What an installed package says that it requires."""
    for folder in installed.glob("*.dist-info"):
        content = read_file(folder, "METADATA", most=_LARGEST_METADATA)
        if content is not None:
            return requires_in(content)
    return []


def _numbers(wheel: Path) -> list[int]:
    """To sort files by version."""
    return [int(part) for part in wheel.name.split("-")[1].split(".") if part.isdigit()]
