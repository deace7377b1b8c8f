"""Runs attempts in a process of nobody's making: what the kernel itself grants to this user. One line a result."""

import json
import sys

import attempt

for name, ways in json.load(sys.stdin).items():
    print(json.dumps([name, None]), flush=True)
    print(json.dumps([name, attempt.attempt(ways)]), flush=True)
