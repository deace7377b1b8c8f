import sys

from kgrid_runtime.main import main

sys.exit(main())
