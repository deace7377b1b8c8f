"""What a knowledge object finds when it runs: see `kgrid_python_runtime.context`."""
