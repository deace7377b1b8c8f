"""Starts a worker: `python -I -S main.py <options as JSON>`, with the sockets as inherited descriptors."""

import sys

_started_with = set(sys.modules)

import json  # noqa: E402
import mmap  # noqa: E402
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
    from kgrid_python_runtime.worker.counters import COUNTERS_SIZE  # noqa: PLC0415
    from kgrid_python_runtime.worker.failure import Describer  # noqa: PLC0415
    from kgrid_python_runtime.worker.loader import Functions, Loader, PackageLoader  # noqa: PLC0415
    from kgrid_python_runtime.worker.requests import Requests  # noqa: PLC0415

    sys.path.remove(home)
    call_socket, control_socket, counter = options["descriptors"]
    for descriptor in (call_socket, control_socket, counter):
        os.set_inheritable(descriptor, False)
    confine.be_first_to_go()
    confine.drop_privileges()
    confine.die_with_parent(options["parent"])
    sys.argv = [""]
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]

    root = options["root"]
    hidden = {options["scratch"]: "", sys.prefix: "python", sys.base_prefix: "python", home: "runtime"}
    installed, own_package = options["installed"], options["ownPackage"]
    hidden.update(dict.fromkeys(installed, "dependencies"))
    if own_package is None:
        loader: Functions = Loader(root, options["entryFolder"], installed, _started_with)
        describer = Describer(root, hidden, options["entryFolder"])
    else:
        loader = PackageLoader(installed)
        describer = Describer(installed[0], {**hidden, root: ""}, own_package, "the dependencies of the package")
    limits = (options["concurrency"], options["threads"], options["outputLimit"])
    counters = memoryview(mmap.mmap(counter, COUNTERS_SIZE)).cast("Q")
    # One line of the log, like the exception of a call, and not one for each frame.
    threading.excepthook = lambda failed: describer.log(failed.exc_value)
    calls = Calls(call_socket, counters, loader, describer, limits)
    requests = Requests(calls.send, calls.waiting, options["bodyLimit"])
    bridge.requests.append(requests)

    threading.stack_size(STACK)
    memory = options["memoryLimit"]
    confine.limit_memory(memory + 2 * STACK, memory + options["threads"] * STACK)
    control = threading.Thread(target=read_control, args=(control_socket, calls.nudge, requests.answer), daemon=True)
    control.start()
    calls.serve()


if __name__ == "__main__":
    main()
