#!/usr/bin/env python3
"""Runs the commands of the documentation and holds the output that it shows against what they print.

usage: commands.py MESHWRIGHT [--update] PAGE.md...

In a block of ```console, a line "$ meshwright ..." is run (in one empty folder a page, so that a command finds what one
before it wrote), and must exit with 0. The lines after it must stand in the output in that order; a line "..." stands
for any. Commands that measure or run ranks (calibrate, trial, quickstart) are not run. --update puts today's lines there.
"""

import pathlib
import shlex
import subprocess
import sys
import tempfile

MEASURES = ("calibrate", "trial", "validate")


def blocks(lines):
    """(first, last) of the lines inside each console block."""
    start = None
    for i, line in enumerate(lines):
        if start is None and line.strip() == "```console":
            start = i + 1
        elif start is not None and line.strip() == "```":
            yield start, i
            start = None


def commands(lines, first, last):
    """(command, first and last line of its output); a command goes on after a backslash."""
    at = first
    while at < last:
        if not lines[at].startswith("$ "):
            at += 1
            continue
        words = lines[at][2:]
        while words.endswith("\\"):
            at += 1
            words = words[:-1] + lines[at].strip()
        end = at + 1
        while end < last and not lines[end].startswith("$ "):
            end += 1
        yield words, at + 1, end
        at = end


def pieces(shown):
    """Runs of lines between "..." and empty lines."""
    run = []
    for i, line in enumerate(shown):
        if line.strip() in ("", "..."):
            if run:
                yield run
            run = []
        else:
            run.append(i)
    if run:
        yield run


def compare(shown, printed, update):
    """Lines that are not in the output; with `update` they are replaced by those that begin as they do."""
    missing, at = [], 0
    for run in pieces(shown):
        wanted = [shown[i].rstrip() for i in run]
        place = next((k for k in range(at, len(printed)) if printed[k:k + len(run)] == wanted), None)
        if place is None and update:
            place = next((k for k in range(at, len(printed)) if printed[k][:16] == wanted[0][:16]), None)
            if place is not None:
                for i, line in zip(run, printed[place:]):
                    shown[i] = line
        if place is None:
            missing.append(wanted[0])
        else:
            at = place + len(run)
    return missing


def check_page(program, page, update):
    lines = page.read_text(encoding="utf-8").split("\n")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for first, last in blocks(lines):
            for words, begin, end in commands(lines, first, last):
                arguments = shlex.split(words, comments=True)
                if arguments[0] != "meshwright" or arguments[1] in MEASURES:
                    continue
                done = subprocess.run([program, *arguments[1:]], cwd=folder, capture_output=True, text=True)
                if done.returncode != 0:
                    wrong.append(f"{page.name}: exit {done.returncode}: {words}\n{done.stderr.strip()}")
                    continue
                printed = [line.rstrip() for line in (done.stdout + done.stderr).split("\n")]
                shown = lines[begin:end]
                wrong += [f"{page.name}: not printed by {words}: {line}" for line in compare(shown, printed, update)]
                lines[begin:end] = shown
    if update:
        page.write_text("\n".join(lines), encoding="utf-8")
    return wrong


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    program = str(pathlib.Path(arguments[0]).resolve())
    wrong = [line for page in arguments[1:] for line in check_page(program, pathlib.Path(page), "--update" in sys.argv)]
    print("\n".join(wrong) or f"{len(arguments) - 1} pages: every command runs and prints what is shown")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
