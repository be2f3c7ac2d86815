#!/usr/bin/env python3
"""Holds what the commands print to the width of the screen, and their tables to rules for readers.

usage: screens.py MESHWRIGHT CONFIGS [WIDTH...]    (no WIDTH: 80, and of the plans the first two)

Runs each command below with COLUMNS at each WIDTH and at 2,000. At a WIDTH no line is longer,
each word is a word of the widest output (none is cut), and no cell is a column of single words. At 2,000, where a row
is a line, no two columns of a table are alike, and none has the same cell in all rows. No number has an exponent.
`plan` prints at most 60 lines, standard error included, and more with --full.
"""

import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

WIDE = 2000
SHORT_LINES = 60
LONG_WORD = 20

PLAN_70B = ["plan", "--model", "llama-3-70b", "--cluster", "h100-512", "--framework", "megatron-core-2026"]
PLANS = [
    PLAN_70B,
    ["plan", "--model", "llama-3-8b", "--cluster", "h100-8"],
    ["plan", "--model", "llama-3-8b", "--cluster", "h100-8", "--gpus", "8,16,32", "--train-tokens", "1e12"],
    ["plan", "--model", "mixtral-8x7b", "--cluster", "h100-512", "--gpus", "64", "--train-tokens", "1e12"],
    ["plan", "--model", "llama-3-405b", "--cluster", "a100-80gb-512"],
    ["plan", "--model", "qwen3-235b-a22b", "--cluster", "b200-512", "--gpus", "128"],
    ["plan", "--model", "gpt3-175b", "--cluster", "mi300x-512", "--gpus", "64", "--global-batch-size", "1536"],
]
OTHERS = [
    PLAN_70B + ["--out", "plan.json"],
    ["plan", "--model", "llama-3-70b", "--cluster", "h100-512", "--out", "other.json"],
    PLAN_70B + ["--what-if", "inter_node_bandwidth=0.5x", "--runs-to-make", "3"],
    ["estimate", "--model", "llama-3-8b", "--cluster", "h100-8", "--layout", "tp=2,dp=4,sp,zero=1"],
    ["estimate", "--model", "qwen3-30b-a3b", "--cluster", "h100-8", "--layout", "dp=8,ep=8,zero=1"],
    ["estimate", "--model", "llama-3-70b", "--cluster", "h100-512", "--layout", "tp=8,pp=4,vpp=5,sp,zero=1"],
    ["estimate", "--model", "llama-3-405b", "--cluster", "h100-512", "--layout", "tp=8,pp=2,mbs=1"],
    ["volume", "--model", "llama-3-70b", "--layout", "tp=8,pp=4,dp=16"],
    ["volume", "--model", "qwen3-30b-a3b", "--cluster", "h100-8", "--layout", "dp=8,ep=8,zero=1"],
    ["volume", "--model", "deepseek-v3", "--cluster", "h800-2048", "--layout", "pp=4,ep=64,zero=1,first=16"],
    ["capacity", "--model", "llama-3-8b", "--cluster", "h100-8", "--gpus", "8", "--train-tokens", "1e11"],
    ["capacity", "--model", "llama-3-405b", "--cluster", "hgx-h100-400g", "--gpus", "8192,16384", "--train-tokens",
     "15.6e12", "--deadline", "120", "--prices", "example-2026"],
    ["explain", "plan.json"],
    ["explain", "plan.json", "--layout", "tp=8,pp=4", "--versus", "1"],
    ["explain", "plan.json", "--layout", "tp=64,pp=8"],
    ["explain", "interleaving_needs_micro_batches_multiple_of_pipeline"],
    ["diff", "plan.json", "other.json"],
    ["diff", "plan.json", "plan.json"],
    ["backtest", "SHIPPED/datasets/mt-nlg-2022.json"],
    ["backtest", "SHIPPED/datasets/mt-nlg-2022.json", "--picks"],
    ["backtest", "SHIPPED/datasets/narayanan-2021-table-1.json"],
    ["backtest", "SHIPPED/datasets/llama-3-2024-table-4.json"],
    ["cluster", "list"],
    ["cluster", "show", "hgx-h100-400g", "--gpus", "64"],
    ["cluster", "show", "gb200-nvl72"],
    ["model", "list"],
]

RULE = re.compile(r"-+(  -+)*$")
EXPONENT = re.compile(r"\b\d(\.\d+)?e[+-]\d\d+\b")


@functools.lru_cache(maxsize=None)
def run(program, configs, folder, command, columns):
    """Output and warnings of a command; each is run once."""
    words = [word.replace("SHIPPED", configs) for word in command]
    environment = os.environ | {"COLUMNS": str(columns)}
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"meshwright {' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout, done.stderr


def words_of(text):
    """A text that moves below its row is led by its heading and a colon, and ended by a semicolon."""
    return {word.rstrip(":;") for word in text.split()}


def tables(text):
    """(first and last column of each, lines of the body) of every table."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if not RULE.match(line) or i == 0:
            continue
        end = next((k for k in range(i + 1, len(lines)) if not lines[k]), len(lines))
        spans = [(m.start(), m.end()) for m in re.finditer("-+", line)]
        body = []
        for row in lines[i + 1:end]:
            gaps = [row[a[1]:b[0]].strip() for a, b in zip(spans, spans[1:])]
            if any(gaps) or row[spans[-1][1]:].strip():
                continue  # a text below its row, or a sentence below the table
            body.append([row[a:b].strip() for a, b in spans])
        yield spans, body


def cells_of_one_word(spans, body):
    """Cells of three lines and more with one short word on each."""
    for column in range(len(spans)):
        lines = []
        for row in body + [["."] * len(spans)]:
            begins = bool(row[0]) if column > 0 else True
            if begins or not row[column]:
                if len(lines) > 2 and all(" " not in w and len(w) < LONG_WORD for w in lines):
                    yield " ".join(lines)
                lines = []
            if row[column] and column > 0:
                lines.append(row[column])


def repeated_columns(spans, body):
    if len(body) < 2:
        return
    columns = [tuple(row[c] for row in body) for c in range(len(spans))]
    for c, cells in enumerate(columns):
        if len(set(cells)) == 1:
            yield f"the same in all rows: {cells[0]}"
        elif len(body) > 2 and cells in columns[:c]:
            yield f"a column twice: {', '.join(cells[:3])}"


def faults_of(program, configs, folder, command, widths):
    wide, _ = run(program, configs, folder, command, WIDE)
    words = words_of(wide)
    for match in EXPONENT.finditer(wide):
        yield f"a number with an exponent: {match.group()}"
    for spans, body in tables(wide):
        yield from repeated_columns(spans, body)
    for columns in widths:
        text, _ = run(program, configs, folder, command, columns)
        for line in text.split("\n"):
            if len(line) > columns:
                yield f"{len(line)} characters at {columns}: {line}"
        for word in sorted(words_of(text) - words):
            if any(c.isalpha() for c in word):
                yield f"a word that is cut at {columns}: {word}"
        for spans, body in tables(text):
            for cell in cells_of_one_word(spans, body):
                yield f"one word on each line at {columns}: {cell}"


def faults_of_page(program, configs, folder, command, widths):
    """The text of the HTML report; what a chart reads stands in attributes and scripts."""
    subprocess.run([program, *command, "--out", "page.json"], cwd=folder, capture_output=True, check=True)
    subprocess.run([program, "report", "page.json", "--out", "page.html"], cwd=folder, capture_output=True, check=True)
    page = (pathlib.Path(folder) / "page.html").read_text(encoding="utf-8")
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.S)
    for match in EXPONENT.finditer(text):
        yield f"a number with an exponent in the page: {match.group()}"


def faults_of_plan(program, configs, folder, command, widths):
    for columns in widths:
        out, err = run(program, configs, folder, command, columns)
        lines = (out + err).count("\n")
        if lines > SHORT_LINES:
            yield f"{lines} lines at {columns}"
        if len(out.split("\n\n")[1].split("\n")) < 2 or "--full" not in err:
            yield "no answer, or no line about --full"
        full, _ = run(program, configs, folder, (*command, "--full"), columns)
        for part in ("sensitivity", "crossover points", "placement", "confidence"):
            if part not in full:
                yield f"--full has no {part}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, configs = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:3])
    widths = [int(width) for width in sys.argv[3:]]
    plans = PLANS if widths else PLANS[:2]
    widths = widths or [80]
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        checks = [(faults_of, command) for command in OTHERS + plans + [c + ["--full"] for c in plans]]
        checks += [(faults_of_plan, command) for command in plans]
        checks.append((faults_of_page, PLANS[2]))
        for check, command in checks:
            for fault in check(program, configs, folder, tuple(command), widths):
                found += 1
                print(f"meshwright {' '.join(command)}: {fault}")
    print(f"{len(checks)} commands: {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
