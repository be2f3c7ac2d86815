# SPDX-License-Identifier: Apache-2.0
"""Plans the parallel layout of distributed transformers: volume, time and memory before a job runs."""

import os
import sys

from meshwright.calls import PROGRAM, InputError, MeshwrightError, ask, backtest, capacity, estimate, plan, review, serve, volume

__all__ = ["InputError", "MeshwrightError", "ask", "backtest", "capacity", "estimate", "plan", "review", "run", "serve", "volume"]


def run() -> None:
    """Becomes the program, with the arguments of this process. Does not return."""
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])
