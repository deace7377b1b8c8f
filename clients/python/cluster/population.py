"""A million made-up patients, their eGFR computed on this machine, and two activators of which one is killed."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tests.harness.service import Service

ROWS = 1_000_000
ENDPOINT = "nephrology/ckdepi/2.0/egfr"
INPUTS = ["creatinine", "age", "sex"]
#: Of each so many patients one is too young for the equation.
TOO_YOUNG_EACH = 1009
_KILL_AFTER = 100_000


def patients(ids: Any) -> pd.DataFrame:
    creatinine = (40 + ids * 7919 % 960) / 100
    age = np.where(ids % TOO_YOUNG_EACH == 0, 17, 18 + ids % 100)
    return pd.DataFrame({"patient": ids, "creatinine": creatinine, "age": age, "sex": sex_of(ids)})


def sex_of(ids: Any) -> Any:
    return np.where(ids % 2 == 0, "female", "male")


def check_scored(scored: pd.DataFrame) -> None:
    """Each patient once, with what is computed here."""
    scored = scored.sort_values("patient", ignore_index=True)
    expected = patients(np.arange(ROWS))
    assert len(scored) == ROWS
    for column in expected.columns:
        assert (scored[column] == expected[column]).all(), column
    too_young = (expected["patient"] % TOO_YOUNG_EACH == 0).to_numpy()
    assert scored["egfr"].isna().to_numpy().tolist() == too_young.tolist()
    assert scored["category"].isna().to_numpy().tolist() == too_young.tolist()
    assert (scored["egfr"][~too_young] == egfr_of(expected)[~too_young]).all()
    assert scored["error"].notna().to_numpy().tolist() == too_young.tolist()
    words = set(scored["error"][too_young])
    assert len(words) == 1
    assert "/age: expected a number >= 18, came 17" in words.pop()


def egfr_of(expected: pd.DataFrame) -> Any:
    """CKD-EPI 2021."""
    is_female = (expected["sex"] == "female").to_numpy()
    ratio = expected["creatinine"].to_numpy() / np.where(is_female, 0.7, 0.9)
    low = np.minimum(ratio, 1) ** np.where(is_female, -0.241, -0.302)
    value = 142 * low * np.maximum(ratio, 1) ** -1.2 * 0.9938 ** expected["age"].to_numpy()
    return np.floor(value * np.where(is_female, 1.012, 1) + 0.5)


@dataclass
class Pair:
    urls: list[str]
    #: Calls that the killed one had answered.
    calls_of_killed: int = 0


@contextlib.contextmanager
def one_is_killed() -> Generator[Pair]:
    """Two activators; the first is killed when it has answered a hundred thousand calls."""
    with Service("nephrology-ckdepi-v2.0") as first, Service("nephrology-ckdepi-v2.0") as second:
        pair = Pair([first.url, second.url])
        is_over = threading.Event()

        def kill() -> None:
            while not is_over.wait(0.02):
                pair.calls_of_killed = calls_of(first.url)
                if pair.calls_of_killed >= _KILL_AFTER:
                    first.kill()
                    return

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            yield pair
        finally:
            is_over.set()
            killer.join()
        assert first.process.poll() is not None, "the first activator was not killed"
        assert _KILL_AFTER <= pair.calls_of_killed < ROWS / 2
        # It was in the middle of its work, and the other one did the rest.
        assert calls_of(second.url) > ROWS / 2


def calls_of(url: str) -> int:
    with urllib.request.urlopen(f"{url}/actuator/info") as answer:
        return int(json.load(answer)["totals"]["calls"])
