"""The examples of docs/volume.md, as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.service import PROJECT, Service

_TEXT = (PROJECT / "docs" / "volume.md").read_text()
_SHOWN = "http://127.0.0.1:8080"
#: What is printed stands in the block behind.
_EXAMPLES = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", _TEXT, re.DOTALL | re.MULTILINE)


def test_all_examples_are_found() -> None:
    libraries = ("kgrid_client", "pandas", "duckdb", "pyspark", "ray")
    for library, (code, _) in zip(libraries, _EXAMPLES):
        assert library in code
    assert len(_EXAMPLES) == len(libraries) == _TEXT.count("```python\n")


@pytest.mark.parametrize("number", range(len(_EXAMPLES)))
def test_an_example_prints_what_is_shown(number: int, service: Service, tmp_path: Path) -> None:
    code, shown = _EXAMPLES[number]
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", code.replace(_SHOWN, service.url)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert lines_of(done.stdout) == lines_of(shown)


def lines_of(text: str) -> list[str]:
    return [re.sub(r" +", " ", line).strip() for line in text.splitlines() if line.strip()]
