# SPDX-License-Identifier: Apache-2.0
"""What all records of an answer can do."""

from __future__ import annotations

import dataclasses
import html
import json
import keyword
import sys
import types
import typing

if typing.TYPE_CHECKING:
    import pandas

_Self = typing.TypeVar("_Self", bound="Record")

# The list of an answer that is its table.
_TABLES = ("ranked", "choices", "runs", "capacity.rows", "volume.stages", "estimate.terms", "better")
_ROWS_SHOWN = 10
_COLUMNS_SHOWN = 12


_KNOWN_MEMBERS: dict[type[Record], dict[str, object]] = {}


def _members(kind: type[Record]) -> dict[str, object]:
    """Types of a record's members, by their names in JSON."""
    if kind not in _KNOWN_MEMBERS:
        hints = typing.get_type_hints(kind, vars(sys.modules[kind.__module__]))
        _KNOWN_MEMBERS[kind] = {_key(field.name): hints[field.name] for field in dataclasses.fields(kind)}
    return _KNOWN_MEMBERS[kind]


def _key(member: str) -> str:
    """A member's name in JSON: "lambda_" is Python's name of "lambda"."""
    return member[:-1] if member.endswith("_") and keyword.iskeyword(member[:-1]) else member


def _name(key: str) -> str:
    return key + "_" if keyword.iskeyword(key) else key


def _typed(value: object, hint: object) -> typing.Any:
    """JSON as the record that `hint` names; of several records the one that knows most of the keys."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        records = [one for one in arguments if isinstance(one, type) and issubclass(one, Record)]
        if isinstance(value, dict) and records:
            return max(records, key=lambda one: len(value.keys() & _members(one).keys())).from_dict(value)
        lists = [one for one in arguments if typing.get_origin(one) is list]
        return _typed(value, lists[0]) if isinstance(value, list) and lists else value
    if origin is list and isinstance(value, list):
        return [_typed(one, arguments[0]) for one in value]
    if origin is dict and isinstance(value, dict):
        return {key: _typed(one, arguments[1]) for key, one in value.items()}
    if isinstance(hint, type) and issubclass(hint, Record) and isinstance(value, dict):
        return hint.from_dict(value)
    return value


def _plain(value: object) -> typing.Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


@dataclasses.dataclass(frozen=True)
class Record:
    """A part of an answer. Members have the names of its JSON; units are at their ends."""

    @classmethod
    def from_dict(cls: type[_Self], json_object: dict[str, typing.Any]) -> _Self:
        """The record of a JSON object. Keys that this version does not know are left out."""
        members = _members(cls)
        known = {_name(key): _typed(value, members[key]) for key, value in json_object.items() if key in members}
        missing = [field.name for field in dataclasses.fields(cls)
                   if field.name not in known and field.default is dataclasses.MISSING]
        return cls(**known, **dict.fromkeys(missing))

    def to_dict(self) -> dict[str, typing.Any]:
        """JSON's object; what the answer does not say is left out."""
        values = {_key(field.name): getattr(self, field.name) for field in dataclasses.fields(self)}
        return {key: _plain(value) for key, value in values.items() if value is not None}

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_rows(self) -> list[dict[str, typing.Any]]:
        """The answer's table, a flat dictionary a row: layouts of a plan, deployments of a service, rows of capacity.

        Raises ValueError where the record has no table.
        """
        for path in _TABLES:
            found: object = self
            for member in path.split("."):
                found = getattr(found, member, None)
            if isinstance(found, list):
                return [_flat(one.to_dict()) for one in found]
        raise ValueError(f"{type(self).__name__} has no table")

    def to_pandas(self) -> pandas.DataFrame:
        """to_rows() as a frame: numbers are numbers, units are at the ends of the columns' names."""
        import pandas

        return pandas.DataFrame(self.to_rows())

    def _repr_html_(self) -> str:
        try:
            rows = self.to_rows()
        except ValueError:
            return f"<pre>{html.escape(self.to_json(indent=1))}</pre>"
        return _table(rows) + _bars(rows)


def _flat(json_object: dict[str, typing.Any], before: str = "") -> dict[str, typing.Any]:
    """Members of members beside each other: {"layout": {"a": 1}} is {"layout_a": 1}. Lists are left out."""
    flat: dict[str, typing.Any] = {}
    for key, value in json_object.items():
        if isinstance(value, dict):
            flat |= _flat(value, before + key + "_")
        elif not isinstance(value, list):
            flat[before + key] = value
    return flat


def _table(rows: list[dict[str, typing.Any]]) -> str:
    """The first columns that differ, quantities before counts and words."""
    shown = rows[:_ROWS_SHOWN]
    differ = [key for key in (shown[0] if shown else {}) if len({str(row.get(key)) for row in shown}) > 1]
    columns = sorted(differ, key=lambda key: not isinstance(shown[0][key], float))[:_COLUMNS_SHOWN]
    head = "".join(f"<th>{html.escape(key)}</th>" for key in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_text(row.get(key)))}</td>" for key in columns) + "</tr>" for row in shown)
    more = f"<p>{len(rows) - len(shown)} more</p>" if len(rows) > len(shown) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _bars(rows: list[dict[str, typing.Any]]) -> str:
    """The first quantity in seconds, a bar a row."""
    shown = rows[:_ROWS_SHOWN]
    key = next((key for key in (shown[0] if shown else {}) if key.endswith(("_seconds", "_s"))), None)
    values = [row[key] for row in shown if key is not None and isinstance(row.get(key), (int, float))]
    if not values or max(values) <= 0:
        return ""
    bars = "".join(
        f'<rect x="0" y="{18 * place}" width="{400 * value / max(values):.1f}" height="14" fill="#3b6ea5"/>'
        f'<text x="408" y="{18 * place + 12}" font-size="12">{value:.4g}</text>' for place, value in enumerate(values))
    return f'<figure><figcaption>{html.escape(str(key))}</figcaption><svg width="480" height="{18 * len(values)}">{bars}</svg></figure>'
