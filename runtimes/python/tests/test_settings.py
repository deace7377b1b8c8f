from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgrid_runtime.settings import BadSetting, read_settings


def test_defaults() -> None:
    settings = read_settings({})
    assert settings.activator.geturl() == "http://localhost:8080"
    assert (settings.host, settings.port, settings.url) == ("127.0.0.1", 5000, None)
    assert (settings.heartbeat, settings.cache_strategy) == (30, "use_checksum")
    workers = settings.workers
    assert (workers.execution_timeout, workers.concurrency, workers.queue) == (29, 8, 1000)
    # Below the activator's own 20 MB.
    assert workers.output < 20_000_000


def test_credentials_are_taken_out_of_the_address() -> None:
    settings = read_settings({"KGRID_PROXY_ADAPTER_URL": "https://me:p%40ss@activator:8443/kgrid/"})
    assert settings.activator.geturl() == "https://activator:8443/kgrid"
    assert settings.credentials == ("me", "p@ss")


@pytest.mark.parametrize(
    ("url", "host"),
    [("http://python:5000", "0.0.0.0"), ("http://localhost:5000", "127.0.0.1"), ("http://127.0.0.1:1", "127.0.0.1")],
)
def test_an_address_on_another_machine_makes_it_listen_to_others(url: str, host: str) -> None:
    assert read_settings({"KGRID_PYTHON_ENV_URL": url}).host == host


@pytest.mark.parametrize(("text", "size"), [("64M", 64 * 2**20), ("1g", 2**30), ("100000000", 100_000_000)])
def test_sizes_have_units(text: str, size: int) -> None:
    assert read_settings({"KGRID_PYTHON_MEMORY_LIMIT": text}).workers.memory == size


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KGRID_PROXY_ADAPTER_URL", "localhost:8080"),
        ("KGRID_PROXY_ADAPTER_URL", "ftp://me:secret@activator"),
        ("KGRID_PROXY_ADAPTER_URL", "http://activator:99999"),
        ("KGRID_PYTHON_ENV_URL", "python"),
        ("KGRID_PYTHON_ENV_PORT", "65536"),
        ("KGRID_PYTHON_ENV_PORT", "5000.5"),
        ("KGRID_PROXY_HEARTBEAT_INTERVAL", "often"),
        ("KGRID_PYTHON_EXECUTION_TIMEOUT", "nan"),
        ("KGRID_PYTHON_EXECUTION_TIMEOUT", "0"),
        ("KGRID_PYTHON_MEMORY_LIMIT", "1M"),
        ("KGRID_PYTHON_OUTPUT_LIMIT", "much"),
        ("KGRID_PYTHON_CONCURRENCY", "0"),
        ("KGRID_RUNTIME_PARENT", "pid"),
    ],
)
def test_a_bad_value_is_named_without_secrets(name: str, value: str) -> None:
    with pytest.raises(BadSetting) as refused:
        read_settings({name: value})
    assert name in str(refused.value)
    assert "secret" not in str(refused.value)


def test_the_readme_has_a_row_for_every_setting_and_no_other() -> None:
    home = Path(__file__).resolve().parent.parent
    read = set(re.findall(r'"(KGRID_[A-Z_]+|DEBUG)"', (home / "kgrid_runtime/settings.py").read_text()))
    rows = re.findall(r"^\| `(\w+)` \|", (home / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(read)
