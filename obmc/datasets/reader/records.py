"""Lines to fields, for text that may be quoted badly: whatever one line does, the lines after it are read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obmc.datasets.reader.values import NUMBER

# A quoted field may run over several lines; past these numbers its quote is taken for a stray one.
MOST_LINES = 500
MOST_CHARACTERS = 2**18
PIECE = 2**22
JOINT = "\x1f"
# One blank stands for any run of them, two for runs that leave single blanks inside the fields.
BLANKS = {" ": r"[ \t]+", "  ": r"[ \t]{2,}|\t"}


@dataclass(frozen=True)
class Format:
    """How the fields of a line are told apart.

    ``separator`` is what stands in the file, ``delimiter`` the one character in its place when fields are split (JOINT
    if the separator has several). ``quote`` is "" where nothing is quoted.
    """

    separator: str
    quote: str = ""
    escaped: bool = False

    @property
    def delimiter(self) -> str:
        return (
            self.separator
            if len(self.separator) == 1 and self.separator.isascii() and self.separator not in " \"'\\"
            else JOINT
        )

    def joined(self, text: str) -> str:
        """``text`` with the delimiter in place of the separator."""
        if self.separator in BLANKS:
            stripped = "\n".join(line.strip(" \t") for line in text.split("\n"))
            return re.sub(BLANKS[self.separator], JOINT, stripped)
        return text if self.delimiter == self.separator else text.replace(self.separator, JOINT)

    def restored(self, fields: list[str]) -> list[str]:
        """Fields as they stood in the file."""
        if self.delimiter == self.separator:
            return fields
        return [field.replace(JOINT, self.separator) for field in fields]


@dataclass
class Fields:
    """Rows of fields, the lines left over because their last field is still open, and the number of stray quotes."""

    rows: list[list[str]]
    rest: list[str]
    stray: int = 0


def split(lines: list[str], form: Format, *, width: int = 0, last: bool = True) -> Fields:
    """Split lines (delimiters in place) into fields; ``width`` is the number of fields expected, 0 if unknown.

    An unfinished field at the end is left in ``rest`` unless these are the ``last`` lines. Empty lines give no row.
    """
    delimiter, quote = form.delimiter, form.quote
    if not quote:
        return Fields([line.split(delimiter) for line in lines if line and not line.isspace()], [])
    fields = _at_once(lines, form, width, last)
    if fields is not None:
        return fields
    fields = Fields([], [])
    at = 0
    while at < len(lines):
        row, taken, stray, unfinished = next_row(lines, at, form, width)
        if unfinished and not last:
            fields.rest = lines[at:]
            break
        if row:
            fields.rows.append(row)
        fields.stray += stray
        at += taken
    return fields


def next_row(lines: list[str], at: int, form: Format, width: int) -> tuple[list[str], int, bool, bool]:
    """The row that begins at line ``at``: its fields (none if the line is empty), how many lines it takes, whether a
    quote in it was stray, and whether more lines might have closed that quote.
    """
    line, quote = lines[at], form.quote
    if not line or line.isspace():
        return [], 1, False, False
    if not quote or quote not in line:
        return line.split(form.delimiter), 1, False, False
    if _quotes(line, form) % 2 == 0:
        return _parse(line, form, strict=False) or line.split(form.delimiter), 1, False, False
    row, taken, unfinished = _quoted_over_lines(lines, at, form, width)
    if row is None:
        return [cell.strip().strip(quote) for cell in line.split(form.delimiter)], 1, True, unfinished
    return row, taken, False, False


def _quotes(line: str, form: Format) -> int:
    return line.count(form.quote) - (line.count("\\" + form.quote) if form.escaped else 0)


def _quoted_over_lines(lines: list[str], start: int, form: Format, width: int) -> tuple[list[str] | None, int, bool]:
    """The row that begins in a line with an odd number of quotes, how many lines it takes, and whether more are needed.

    No row if the quotes do not close properly, which a stray quote never does: what follows it is no delimiter.
    """
    quotes = size = 0
    for end in range(start, min(start + MOST_LINES, len(lines))):
        quotes += _quotes(lines[end], form)
        size += len(lines[end]) + 1
        if size > MOST_CHARACTERS:
            return None, 1, False
        if end > start and quotes % 2:
            continue
        row = _parse("\n".join(lines[start : end + 1]), form, strict=True)
        if row is not None:
            parts = lines[start : end + 1]
            apart = len(parts) > 1 and _are_rows(parts, form, width, alike=len(row) == width)
            return (None, 1, False) if apart else (row, len(parts), False)
        if end > start:
            return None, 1, False
    return None, 1, start + MOST_LINES > len(lines)


def _are_rows(parts: list[str], form: Format, width: int, *, alike: bool) -> bool:
    """Are the lines that a quoted field would run over rows by themselves: of all fields, and ``alike`` in numbers?"""
    rows = [part.split(form.delimiter) for part in parts]
    if any(len(row) != width for row in rows):
        return False
    numbers = {tuple(NUMBER.fullmatch(cell.strip()) is not None for cell in row) for row in rows}
    return not alike or (len(numbers) == 1 and any(next(iter(numbers))))


def _at_once(lines: list[str], form: Format, width: int, last: bool) -> Fields | None:
    """All rows in one go, where every quote has its partner; None if one may be stray."""
    filled = [line for line in lines if line and not line.isspace()]
    if not any(_quotes(line, form) % 2 for line in filled):
        try:
            rows = list(_reader(filled, form, strict=False))
        except csv.Error:
            return None
        return Fields(rows, []) if len(rows) == len(filled) else None
    if not width:
        return None
    rows, end = [], 0
    reader = _reader([line + "\n" for line in lines], form, strict=True)
    try:
        for row in reader:
            if row:
                rows.append(row)
            if reader.line_num > end + 1 and _are_rows(lines[end : reader.line_num], form, width, alike=True):
                return None
            end = reader.line_num
    except csv.Error:
        # Either a stray quote, or a field that goes on in the next piece of the file.
        if last or len(lines) - end > MOST_LINES:
            return None
    if any(len(row) != width for row in rows):
        return None
    return Fields(rows, lines[end:])


def _reader(lines: list[str], form: Format, *, strict: bool) -> Any:
    return csv.reader(
        lines,
        delimiter=form.delimiter,
        quotechar=form.quote,
        doublequote=True,
        escapechar="\\" if form.escaped else None,
        skipinitialspace=True,
        strict=strict,
    )


def _parse(text: str, form: Format, *, strict: bool) -> list[str] | None:
    """The one row of ``text``; None if it is not one row, or, if ``strict``, if its quotes do not match."""
    try:
        rows = list(_reader(_kept_lines(text), form, strict=strict))
    except csv.Error:
        return None
    return rows[0] if len(rows) == 1 else None


def _kept_lines(text: str) -> list[str]:
    *inner, final = text.split("\n")
    return [line + "\n" for line in inner] + [final]


def is_even(piece: bytes, form: Format, width: int) -> bool:
    """Does every line of ``piece`` (ending in a newline) hold exactly ``width`` fields, and no quote?"""
    if form.quote and form.quote.encode() in piece:
        return False
    codes: NDArray[np.uint8] = np.frombuffer(piece, dtype=np.uint8)
    marks = codes[(codes == ord(form.delimiter)) | (codes == 10)]
    if len(marks) == 0 or len(marks) % width:
        return False
    table = marks.reshape(-1, width)
    return bool((table[:, -1] == 10).all() and (table[:, :-1] != 10).all())


def pieces(data: bytes, start: int, size: int = PIECE) -> Iterator[bytes]:
    """The bytes from ``start`` on in pieces of about ``size`` that end at line ends."""
    while start < len(data):
        end = start + size
        if end < len(data):
            found = data.find(b"\n", end)
            end = len(data) if found < 0 else found + 1
        yield data[start:end]
        start = end
