"""Runs pip so that it ends with the runtime: `python -I run_pip.py <pid of the runtime> <arguments of pip>`."""

import runpy
import sys
from pathlib import Path


def main() -> None:
    home = str(Path(__file__).resolve().parent.parent)
    sys.path.insert(0, home)
    from kgrid_python_runtime.worker import confine  # noqa: PLC0415

    sys.path.remove(home)
    confine.be_first_to_go()
    confine.drop_privileges()
    confine.die_with_parent(int(sys.argv[1]))
    sys.argv[:2] = ["pip"]
    try:
        runpy.run_module("pip", run_name="__main__")
    except ImportError as error:
        sys.exit(f"ERROR: pip is not usable in this Python ({error}); install it, for example as python3-pip")


if __name__ == "__main__":
    main()
