"""Runs pip, without letting it run code of packages: `python -I fetch.py <request as JSON>`.

The request: `parent` (process id of the runtime), `arguments` (of pip), `sources` (true: code of packages may run),
`named` (hosts and ports that requirements name), `allowed` (which the operator allowed; see `hosts.py`), `work` (a
folder that takes `outcome.json`: what only code of packages could have made, and a host from which nothing is fetched).
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from pathlib import Path

_SKIPPED = re.compile(r"Skipping link: No sources permitted for ([\w.-]+): (\S+)")
_WANTED = re.compile(r"No matching distribution found for (.+)")
_LARGEST_LOG = 20_000_000
_STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "os.forkpty"}
# Gives passwords of package indexes; of the operator, not of a package.
_ALLOWED = {"keyring"}
# pip asks these about the system, and does without an answer.
_NOT_NEEDED = {"rustc", "lsb_release", "ldd", "uname"}


def main() -> None:
    home = str(Path(__file__).resolve().parent.parent.parent)
    sys.path.insert(0, home)
    from kgrid_python_runtime.worker import confine  # noqa: PLC0415
    from kgrid_runtime.installer.hosts import Hosts  # noqa: PLC0415

    sys.path.remove(home)
    request = json.loads(sys.argv[1])
    confine.be_first_to_go()
    confine.drop_privileges()
    confine.die_with_parent(request["parent"])
    # The environment may hold credentials of an index, and code of packages is built at the same time.
    confine.stay_unreadable()
    work = Path(request["work"])
    outcome: dict[str, object] = {"built": False, "onlySources": None}
    if not request["sources"]:
        _refuse_programs(outcome)
    log = work / "pip.log"
    sys.argv = ["pip", *request["arguments"], "--log", str(log)]
    hosts: Hosts | None = None
    try:
        hosts = Hosts(request["allowed"], os.environ.items())
        if hosts.refuse((host, port) for host, port in request["named"]):
            sys.exit("ERROR: requirements name a host from which nothing is fetched")
        hosts.watch()
        runpy.run_module("pip", run_name="__main__")
    except ImportError as error:
        sys.exit(f"ERROR: pip is not usable in this Python ({error}); install it, for example as python3-pip")
    except SystemExit as ended:
        if ended.code:
            outcome["onlySources"] = _only_sources(log)
            outcome["refusedHost"] = None if hosts is None else hosts.refused
            (work / "outcome.json").write_text(json.dumps(outcome))
        raise


def _refuse_programs(outcome: dict[str, object]) -> None:
    """Every way to build a package starts a program."""

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in _STARTS:
            program = os.path.basename(str(arguments[0] if arguments else ""))  # noqa: PTH119
            if event == "subprocess.Popen" and program in _ALLOWED:
                return
            outcome["built"] = outcome["built"] or program not in _NOT_NEEDED
            raise PermissionError("code of packages does not run here")

    sys.addaudithook(audit)


def _only_sources(log: Path) -> str | None:
    """A wanted package that the index has in a version that would do, but as sources only."""
    from pip._vendor.packaging.requirements import Requirement  # noqa: PLC0415
    from pip._vendor.packaging.utils import canonicalize_name, parse_sdist_filename  # noqa: PLC0415

    try:
        with log.open(errors="replace") as file:
            text = file.read(_LARGEST_LOG)
    except FileNotFoundError:
        return None
    for wanted in _WANTED.findall(text):
        for name, url in _SKIPPED.findall(text):
            try:
                requirement = Requirement(wanted.partition(" (from")[0])
                _, version = parse_sdist_filename(url.partition("#")[0].rpartition("/")[2])
            except ValueError:
                continue
            same = canonicalize_name(name) == canonicalize_name(requirement.name)
            if same and requirement.specifier.contains(version, prereleases=True):
                return f"{requirement.name} {version}"
    return None


if __name__ == "__main__":
    main()
