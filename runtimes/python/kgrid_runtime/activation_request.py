"""The body of `POST /endpoints`, checked once."""

from __future__ import annotations

import json
import keyword
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kgrid_runtime.failures import bad_request

_MOST_ARTIFACTS = 5000
_KO_IN_URL = re.compile(r"/proxy/artifacts/([^/]+)/([^/]+)/([^/]+)/$")
_OWN = {"kgrid_python_runtime", "kgrid_runtime"}
_URI = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+){3}")


@dataclass(frozen=True)
class PythonPackage:
    """What to import of a knowledge object that is an installable package."""

    folder: str
    """Of the package; empty for the knowledge object's root."""
    module: str
    """With the package, such as `bmi.api`."""


@dataclass(frozen=True)
class ActivationRequest:
    uri: str
    """<naan>/<name>/<apiVersion>/<endpoint>"""
    ko: str
    """<naan>/<name>/<version>"""
    base_url: str
    """Ends with a slash."""
    artifacts: tuple[str, ...]
    entry: str
    function: str
    checksum: str | None
    package: PythonPackage | None
    timeout: float | None = None
    """Seconds that a call may take; the limit of the runtime where there is None."""


def read_activation_request(body: bytes) -> ActivationRequest:
    """Raises Failure (400)."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_request("The body is not JSON") from None
    if not isinstance(value, dict):
        raise bad_request("The body is not a JSON object")
    uri = _text(value, "uri").strip("/")
    if _URI.fullmatch(uri) is None:
        raise bad_request("uri must have the form naan/name/apiVersion/endpoint")
    base_url = _text(value, "baseUrl")
    base_url += "" if base_url.endswith("/") else "/"
    artifacts = value.get("artifact")
    if isinstance(artifacts, str):
        artifacts = [artifacts]
    if not isinstance(artifacts, list) or not 0 < len(artifacts) <= _MOST_ARTIFACTS:
        raise bad_request("artifact must be a list of paths")
    paths = tuple(dict.fromkeys(_path(path) for path in artifacts))
    entry = _path(value["entry"]) if value.get("entry") else paths[0]
    if entry not in paths:
        raise bad_request(f"entry {entry} is not among the artifacts")
    checksum = value.get("checksum")
    if checksum is not None and not isinstance(checksum, str):
        checksum = json.dumps(checksum)
    return ActivationRequest(
        uri,
        _ko(base_url, uri),
        base_url,
        paths,
        entry,
        _text(value, "function"),
        checksum or None,
        read_package(value),
        _timeout(value.get("timeout")),
    )


def read_package(value: dict[str, object]) -> PythonPackage | None:
    """Where there is a `folder` to install: `package`, `module` or both say what to import."""
    if value.get("folder") is None:
        return None
    named = [(key, str(value[key])) for key in ("package", "module") if value.get(key)]
    if not named:
        raise bad_request("package or module must be a text")
    for key, name in named:
        if len(name) > 500 or not all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split(".")):
            raise bad_request(f"The {key} {name[:100]!r} is no name that Python could import")
    module = ".".join(name for _, name in named)
    top = module.partition(".")[0]
    if top in _standard_modules() or top in _OWN:
        raise bad_request(
            f"The package {top} has the name of a module of {'the runtime' if top in _OWN else 'the standard library'},"
            " which would be imported in its place; give it another name"
        )
    return PythonPackage(_path(value["folder"]) if value["folder"] != "" else "", module)


def _timeout(milliseconds: object) -> float | None:
    is_number = isinstance(milliseconds, (int, float)) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if is_number and milliseconds > 0 else None  # type: ignore[operator]


def _standard_modules() -> frozenset[str]:
    found = getattr(sys, "stdlib_module_names", None)
    if found is not None:
        return frozenset(found)
    # Before Python 3.10.
    files = {file.name.partition(".")[0] for file in Path(os.__file__).parent.iterdir()} - {"site-packages"}
    return frozenset({*files, *sys.builtin_module_names})


def _text(value: dict[str, object], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text or "\0" in text or len(text) > 2000:
        raise bad_request(f"{key} must be a text")
    return text


def _path(path: object) -> str:
    """A relative path that stays in its folder."""
    if not isinstance(path, str):
        raise bad_request("artifact must be a list of paths")
    path = path[2:] if path.startswith("./") else path
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or len(part.encode()) > 255 for part in parts)
    if bad or "\\" in path or "\0" in path or len(path) > 1024:
        raise bad_request(f"artifact {path[:100]} is not a path within the knowledge object")
    return path


def _ko(base_url: str, uri: str) -> str:
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        path = parts.path
    except ValueError:
        usable, path = False, ""
    if not usable or parts.username is not None:
        raise bad_request("baseUrl must be an http address")
    match = _KO_IN_URL.search(path)
    # Other activators serve artifacts elsewhere; the version in the uri then tells the knowledge objects apart.
    return unquote("/".join(match.groups())) if match else uri.rpartition("/")[0]
