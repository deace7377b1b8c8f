"""What a knowledge object finds when it runs: `InvalidInputError`, and `Context` in `kgrid_python_runtime.context`."""

from kgrid_python_runtime.invalid_input import InvalidInputError

__all__ = ["InvalidInputError"]
