"""Ctrl-C on the command line."""

import subprocess
import sys

HALF_MADE = """
import os, signal
from tslens import interrupt

class HalfMade:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGINT)
        self.made = True

    def __del__(self):
        print(self.made)

interrupt.note_ctrl_c()
try:
    HalfMade()
except KeyboardInterrupt:
    print(interrupt.was_pressed())
"""


def test_nothing_is_printed_of_an_object_that_ctrl_c_left_half_made():
    done = subprocess.run([sys.executable, "-c", HALF_MADE], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
