# SPDX-License-Identifier: Apache-2.0
"""The meshwright program, as a Python wheel carries it."""

import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "bin" / "meshwright"


def run() -> None:
    """Becomes the program, with the arguments of this process. Does not return."""
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
