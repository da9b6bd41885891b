"""Run the command line as `python -m tslens`."""

import sys

from tslens.cli import main

if __name__ == "__main__":
    sys.exit(main())
