#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the program thousands of questions with bad inputs and judges how each one ends. See scripts/attack --help.

An attack is good when the program ends by itself within the time, with an exit code of the documented ones, in little
memory; when an exit 2 names the file or option that is at fault; when the inputs are as they were, nothing half-written
is left, and what it wrote as JSON is JSON."""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading

import inputs
import questions

EXIT_CODES = {0, 1, 2, 3, 130, 143}
SECONDS = 10
SECONDS_SANITIZED = 90  # 48 MB of rows, two programs at once on a busy machine
MOST_MEMORY_KIB = 1_000_000


@dataclasses.dataclass(frozen=True)
class Attack:
    number: int
    name: str     # the class
    question: questions.Question


@dataclasses.dataclass
class Ending:
    code: int     # negative: a signal
    hung: bool
    memory_kib: int
    out: bytes
    err: bytes


def all_attacks(program, count, seed):
    """`count` attacks: classes in turn, each going through its questions in a shuffled order."""
    with_files = questions.questions_with_files()
    with_options = questions.questions_with_options(program)
    order = random.Random(f"order {seed}")
    turns = {name: order.sample(with_files, len(with_files)) for name in [*inputs.CONTENTS, *inputs.FILES, *inputs.NAMES]}
    with_targets = questions.questions_with_targets()
    turns |= {name: order.sample(with_targets, len(with_targets)) for name in inputs.TARGETS}
    turns |= {name: order.sample(with_options, len(with_options)) for name in inputs.OPTION_TEXTS}
    # Options are many and quick: four of each turn.
    names = [*turns, *[name for name in inputs.OPTION_TEXTS for _ in range(3)]]
    taken = collections.Counter()
    for number in range(count):
        name = names[number % len(names)]
        yield Attack(number, name, turns[name][taken[name] % len(turns[name])])
        taken[name] += 1


def run(arguments, folder, seconds):
    """Like subprocess.run, and the memory that the process held at most."""
    with open(folder / ".out", "w+b") as out, open(folder / ".err", "w+b") as err:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder / "out", start_new_session=True)
        hung = threading.Event()

        def end():
            hung.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(seconds, end)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Ending(process.returncode, hung.is_set(), usage.ru_maxrss, out.read(20_000_000), err.read(1_000_000))


def state_of(folder):
    """Names to types and contents of all below `folder`; a large file counts by its size."""
    state = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = ""
        if stat.S_ISREG(mode):
            size = path.stat().st_size
            content = hashlib.sha256(path.read_bytes()).hexdigest() if size < 100_000_000 else str(size)
        elif stat.S_ISLNK(mode):
            content = os.readlink(path)
        state[os.fsencode(path)] = (stat.S_IFMT(mode), content)
    return state


class Attacker:
    def __init__(self, options, folder):
        self.program = str(pathlib.Path(options.program).resolve())
        self.seed = options.seed
        self.sanitized = options.sanitized
        self.seconds = SECONDS_SANITIZED if options.sanitized else SECONDS
        self.keep = options.keep
        self.folder = folder
        good = folder / "good"
        good.mkdir()
        self.good = questions.make_good_artefacts(self.program, good)

    def words(self, command, folder, attacked):
        """The command's arguments, with its capitals replaced."""
        found = []
        for word in command.split():
            if word == "FILE":
                found.append(attacked)
            elif word == "TARGET":
                found.append(b"TARGET")
            elif word.startswith("FOLDER/"):
                found.append(os.fsencode(folder / "out" / word.removeprefix("FOLDER/")))
            elif word == "BESIDE_JOURNAL":
                found.append(attacked.removesuffix(questions.JOURNAL.encode()))
            elif word.isupper():
                found.append(os.fsencode(self.beside(word.lower(), folder, attacked)))
            else:
                found.append(word.encode())
        return found

    def beside(self, kind, folder, attacked):
        """A good artefact; or a good cluster or set of runs that names the attacked file."""
        if not kind.startswith("with_"):
            return self.good[kind]
        key = kind.removeprefix("with_")
        outer = "cluster" if key in ("device", "framework") else "measurements"
        document = json.loads(self.good[outer].read_text())
        for place in [document] if outer == "cluster" else document["runs"]:
            place[key] = os.fsdecode(attacked)
        path = folder / "in" / "outer.json"
        path.write_text(json.dumps(document))
        return path

    @staticmethod
    def refused_option(question):
        return [b"--backend"] if questions.REFUSED_BEFORE_RANKS in question.command else []

    def prepared(self, attack, folder):
        """The arguments, and the words of which an exit 2 names one."""
        rng = random.Random(f"{self.seed} {attack.number}")
        question = attack.question
        if question.option:
            text = rng.choice(inputs.OPTION_TEXTS[attack.name])
            value = text if isinstance(text, bytes) else text.encode()
            named = [question.option.encode(), *([as_shown(value)] if value.strip() else []), *self.refused_option(question)]
            return [*self.words(question.command, folder, b""), question.option.encode() + b"=" + value], named
        if attack.name in inputs.TARGETS:
            target = os.fsencode(rng.choice(inputs.TARGETS[attack.name])(folder / "in" / "target"))
            command = [target if word == b"TARGET" else word
                       for word in self.words(question.command, folder, os.fsencode(self.good[question.kind]))]
            return command, [as_shown(target), b"--out", *self.refused_option(question)]
        good = self.good[question.kind].read_bytes()
        attacked = folder / "in" / ("hostile" + "".join(self.good[question.kind].suffixes))
        named = [attacked.name.encode()]
        if attack.name in inputs.NAMES:
            name = rng.choice(inputs.NAMES[attack.name])
            # An empty name, one that is not UTF-8, also inside another file.
            named = [as_shown(name), b"is required", b"argument ", b"outer.json", *self.refused_option(question)]
            return self.words(question.command, folder, name), named
        if attack.name in inputs.FILES:
            inputs.FILES[attack.name](attacked, good, rng)
        else:
            make_bad = inputs.CONTENTS[attack.name]
            has_lines = question.kind == "journal"
            attacked.write_bytes((inputs.in_one_line(make_bad) if has_lines else make_bad)(good, rng))
        named.extend(self.refused_option(question))
        return self.words(question.command, folder, os.fsencode(attacked)), named

    def faults(self, ending, named, before, folder):
        if ending.hung:
            yield f"no end after {self.seconds} s"
            return
        if ending.code < 0:
            yield f"signal {signal.Signals(-ending.code).name}"
        elif ending.code not in EXIT_CODES:
            yield f"exit code {ending.code}"
        if not self.sanitized and ending.memory_kib > MOST_MEMORY_KIB:
            yield f"{ending.memory_kib // 1024} MiB of memory"
        if ending.code == 2 and not any(name in ending.err for name in named):
            yield "exit 2 does not name " + named[0][:60].decode(errors="replace")
        if b"internal error" in ending.err:
            yield "internal error"
        if b"runtime error:" in ending.err or b"Sanitizer" in ending.err:
            yield "sanitizer: " + ending.err.decode(errors="replace")[:300]
        if state_of(folder / "in") != before:
            yield "an input was changed"
        yield from faults_of_outputs(ending, folder / "out")

    def attack(self, attack):
        folder = self.folder / str(attack.number)
        for part in ("in", "out"):
            (folder / part).mkdir(parents=True)
        try:
            arguments, named = self.prepared(attack, folder)
            if any(b"\0" in word for word in arguments):
                return attack, None, [], []
            before = state_of(folder / "in")
            ending = run([self.program.encode(), *arguments], folder, self.seconds)
            return attack, ending, list(self.faults(ending, named, before, folder)), arguments
        finally:
            if not self.keep:
                shutil.rmtree(folder)


def as_shown(name):
    """The start of a name as messages spell it: control characters are escaped."""
    return b"".join(b"\\u%04x" % byte if byte < 32 and byte not in b"\n\t" else bytes([byte]) for byte in name[:40])


def refuse_constant(word):
    raise ValueError(word + " is not JSON")


def faults_of_outputs(ending, out):
    written = sorted(out.iterdir())
    if ending.code in (2, 3) and written:
        yield f"left {written[0].name}"
        return
    texts = {path.name: path.read_bytes() for path in written if path.suffix == ".json"}
    if ending.code == 0 and ending.out[:1] == b"{" and len(ending.out) < 20_000_000:
        texts["standard output"] = ending.out
    for name, text in texts.items():
        try:
            json.loads(text.decode(), parse_constant=refuse_constant)
        except ValueError as error:
            yield f"{name} is not JSON: {error}"


def check_good_inputs(attacker):
    """An attack on a question that fails by itself would show nothing."""
    failed = [f"{option}: reads a file, and no question attacks it" for option in questions.readers_left_out()]
    for question in questions.questions_with_files():
        folder = attacker.folder / "check"
        for part in ("in", "out"):
            (folder / part).mkdir(parents=True)
        path = os.fsencode(attacker.good[question.kind])
        ending = run([attacker.program.encode(), *attacker.words(question.command, folder, path)], folder, 6 * attacker.seconds)
        expected = {2} if questions.REFUSED_BEFORE_RANKS in question.command else {0, 1}
        if ending.code not in expected:
            failed.append(f"{question.command}: exit code {ending.code}: {ending.err.decode(errors='replace')}")
        shutil.rmtree(folder)
    return failed


def table(results):
    codes = sorted({code for codes, _ in results.values() for code in codes})
    lines = [f"{'class':32}{'inputs':>8}" + "".join(f"{f'exit {code}' if code >= 0 else f'signal {-code}':>11}" for code in codes) + f"{'failures':>10}"]
    total = collections.Counter()
    for name, (counts, failures) in results.items():
        lines.append(f"{name:32}{sum(counts.values()):8}" + "".join(f"{counts[code] or '':>11}" for code in codes) + f"{failures or '':>10}")
        total += counts
    failures = sum(failures for _, failures in results.values())
    lines.append(f"{'all':32}{sum(total.values()):8}" + "".join(f"{total[code]:11}" for code in codes) + f"{failures:10}")
    return "\n".join(lines)


def shown(argument):
    text = argument.decode(errors="backslashreplace")
    return repr(text if len(text) < 200 else text[:200] + "...")


def main():
    parser = argparse.ArgumentParser(prog="scripts/attack", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built meshwright")
    parser.add_argument("--count", type=int, default=500, help="inputs to try; default 500")
    parser.add_argument("--seed", default="1", help="another seed makes other inputs")
    parser.add_argument("--only", default="", help="classes or commands that contain this text")
    parser.add_argument("--number", type=int, help="this one input of the run, for a closer look")
    parser.add_argument("--sanitized", action="store_true", help="the build has sanitizers: more time, and memory is not judged")
    parser.add_argument("--jobs", type=int, default=2, help="programs at once; default 2")
    parser.add_argument("--keep", action="store_true", help="keep the inputs and outputs and say where they are")
    options = parser.parse_args()

    folder = pathlib.Path(tempfile.mkdtemp(prefix="meshwright-attack-"))
    try:
        attacker = Attacker(options, folder)
        broken = check_good_inputs(attacker)
        if broken:
            sys.exit("good inputs are not answered:\n" + "\n".join(broken))
        attacks = [a for a in all_attacks(attacker.program, options.count, options.seed)
                   if options.number in (None, a.number) and (options.only in a.name or options.only in a.question.command)]
        results = collections.defaultdict(lambda: (collections.Counter(), 0))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for attack, ending, faults, arguments in pool.map(attacker.attack, attacks):
                if ending is None:
                    continue
                counts, failures = results[attack.name]
                counts[ending.code] += 1
                results[attack.name] = counts, failures + bool(faults)
                for fault in faults:
                    print(f"input {attack.number}, {attack.name}: {fault}\n  meshwright {' '.join(shown(a) for a in arguments)}\n"
                          f"  {ending.err.decode(errors='replace')[:500].strip()}", flush=True)
        print(table(results))
        return 1 if any(failures for _, failures in results.values()) else 0
    finally:
        if options.keep:
            print(f"inputs and outputs are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
