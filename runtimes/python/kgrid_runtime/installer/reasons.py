"""Turns what pip and build backends print into one sentence without paths of the host and without credentials."""

from __future__ import annotations

import re

_LONGEST = 1000
# Numbers of lines.
_LAST = 3
_MOST_CONFLICTS = 4
_UNREACHABLE = re.compile(r"connection broken by (.{1,500}?): /")
# What is around the words of the system: `'NewConnectionError('<pip._vendor… object at 0x7f…>: …')'`.
_AROUND = re.compile(r"<[^<>]*>[:,]?\s*|\w+(?:Error|Pool)\((?:\d+,\s*|host=[^)]*\):\s*)?|^\W+|[\W]+$")
_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_PATH = re.compile(r"(?<![\w:/.@-])(?:file://)?/(?:[^\s/'\",:;()]+/)+")


def reason_of(output: str, without: str = "pip gave no reason") -> str:
    """pip's own reason, and what is said where there is none."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line[len("ERROR:") :].strip() for line in lines if line.startswith("ERROR:")]
    if errors and errors[-1] == "Exception:":
        errors = lines[-1:]
    conflict = _conflict(lines)
    unreachable = _UNREACHABLE.search(output)
    if conflict is not None:
        reason = conflict
    elif unreachable is not None and errors:
        reason = f"the package index cannot be reached ({_words_of_system(unreachable[1])}): {errors[-1]}"
    else:
        reason = "; ".join(errors[-_LAST:] or lines[-_LAST:]) or without
    return one_sentence(reason)


def one_sentence(text: str) -> str:
    text = _CREDENTIALS.sub("//", " ".join(text[: 8 * _LONGEST].split()))
    return _PATH.sub("", text)[:_LONGEST]


def _words_of_system(text: str) -> str:
    for _ in range(4):
        text = _AROUND.sub("", text.strip())
    return text.replace("'", "").replace('"', "")


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
