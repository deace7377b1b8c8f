"""Turns what pip and build backends print into one sentence without paths of the host and without credentials."""

from __future__ import annotations

import re

_LONGEST = 1000
# Numbers of lines.
_LAST = 3
_MOST_CONFLICTS = 4
_UNREACHABLE = re.compile(r"connection broken by .*?(?::\s*|\()([^:()'\"]{3,100}?)['\")]*: /")
_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_PATH = re.compile(r"(?<![\w:/.@-])(?:file://)?/(?:[^\s/'\",:;()]+/)+")


def reason_of(output: str) -> str:
    """pip's own reason."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line[len("ERROR:") :].strip() for line in lines if line.startswith("ERROR:")]
    conflict = _conflict(lines)
    unreachable = _UNREACHABLE.search(output)
    if conflict is not None:
        reason = conflict
    elif unreachable is not None and errors:
        reason = f"the package index cannot be reached ({unreachable[1].strip()}): {errors[-1]}"
    else:
        reason = "; ".join(errors[-_LAST:] or lines[-_LAST:]) or "pip gave no reason"
    return one_sentence(reason)


def one_sentence(text: str) -> str:
    text = _CREDENTIALS.sub("//", " ".join(text[: 8 * _LONGEST].split()))
    return _PATH.sub("", text)[:_LONGEST]


def _conflict(lines: list[str]) -> str | None:
    for number, line in enumerate(lines):
        if line.startswith("The conflict is caused by:"):
            said = [each for each in lines[:number] if each.startswith("ERROR: Cannot install")]
            causes = []
            for cause in lines[number + 1 :]:
                if "depends on" not in cause and "requested" not in cause:
                    break
                causes.append(cause)
            return "; ".join(
                [said[-1][len("ERROR: ") :].rstrip(".") if said else "conflict", *causes[:_MOST_CONFLICTS]]
            )
    return None
