"""What of pip's output reaches the person who reads why an endpoint is not there."""

from __future__ import annotations

import pytest

from kgrid_runtime.installer.reasons import one_sentence, reason_of

OBJECT = "<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f1313782b90>"


@pytest.mark.parametrize(
    ("broken_by", "said"),
    [
        (f"'NewConnectionError('{OBJECT}: Failed to connect: [Errno 111] refused')'", "Failed to connect: [Errno 111]"),
        (
            f"'NewConnectionError(\"{OBJECT}: Failed to resolve 'index.test' ([Errno -2] x)\")'",
            "Failed to resolve index.test",
        ),
        (
            f"'ConnectTimeoutError({OBJECT}, 'Connection to index.test timed out. (15)')'",
            "Connection to index.test timed",
        ),
        (
            "'SSLError(SSLCertVerificationError(1, '[SSL: BAD] verify failed: self-signed (_ssl.c:1)'))'",
            "SSL: BAD] verify",
        ),
        (
            "'ReadTimeoutError(\"HTTPSConnectionPool(host='index.test', port=443): Read timed out. (15)\")'",
            "Read timed out.",
        ),
        (
            f"'ProxyError('Cannot connect to proxy.', NewConnectionError('{OBJECT}: refused'))'",
            "Cannot connect to proxy",
        ),
    ],
)
def test_an_index_that_cannot_be_reached_is_named_in_the_words_of_the_system(broken_by: str, said: str) -> None:
    reason = reason_of(f"WARNING: Retrying (x) after connection broken by {broken_by}: /simple/x/\nERROR: No x\n")
    assert reason.startswith(f"the package index cannot be reached ({said}")
    assert "0x7f" not in reason


def test_a_crash_of_pip_is_told_by_its_last_line() -> None:
    output = 'Collecting x\nERROR: Exception:\nTraceback (most recent call last):\n  File "/usr/lib/pip.py", line 1\n'
    reason = reason_of(output + "OSError: [Errno 28] No space left on device: '/var/cache/kgrid/x'\n")
    assert reason == "OSError: [Errno 28] No space left on device: 'x'"


def test_no_paths_of_the_host_and_no_credentials_are_told() -> None:
    text = "at /opt/wheels/a.whl (from file:///home/me/x.txt), see https://user:pw@x.example/simple/a/\n and ./own/file"
    assert one_sentence(text) == "at a.whl (from x.txt), see https://x.example/simple/a/ and ./own/file"
    assert len(one_sentence("x " * 10_000)) <= 1000
