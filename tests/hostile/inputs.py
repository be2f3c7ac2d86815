# SPDX-License-Identifier: Apache-2.0
"""Bad inputs, one function a class. Each makes one file, or one option's text, from a good one and a seeded generator,
so that the same seed gives the same bytes."""

import copy
import json
import os
import re

# JSON text that stands where something else belongs, by class.
TOKENS = {
    "null value": ["null"],
    "wrong type": ["true", '""', '"8"', "[]", "{}", '[1, "x"]', '{"a": 1}', "-1", "0", "0.5", "1", "3"],
    "1e308": ["1e308", "-1e308", "1.7976931348623157e308"],
    "1e999": ["1e999", "-1e999", "1e-999"],
    "NaN": ["NaN", "Infinity", "-Infinity", "nan"],
    "2^63": ["9223372036854775808", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
             "2147483648", "2147483647", "9.3e18"],
    "-0 and tiny": ["-0", "-0.0", "1e-308", "5e-324"],
    "100k nesting": ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000],
}
TEXTS = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "=cmd|' /C calc'!A1", "@SUM(1+1)*cmd",
         "$(touch owned)", "`touch owned`; touch owned #", "' OR 1=1 --", "../../../../etc/passwd", "/etc/passwd",
         "\x1b[2J\x1b]0;title\x07", "a\u0000b", "\u2028\u2029", "\ufffe\uffff", "{0}{}%s%n", "A" * 5000, "\U0001f600" * 300]
HUGE_ELEMENTS = 4_000_000
HUGE_BYTES = 48_000_000
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def places(value, path=()):
    """Paths of all values below `value`, itself left out."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield path + (key,)
        yield from places(child, path + (key,))


def parent_of(document, path):
    for key in path[:-1]:
        document = document[key]
    return document


def with_token(good, rng, token):
    """The JSON text with one value replaced by `token`, which need not be JSON."""
    document = json.loads(good)
    all_places = list(places(document))
    if not all_places:
        return token.encode()
    path = rng.choice(all_places)
    parent_of(document, path)[path[-1]] = "@token@"
    return json.dumps(document).replace('"@token@"', token).encode()


def with_number(good, rng, token):
    """A table or log with one of its numbers replaced."""
    text = good.decode()
    found = list(NUMBER.finditer(text))
    hit = rng.choice(found)
    return (text[:hit.start()] + token.strip('"')[:200_000] + text[hit.end():]).encode()


def is_json(good):
    return good[:1] in b"{["


def token_class(tokens):
    return lambda good, rng: (with_token if is_json(good) else with_number)(good, rng, rng.choice(tokens))


def hostile_name(good, rng):
    text = rng.choice(TEXTS)
    if not is_json(good):
        return with_number(good, rng, text.replace("\0", ""))
    document = json.loads(good)
    strings = [p for p in places(document) if isinstance(parent_of(document, p)[p[-1]], str)]
    if not strings:
        return with_token(good, rng, json.dumps(text))
    path = rng.choice(strings)
    parent_of(document, path)[path[-1]] = text
    return json.dumps(document, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def objects_of(document):
    found = [document] if isinstance(document, dict) else []
    for path in places(document):
        child = parent_of(document, path)[path[-1]]
        if isinstance(child, dict) and child:
            found.append(child)
    return found


def key_deleted(good, rng):
    if not is_json(good):
        lines = good.splitlines(keepends=True)
        del lines[rng.randrange(len(lines))]
        return b"".join(lines)
    document = json.loads(good)
    path = rng.choice(list(places(document)))
    del parent_of(document, path)[path[-1]]
    return json.dumps(document).encode()


def with_member(good, rng, text_of):
    """One object gets one more member, `text_of` the object, at its start."""
    document = json.loads(good)
    objects = objects_of(document)
    if not objects:
        return b'{"a": 1, "a": 2}'
    chosen = rng.choice(objects)
    text = text_of(chosen)
    rest = dict(chosen)
    chosen.clear()
    chosen["@member@"] = 0
    chosen.update(rest)
    return json.dumps(document).replace('"@member@": 0', text).encode()


def unknown_key(good, rng):
    if not is_json(good):
        return good + b"unknown,words,of,no,meaning 1 2 3\n"
    return with_member(good, rng, lambda _: json.dumps(rng.choice(["no_such_key", "", "num_layer", *TEXTS])) + ": 1")


def duplicate_key(good, rng):
    if not is_json(good):
        first, _, rest = good.partition(b"\n")
        return first + b"," + first.split(b",")[0] + b"\n" + rest

    def member(chosen):
        key = rng.choice(list(chosen) or ["a"])
        return f"{json.dumps(key)}: {json.dumps(chosen.get(key, 1))}" + ("" if chosen else ', "a": 1')

    return with_member(good, rng, member)


def broken_text(good, rng):
    bad = rng.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x80", b"\x00"])
    quotes = [m.end() for m in re.finditer(rb'": "|,', good)] or [0]
    at = rng.choice(quotes)
    return good[:at] + bad + good[at:]


def byte_flips(good, rng):
    flipped = bytearray(good)
    for _ in range(rng.choice([1, 1, 3, 10])):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def huge(good, rng):
    if rng.random() < 0.3:
        return b" " * HUGE_BYTES + good
    if is_json(good):
        element = rng.choice(["0", '""', "{}", "[[]]"])
        return with_token(good, rng, "[" + (element + ",") * (HUGE_ELEMENTS // len(element)) + element + "]")
    last = good.rstrip(b"\n").rsplit(b"\n", 1)[-1] + b"\n"
    return good + last * (HUGE_BYTES // len(last))


# Classes that are the content of a regular file: good bytes and a generator to bad bytes.
CONTENTS = {name: token_class(tokens) for name, tokens in TOKENS.items()} | {
    "key deleted": key_deleted,
    "unknown key": unknown_key,
    "duplicate key": duplicate_key,
    "HTML, JS, CSV, shell in names": hostile_name,
    "invalid UTF-8": broken_text,
    "BOM": lambda good, rng: rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]) + good,
    "CRLF": lambda good, rng: good.replace(b"\n", b"\r\n") if b"\n" in good else good.replace(b",", b",\r\n"),
    "truncated": lambda good, rng: good[:rng.randrange(len(good))],
    "byte flips": byte_flips,
    "huge": huge,
    "null file": lambda good, rng: rng.choice([b"null", b"null\n", b"{}", b"[]", b"0", b'""', b"", b"\0" * 4096]),
}


def in_one_line(make_bad):
    """Makes one line bad in a file with one JSON value per line."""
    def make(good, rng):
        lines = good.splitlines(keepends=True)
        at = rng.randrange(len(lines))
        lines[at] = make_bad(lines[at].rstrip(b"\n"), rng) + b"\n"
        return b"".join(lines)
    return make


def sparse(path, good, rng):
    path.write_bytes(good)
    os.truncate(path, rng.choice([10_000_000_000, 300_000_000, 100_000_000]))


def device(path, good, rng):
    os.symlink(rng.choice(["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"]), path)


def symlink(path, good, rng):
    target = path.with_name("target")
    target.write_bytes(CONTENTS["truncated"](good, rng))
    os.symlink(rng.choice([target.name, "nowhere/at/all"]), path)


def loop(path, good, rng):
    other = path.with_name("other")
    os.symlink(path.name, other)
    os.symlink(other.name, path)


def unreadable(path, good, rng):
    path.write_bytes(CONTENTS["truncated"](good, rng))
    path.chmod(0)


# Classes that are a kind of file.
FILES = {
    "missing": lambda path, good, rng: None,
    "directory": lambda path, good, rng: path.mkdir(),
    "FIFO": lambda path, good, rng: os.mkfifo(path),
    "device": device,
    "sparse": sparse,
    "symlink": symlink,
    "symlink loop": loop,
    "unreadable": unreadable,
}

# A name that no file can have, or a path out of the folder. Bytes: names need not be text.
NAMES = {
    "traversal": [b"../../../../../../../../etc/passwd", b"./../nowhere/x.json", b"/proc/self/environ", b"/proc/self/mem"],
    "name too long": [b"n" * 5000 + b".json", b"d/" * 3000 + b"x.json", b"n" * 255 + b".json"],
    "odd name": [b"\xff\xfe.json", b"\xc3\x28.json", b"<script>alert(1)<.json", b"$(touch owned).json", b"=1+1.json", b"-",
                 b"a\nb.json", b"\x1b[31mred.json", b"", b" ", b".", b"x.json\\"],
}

def missing_folder(path):
    return path / "no" / "such" / "x.json"


def own_directory(path):
    path.mkdir()
    return path


def pipe_without_reader(path):
    os.mkfifo(path)
    return path


def looping_link(path):
    loop(path, b"", None)
    return path


def dangling_link(path):
    os.symlink("nowhere/at/all", path)
    return path


def below_a_file(path):
    path.write_bytes(b"x")
    return path / "x.json"


# Classes of places to write to.
TARGETS = {
    "output: missing folder": [missing_folder, below_a_file, dangling_link],
    "output: directory": [own_directory, lambda path: "/", lambda path: "."],
    "output: FIFO": [pipe_without_reader],
    "output: device": [lambda path: "/dev/full", lambda path: "/proc/self/mem", lambda path: "/proc/version",
                       lambda path: "/sys/kernel/x.json"],
    "output: symlink loop": [looping_link],
    "output: name": [lambda path: path.with_name("n" * 300), lambda path: "d/" * 3000 + "x.json", lambda path: "", lambda path: "a\nb/c"],
}

# Classes of one option's text.
OPTION_TEXTS = {
    "option: 2^31 and 2^63": ["2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "1000000", "10000000"],
    "option: 1e308 and 1e999": ["1e308", "1e999", "-1e308", "1e308s", "1e308%", "1e308GiB"],
    "option: NaN": ["nan", "inf", "-inf", "NaN", "infinity"],
    "option: negative and zero": ["-1", "-0", "0", "-2147483648", "0.5", "1e-320", "0%"],
    "option: empty and long": ["", " ", ",", ",,,", "1" * 5000, "x" * 5000, "1," * 20_000 + "1"],
    "option: ranges": ["1..2147483647", "1..100000", "0..99999", "5..1", "1..", "..", "1..2..3", "1..500,1..500,1..500"],
    "option: names": ["no-such-name", "../x", "$(id)", "a=b", "=", "tp=", "tp=2147483647", "tp=1e999", "tp=8,tp=4", "gemm_efficiency=5x",
                      "memory_bandwidth=1e999", "price_per_gpu_hour=nan", "step_time>nan%", "peak_memory>1e999%"],
    "option: not UTF-8": [b"\xff\xfe", b"tp=\xff", b"\xed\xa0\x80", "\x1b[2J"],
}


def good_trials(plan):
    """The file that a trial of a plan's first layouts would write."""
    observations = []
    for ranked in plan["ranked"][:2]:
        step = ranked["step_time_seconds"]
        observations.append({
            "layout": copy.deepcopy(ranked["layout"]), "run_layout": copy.deepcopy(ranked["layout"]), "run_layers": 2,
            "run_global_batch_size": 8, "ranks": 8, "steps": 5, "complete": True, "not_run": [],
            "step_time_seconds": step * 1.1, "step_time_p10_seconds": step, "step_time_p90_seconds": step * 1.2,
            "step_time_min_seconds": step, "peak_memory_bytes": 1e9, "loss": 5.0, "device": "example", "mode": "training",
            "tokens_per_second": 1000.0, "failure": "",
            "terms": [{"name": t["name"], "seconds": t["seconds"]} for t in ranked["terms"]], "counted": []})
    return observations
