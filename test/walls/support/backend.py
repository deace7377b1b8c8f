"""Builds a wheel with the results of attempts. Each is made in a process of its own, which it may end."""

import json
import os
import zipfile
from pathlib import Path

import attempt


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    lines = []
    for name, ways in json.loads(Path("attempts.json").read_text()).items():
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, json.dumps(attempt.attempt(ways)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            lines.append(json.dumps([name, json.loads(pipe.read() or "null")]) + "\n")
        os.wait()
    info = "bmi-1.0.dist-info"
    files = {
        "bmi/__init__.py": "",
        "bmi/api.py": "",
        "bmi/results.txt": "".join(lines),
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: bmi\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(Path(wheel_directory, "bmi-1.0-py3-none-any.whl"), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]))
    return "bmi-1.0-py3-none-any.whl"
