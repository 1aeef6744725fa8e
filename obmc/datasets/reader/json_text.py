"""JSON to rows: lines of objects, a list of objects or of lists, a table by columns, or ratings by user and item."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from obmc.datasets.reader.grid import RecordGrid
from obmc.datasets.reader.names import ITEM, RATING, USER, meanings
from obmc.errors import RatingsError

NO_TABLE = (
    "The file is JSON, but not a table of ratings: give one object with user, item and rating per line, or a CSV file."
)
LONGEST_LITERAL = 2**16
MOST_NAMES = 20_000
BLOCK = 20_000
# Names times records of a block: every name is looked for in every record.
MOST_CELLS = 100_000_000
TOO_WIDE = "The JSON file has too many different names to be a table: give a CSV file."
BROKEN = (ValueError, SyntaxError, RecursionError, MemoryError)


def looks_like_json(data: bytes) -> bool:
    """Does the text begin as a JSON object or a list of objects or lists, or is it another JSON value as a whole?"""
    start = data[:4096].lstrip()
    if start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"[")):
        return True
    if not (start[:1] == b"[" and data.rstrip()[-1:] == b"]"):
        return False
    try:
        json.loads(data)
    except BROKEN:
        return False
    return True


def read_json(data: bytes) -> tuple[RecordGrid, list[str]]:
    """The rows of the table and what is to be noted. Raises ``RatingsError`` if there is no table."""
    text = data.decode()
    notes: list[str] = []
    table = _Table()
    if text.lstrip()[:1] == "[":
        table.take(_elements(text, table))
    elif _is_by_line(text):
        table.take(_lines(text, table))
    else:
        try:
            table.take(_records(json.loads(text), notes))
        except (ValueError, RecursionError) as error:
            if isinstance(error, RatingsError):
                raise
            table.take(_lines(text, table))
    if table.loose:
        notes.append(f"Lines that are Python literals rather than JSON and were read as such: {table.loose:,}.")
    if table.opened:
        notes.append(f"Records that list several ratings each, of which each became a row: {table.opened:,}.")
    return table.finished(), notes


class _Table:
    """Takes records, all of them objects or all of them lists, and counts what is broken or loosely written."""

    def __init__(self) -> None:
        self.grid = RecordGrid()
        self.broken = self.loose = self.opened = 0
        self._objects = self._lists = 0
        self._head: list[str] = []

    def take(self, records: Iterable[Any]) -> None:
        remaining = iter(records)
        while block := list(islice(remaining, BLOCK)):
            objects = [record for record in block if isinstance(record, dict)]
            lists = [record for record in block if isinstance(record, list)]
            self.broken += len(block) - len(objects) - len(lists)
            if lists:
                self._take_lists(lists)
            objects, opened = _listed_inside(objects)
            self.opened += opened
            if objects:
                self._objects += len(objects)
                self.grid.add(_columns(objects), len(objects))
            if self.grid.width > MOST_NAMES:
                raise RatingsError(TOO_WIDE)

    def _take_lists(self, lists: list[list[Any]]) -> None:
        if not self._lists and len(lists) > 1 and _is_head(lists[0], lists[1]):
            self._head = lists.pop(0)
        self._lists += len(lists)
        width = max(len(self._head), *map(len, lists), 0)
        names = self._head + [str(k) for k in range(len(self._head), width)]
        columns = {name: [_text(row[k]) if k < len(row) else "" for row in lists] for k, name in enumerate(names)}
        self.grid.add(columns, len(lists))

    def finished(self) -> RecordGrid:
        taken = self._objects + self._lists
        if not taken and not self.broken:
            raise RatingsError("The file is an empty JSON list: export or download it again.")
        if self.broken > taken or (self._objects and self._lists):
            raise RatingsError(
                "The file begins like JSON but is broken or no table: export it again, as JSON lines or as CSV."
            )
        grid = self.grid.close(named=bool(self._head or self._objects))
        if not grid.n_rows:
            raise RatingsError("The file is JSON without any rating in it.")
        grid.skipped.broken = self.broken
        return grid


def _is_by_line(text: str) -> bool:
    """Is the first line a whole object, and does another one follow?"""
    first, _, rest = text.lstrip().partition("\n")
    return first.rstrip().rstrip(",").endswith("}") and rest.lstrip()[:1] == "{"


def _lines(text: str, table: _Table) -> Iterator[Any]:
    for raw in text.split("\n"):
        line = raw.strip().rstrip(",")
        if not line or line in "[]":
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            try:
                # Some public data sets write Python literals and call them JSON.
                found = ast.literal_eval(line) if len(line) < LONGEST_LITERAL else None
            except BROKEN:
                table.broken += 1
            else:
                table.loose += 1
                yield _named(found)


def _named(found: Any) -> Any:
    """A Python literal with names that are texts, as they are in JSON."""
    if isinstance(found, dict):
        return {_text(name): _named(value) for name, value in found.items()}
    return [_named(value) for value in found] if isinstance(found, list) else found


def _elements(text: str, table: _Table) -> Iterator[Any]:
    """The elements of a list one by one, up to the place where it breaks off, if it does."""
    decode = json.JSONDecoder().raw_decode
    at = text.index("[") + 1
    while True:
        while at < len(text) and text[at] in " \t\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            return
        try:
            found, at = decode(text, at)
        except (ValueError, RecursionError):
            table.broken += 1
            return
        yield found


def _records(found: Any, notes: list[str]) -> list[Any]:
    """The rows of one JSON value, in the forms in which tables are written."""
    if not isinstance(found, dict) or not found:
        raise RatingsError(NO_TABLE)
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        return [
            dict(zip(map(str, found["columns"]), row, strict=False)) for row in found["data"] if isinstance(row, list)
        ]
    if len(found) > 1 and all(isinstance(value, list) and _whose(value) == USER for value in found.values()):
        notes.append("The file lists ratings by user: the outer names were taken as users.")
        return [{"user": user} | record for user, records in found.items() for record in records]
    tables = [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(tables) == 1:
        return tables[0]
    values = list(found.values())
    lists = all(isinstance(value, list) for value in values) and len(values) > 2
    if lists and len({len(value) for value in values}) == 1:
        return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]
    if all(isinstance(value, dict) for value in values):
        return _nested(found, notes)
    if not any(isinstance(value, dict | list) for value in values):
        return [found]
    raise RatingsError(NO_TABLE)


def _nested(found: Mapping[str, Mapping[str, Any]], notes: list[str]) -> list[Any]:
    """{"rating": {"0": 5, ...}, ...} by columns, or {"user": {"item": 5, ...}, ...}."""
    keys = [tuple(value) for value in found.values()]
    numbered = all(key.isdigit() for key in keys[0])
    if len(set(keys)) == 1 and numbered and len(found) >= 3 and not all(key.isdigit() for key in found):
        return [{name: column[key] for name, column in found.items()} for key in keys[0]]
    if any("rating" in value for value in found.values()):
        return list(found.values())
    notes.append(
        "The file lists ratings by user and item: the outer names were taken as users, the inner ones as items."
    )
    return [
        {"user": user, "item": item, "rating": rating} for user, row in found.items() for item, rating in row.items()
    ]


def _roles(names: Iterable[str]) -> set[str]:
    return {known.role for known in meanings(list(names)) if known is not None}


def _whose(records: list[Any]) -> str:
    """Whose ratings a list of objects holds: a user's, or an item's if they name the user; "" if no one's."""
    if not records or not all(type(record) is dict for record in records):
        return ""
    roles = _roles(records[0])
    if RATING not in roles or {USER, ITEM} <= roles:
        return ""
    return ITEM if USER in roles else USER


def _listed_inside(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """{"user": 3, "ratings": [{"item": 5, "rating": 4}, ...]}, or the same by item, as rows; how many were such."""
    rows: list[dict[str, Any]] = []
    opened = 0
    for record in records:
        whose = {name: _whose(value) for name, value in record.items() if type(value) is list}
        lists = [name for name, role in whose.items() if role == USER]
        by_item = not lists and any(whose.values()) and USER not in _roles(set(record) - set(whose))
        if by_item:
            lists = [name for name, role in whose.items() if role == ITEM]
        if len(lists) != 1:
            rows.append(record)
            continue
        opened += 1
        outer = {name: value for name, value in record.items() if name != lists[0]}
        if by_item:
            # The item's own mean is none of the users' ratings.
            outer = {name: value for name, value in outer.items() if RATING not in _roles((name,))}
        for inner in record[lists[0]]:
            rows.append(outer | {f"{lists[0]}.{name}" if name in outer else name: inner[name] for name in inner})
    return rows, opened


def _columns(records: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The records by columns. One level of objects inside is opened: {"user": {"id": 3}} has the column "user.id"."""
    columns: dict[str, list[str]] = {}
    names = dict.fromkeys(chain.from_iterable(records))
    width = len(names)
    _check_width(width, len(records))
    for name in names:
        values = [record.get(name) for record in records]
        inner = [value for value in values if type(value) is dict]
        keys = dict.fromkeys(chain.from_iterable(inner))
        # {"$oid": "5f2"} and the like are how MongoDB writes one value.
        if keys and all(key.startswith("$") for key in keys) and all(len(value) <= 1 for value in inner):
            columns[name] = [
                _text(next(iter(value.values()), None) if type(value) is dict else value) for value in values
            ]
            continue
        width += len(keys)
        _check_width(width, len(records))
        for key in keys:
            columns[f"{name}.{key}"] = [_text(value.get(key)) if type(value) is dict else "" for value in values]
        if len(inner) < len(values):
            columns[name] = ["" if type(value) is dict else _text(value) for value in values]
    return columns


def _check_width(width: int, records: int) -> None:
    if width > MOST_NAMES or width * records > MOST_CELLS:
        raise RatingsError(TOO_WIDE)


def _is_head(first: list[Any], second: list[Any]) -> bool:
    return all(isinstance(value, str) for value in first) and not all(isinstance(value, str) for value in second)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
