"""Run the command line as `python -m tslens`, and as `tslens`."""

import sys


def run() -> int:
    """The exit code of the process's own command line. Ctrl-C while it is imported ends it as it does later."""
    try:
        from tslens import interrupt

        interrupt.note_ctrl_c()
        from tslens.cli import main

        return main()
    except KeyboardInterrupt:
        print("tslens: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
