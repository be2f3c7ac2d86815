# SPDX-License-Identifier: Apache-2.0
"""A page of docs/validation that a script makes from the program, printed or compared with the file that is kept."""

import argparse
import difflib
import pathlib


def run(document, about):
    """Prints document(program), or compares it with --check FILE. Returns the exit code: 1 where FILE is out of date."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    made = document(str(pathlib.Path(arguments.program).resolve()))
    if arguments.check is None:
        print(made, end="")
        return 0
    kept = arguments.check.read_text()
    if kept == made:
        return 0
    print("\n".join(difflib.unified_diff(kept.splitlines(), made.splitlines(), str(arguments.check), "the program says", lineterm="")))
    return 1
