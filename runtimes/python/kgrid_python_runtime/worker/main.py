"""Starts a worker: `python -I -S main.py <options as JSON>`, with the two pipes as inherited descriptors, 3 and 4."""

import sys

_started_with = set(sys.modules)

import json  # noqa: E402
import os  # noqa: E402
import threading  # noqa: E402


def main() -> None:
    options = json.loads(sys.argv[1])
    # Imported from beside this file only: the folder must not stay on the path of the knowledge object.
    home = os.path.realpath(__file__)[: -len("/kgrid_python_runtime/worker/main.py")]
    sys.path.insert(0, home)
    from kgrid_python_runtime import context  # noqa: F401, PLC0415
    from kgrid_python_runtime.worker import bridge, confine  # noqa: PLC0415
    from kgrid_python_runtime.worker.calls import STACK, Calls  # noqa: PLC0415
    from kgrid_python_runtime.worker.control import read_control  # noqa: PLC0415
    from kgrid_python_runtime.worker.counters import shared_numbers  # noqa: PLC0415
    from kgrid_python_runtime.worker.endpoints import Endpoints  # noqa: PLC0415
    from kgrid_python_runtime.worker.frames import PING, SEALED, frame  # noqa: PLC0415
    from kgrid_python_runtime.worker.requests import Requests  # noqa: PLC0415
    from kgrid_python_runtime.worker.substitutes import install  # noqa: PLC0415

    sys.path.remove(home)
    data, control, counters = options.get("descriptors", (3, 4, None))
    for descriptor in (data, control, counters):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
    confine.be_first_to_go()
    confine.drop_privileges()
    confine.stay_unreadable()
    if "parent" in options:
        confine.die_with_parent(options["parent"])
    sys.argv = [""]
    install()
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]

    limits = (options["concurrency"], options["threads"], options["outputLimit"])
    endpoints = Endpoints(options["scratch"], home, _started_with)
    begun = shared_numbers(counters)
    calls = Calls(data, begun, endpoints, limits, lambda last: _write(control, frame(SEALED, last, 0)))
    os.register_at_fork(after_in_child=lambda: calls.leave((data, control)))
    requests = Requests(calls.send, calls.waiting, options["bodyLimit"])
    bridge.requests.append(requests)

    threading.stack_size(STACK)
    memory = options["memoryLimit"]
    confine.limit_memory(memory + 3 * STACK, memory + (options["threads"] + 2) * STACK)
    for work in (lambda: read_control(control, calls, requests.reply), calls.watch):
        threading.Thread(target=work, daemon=True).start()
    # Whatever ends this process from now on, it was started.
    calls.send(frame(PING, 0, 0))
    calls.serve()


def _write(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)


if __name__ == "__main__":
    main()
