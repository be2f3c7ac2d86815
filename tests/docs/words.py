#!/usr/bin/env python3
"""Looks through what the commands print for words that docs/reference/glossary.md replaces.

usage: words.py MESHWRIGHT CONFIGS

Runs each command below in an empty folder and searches its output, its page and its records. Prints the place of each
word that is not to appear, and what to write instead.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

INSTEAD = {
    r"\b(?:chunks|layers|NVLinks|ranks?|GPUs?|copies|messages|calls) (?:a|an|each) (?:stage|rank|GPU|node)\b": "per stage, per rank, per GPU",
    r"\bdoes not divide by\b": "is not divisible by",
    r"\d[\d,.]* positions\b": "seq_length or tokens",
    r"\d G parameters": "B parameters",
    r"hangs on": "sensitivity of the best layout's step time",
    r"\bnumber is\b": "source",
    r"\bflips?\b(?! a)": "crossover points",
    r"near twins": "near-duplicates omitted",
    r"choosing it loses": "expected loss against the fastest layout",
    r"learnt from .* what remains": "fitted on N runs; residual spread",
    r"\breally run\b": "executed",
    r"behind, %": "slower than best, %",
    r"look twice": "flagged",
    r"is no gate": "is not a condition",
    r"stands twice": "is a duplicate",
    r"What crosses which wire": "Traffic",
    r"How to make this again": "Reproduce",
    r"by what stands behind it": "What the step time is based on",
    r"still noisy": "one count of noisy points",
}

PLAN = ["plan", "--model", "llama-3-8b", "--cluster", "h100-8", "--train-tokens", "1e12"]
COMMANDS = [
    ["reference"],
    PLAN + ["--out", "plan.json", "--format", "json"],
    PLAN,
    ["report", "plan.json", "--out", "page.html"],
    ["report", "plan.json", "--format", "markdown", "--out", "-"],
    ["explain", "plan.json"],
    ["explain", "zero_2_3_forbids_pipeline"],
    ["estimate", "--model", "qwen3-30b-a3b", "--cluster", "h100-8", "--layout", "dp=8,ep=8,zero=1"],
    ["volume", "--model", "llama-3-70b", "--layout", "tp=8,pp=4,dp=16"],
    ["capacity", "--model", "llama-3-8b", "--cluster", "h100-8", "--gpus", "8", "--train-tokens", "1e11"],
    ["backtest", "SHIPPED/datasets/mt-nlg-2022.json"],
    ["cluster", "show", "hgx-h100-400g"],
    ["model", "list"],
]


def texts_of(program, configs, folder):
    """(what, text) of every command and of every file that it leaves."""
    for command in COMMANDS:
        words = [word.replace("SHIPPED", configs) for word in command]
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout + done.stderr:
            sys.exit(f"meshwright {' '.join(words)}: exit {done.returncode}\n{done.stderr}")
        yield "meshwright " + " ".join(command), done.stdout + done.stderr
    for file in sorted(pathlib.Path(folder).iterdir()):
        # The page's library is not ours, and stands in its scripts.
        yield file.name, re.sub(r"<script(?! type=\"application/json\").*?</script>", "", file.read_text(encoding="utf-8"), flags=re.S)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, configs = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:])
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        for what, text in texts_of(program, configs, folder):
            for pattern, instead in INSTEAD.items():
                for match in re.finditer(pattern, text):
                    found += 1
                    around = text[max(0, match.start() - 40):match.end() + 40].replace("\n", " ")
                    print(f"{what}: \"...{around}...\": write {instead}")
    print(f"{len(COMMANDS)} commands, {len(INSTEAD)} words that are not to appear, {found} found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
