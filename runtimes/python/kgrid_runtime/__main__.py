"""Says what has replaced the python runtime that was started like this."""

import sys

sys.exit(
    "The python runtime is a part of kgrid now, and its KGRID_PYTHON_ variables stay:"
    " `kgrid runtime --engine python`, or `node runtimes/server/main.ts --engine python` (Node 24 or newer)"
)
