# SPDX-License-Identifier: Apache-2.0
"""Writes records.py from the JSON Schemas that the program prints: a dataclass for each kind of record.

usage: record_types.py PROGRAM OUT
"""

import json
import keyword
import pathlib
import subprocess
import sys
import textwrap

# The answers of the module's functions, by the schema's name.
ANSWERS = {"plan": "Plan", "estimate": "EstimateAnswer", "volume": "VolumeAnswer", "capacity": "CapacityAnswer",
           "review": "Review", "serve_plan": "ServePlan", "serve_review": "ServeReview", "serve_estimate": "ServeEstimate",
           "serve_simulation": "ServeSimulation", "backtest": "Backtest"}
PLAIN = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}

HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Records of meshwright's answers. Made by record_types.py from what "meshwright schema" prints."""

from __future__ import annotations

import dataclasses
import typing

from meshwright.record import Record


'''


def camel(key: str) -> str:
    return "".join(word.capitalize() for word in key.split("_"))


def singular(name: str) -> str:
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


class Types:
    """Classes by name, as source text; those of one content have one name."""

    def __init__(self, schemas: dict[str, dict]) -> None:
        self.classes: dict[str, str] = {}
        self.names: dict[str, str] = {}  # of classes, by their schemas
        self.fixed = set(schemas)  # names of answers and definitions
        self.renamed: dict[str, str] = {}  # definitions of the answer at hand that differ from others of their name
        first: dict[str, object] = {}
        renamed: dict[str, dict[str, str]] = {}
        for answer, schema in schemas.items():
            renamed[answer] = {key: answer + key for key, one in schema.get("definitions", {}).items()
                               if key in schemas or first.setdefault(key, one) != one}
        self.fixed |= first.keys() | {name for names in renamed.values() for name in names.values()}
        for answer, schema in schemas.items():
            self.renamed = renamed[answer]
            for key, one in schema.get("definitions", {}).items():
                self.add_class(self.renamed.get(key, key), one)
            self.add_class(answer, schema)

    def of(self, schema: dict, name: str) -> str:
        """The annotation of a schema; an object with members becomes the class `name`."""
        if "$ref" in schema:
            key = schema["$ref"].rsplit("/", 1)[-1]
            return self.renamed.get(key, key)
        if "const" in schema:
            return f"typing.Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"typing.Literal[{', '.join(repr(value) for value in schema['enum'])}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.union([{**schema, "type": one} for one in kind], name)
        if kind == "array":
            return f"list[{self.of(schema.get('items', {}), singular(name))}]"
        if kind == "object":
            if schema.get("properties"):
                return self.add_class(name + "Part" if name in self.fixed else name, schema)
            values = schema.get("additionalProperties")
            return f"dict[str, {self.of(values, name) if isinstance(values, dict) else 'typing.Any'}]"
        if kind is not None:
            return PLAIN[kind]
        for several in ("oneOf", "anyOf", "allOf"):
            if several in schema:
                return self.union(schema[several], name)
        return "typing.Any"

    def union(self, parts: list, name: str) -> str:
        objects = [part for part in parts if part.get("properties")]
        names = [name if len(objects) < 2 else f"{name}{number}" for number in range(1, len(parts) + 1)]
        return " | ".join(dict.fromkeys(self.of(part, each) for part, each in zip(parts, names)))

    def add_class(self, name: str, schema: dict) -> str:
        """The class of a schema; a name that another schema has gets a number behind."""
        # A reference means another class where the answer at hand has a definition of its own.
        content = json.dumps(schema, sort_keys=True)
        if "$ref" in content:
            content += json.dumps(self.renamed, sort_keys=True)
        if name in self.fixed and name in self.classes:
            return name
        if name not in self.fixed and content in self.names:
            return self.names[content]
        plain, number = name, 2
        while name in self.classes or (name != plain and name in self.fixed):
            name = f"{plain}{number}"
            number += 1
        self.names[content] = name
        self.classes[name] = ""  # holds its place, so that a member may be of this class
        needed = set(schema.get("required", []))
        members = []
        for key, one in schema.get("properties", {}).items():
            annotation = self.of(one, camel(key))
            always = key in needed
            optional = "" if always or "None" in annotation.split(" | ") else " | None"
            words = " ".join(one.get("description", "").split())
            text = textwrap.fill(f'"""{words}"""', 116, initial_indent="    ", subsequent_indent="    ") if words else ""
            key = key + "_" if keyword.iskeyword(key) else key
            members.append((always, f"    {key}: {annotation}{optional}{'' if always else ' = None'}\n" + (f"{text}\n" if text else "")))
        body = "".join(text for _, text in sorted(members, key=lambda member: not member[0])) or "    pass\n"
        words = " ".join(schema.get("description", "").split())
        text = textwrap.fill(f'"""{words}"""', 116, initial_indent="    ", subsequent_indent="    ") + "\n\n" if words else ""
        self.classes[name] = f"@dataclasses.dataclass(frozen=True)\nclass {name}(Record):\n{text}{body}"
        return name


def main(program: str, out: str) -> None:
    def schema_of(name: str) -> dict:
        return json.loads(subprocess.run([program, "schema", name], check=True, capture_output=True, text=True).stdout)

    types = Types({name: schema_of(schema) for schema, name in ANSWERS.items()})
    pathlib.Path(out).write_text(HEAD + "\n\n".join(types.classes.values()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
