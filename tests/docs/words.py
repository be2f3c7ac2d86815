#!/usr/bin/env python3
"""Looks for words that the project replaces, in documents, comments and everything that commands print.

usage: words.py MESHWRIGHT SOURCE

Reads README.md, CHANGELOG.md, CONTRIBUTING.md, docs, and the comments of sources. Runs each command below in an empty folder
and searches its output, its page and its records. Prints the place of each word of vocabulary.py that is not to appear, and
what to write instead. Also prints the length of sentences page by page; a page past the targets is a warning and no failure.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import vocabulary

# Prose of a page: mean words per sentence, share of sentences over LONG words.
TARGET_MEAN, TARGET_LONG, LONG = 18, 0.10, 30
FEWEST_SENTENCES = 5
GENERATED = ("cli.md", "rules.md")
MODULES = ("app", "calibrate", "interop", "planner", "reports", "sim")

# Words of earlier outputs that must not come back.
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
    ["capacity", "--job", "train-and-serve"],
    ["backtest", "SHIPPED/datasets/mt-nlg-2022.json"],
    ["cluster", "show", "hgx-h100-400g"],
    ["model", "list"],
]


def exempt(text):
    """The text without code and names, with as many lines."""
    return re.sub(vocabulary.EXEMPT, lambda match: "\n" * match.group().count("\n"), text, flags=re.S)


def documents(source):
    for page in [source / "README.md", source / "CHANGELOG.md", source / "CONTRIBUTING.md", *sorted((source / "docs").rglob("*.md"))]:
        if page.name not in GENERATED and page.name != "writing.md":
            yield page


def comments_of(text):
    """The comments of a source, with as many lines."""
    return "\n".join(match.group(1) if (match := re.search(r"(?:^|\s)//(.*)$", line)) else "" for line in text.split("\n"))


def sentences_of(text):
    """Sentences of prose: no tables, headings, code, or lines of a list's labels."""
    prose, blocks = exempt(text).replace("**", ""), []
    for line in prose.split("\n"):
        bare = re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", line)
        starts = bare != line
        if line.startswith(("|", "#", "    ", "!", "<")) or not line.strip():
            blocks.append("")
        elif starts or not blocks or not blocks[-1]:
            blocks.append(bare.strip())
        else:
            blocks[-1] += " " + bare.strip()
    for block in blocks:
        for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z(\[])", re.sub(r"\]\([^)]*\)", "]", block)):
            if words := re.findall(r"[\w'%.,-]*\w", sentence):
                yield len(words), sentence


def warn_of_length(source):
    for page in documents(source):
        lengths = [count for count, _ in sentences_of(page.read_text(encoding="utf-8"))]
        if len(lengths) < FEWEST_SENTENCES:
            continue
        mean, share = sum(lengths) / len(lengths), sum(n > LONG for n in lengths) / len(lengths)
        mark = "warning: " if mean > TARGET_MEAN or share > TARGET_LONG else ""
        print(f"{mark}{page.relative_to(source)}: {len(lengths)} sentences, mean {mean:.1f} words, {100 * share:.0f} % over {LONG}")


def faults_in(what, text, words):
    for pattern, instead in words.items():
        for match in re.finditer(pattern, text):
            around = text[max(0, match.start() - 40):match.end() + 40].replace("\n", " ")
            yield f"{what}:{text.count(chr(10), 0, match.start()) + 1}: \"...{around}...\": write {instead}"


def faults_of_files(source):
    for page in documents(source):
        yield from faults_in(page.relative_to(source), exempt(page.read_text(encoding="utf-8")), vocabulary.EVERYWHERE)
    for module in MODULES:
        for file in sorted((source / module).rglob("*")):
            if file.suffix in (".cc", ".h", ".cu", ".ts"):
                yield from faults_in(file.relative_to(source), comments_of(file.read_text(encoding="utf-8")), vocabulary.COMMENTS)


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
    program, source = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    faults = [*faults_of_files(source)]
    words = {**INSTEAD, **vocabulary.EVERYWHERE, **vocabulary.OUTPUT}
    with tempfile.TemporaryDirectory() as folder:
        for what, text in texts_of(program, str(source / "configs"), folder):
            faults += faults_in(what, text, words)
    warn_of_length(source)
    print("\n".join(faults))
    print(f"{len(COMMANDS)} commands, {len(words)} words that are not to appear, {len(faults)} found")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
