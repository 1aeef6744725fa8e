"""Tables of text, read column by column into codes, so that millions of rows hold few strings."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc.datasets.reader.dialect import Header, is_number
from obmc.datasets.reader.records import Format, is_even, pieces, split
from obmc.datasets.reader.values import DATE_LIKE


@dataclass(frozen=True)
class Coded:
    """A column: ``texts[codes[k]]`` is what row k holds."""

    codes: NDArray[np.int32]
    texts: list[str]


class Encoder:
    """Collects a column piece by piece."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._parts: list[NDArray[np.int32]] = []

    def add(self, codes: NDArray[np.integer], texts: Sequence[str]) -> None:
        known = self._known
        place = np.fromiter((known.setdefault(text, len(known)) for text in texts), dtype=np.int32, count=len(texts))
        self._parts.append(place[codes])

    def add_texts(self, texts: list[str]) -> None:
        values = np.empty(len(texts), dtype=object)
        values[:] = texts
        self.add(*pd.factorize(values))

    def finish(self) -> Coded:
        parts, self._parts = self._parts, []
        return Coded(np.concatenate(parts) if parts else np.empty(0, dtype=np.int32), list(self._known))


@dataclass
class Skipped:
    """Rows that did not fit the width of the table, and what was made of others."""

    ragged: int = 0
    overlong_kept: int = 0
    stray_quotes: int = 0


class Grid(Protocol):
    """A table of text with ``width`` columns, their ``names`` (None without a header) and some ``sample`` rows."""

    names: list[str] | None
    width: int
    skipped: Skipped

    @property
    def sample(self) -> list[list[str]]: ...

    def columns(self, positions: list[int]) -> list[Coded]: ...

    def blocks(self) -> Iterator[list[list[str]]]: ...


@dataclass
class ListGrid:
    """A table held as rows of equal length."""

    names: list[str] | None
    width: int
    rows: list[list[str]]
    skipped: Skipped = field(default_factory=Skipped)

    @property
    def sample(self) -> list[list[str]]:
        return self.rows[:: max(1, len(self.rows) // 4000)]

    def columns(self, positions: list[int]) -> list[Coded]:
        encoders = [Encoder() for _ in positions]
        for encoder, position in zip(encoders, positions, strict=True):
            encoder.add_texts([row[position] for row in self.rows])
        return [encoder.finish() for encoder in encoders]

    def blocks(self) -> Iterator[list[list[str]]]:
        yield self.rows


def _offset(data: bytes, lines: int) -> int:
    """Where the line number ``lines`` begins."""
    start = 0
    for _ in range(lines):
        end = data.find(b"\n", start)
        start = len(data) if end < 0 else end + 1
    return start


def _is_free_text(cells: list[str]) -> bool:
    """Words without a fixed form, in which a separator may stand unquoted."""
    filled = [cell for cell in cells if cell.strip()]
    return sum(not is_number(cell) and not DATE_LIKE.fullmatch(cell.strip()) for cell in filled) > 0.5 * len(filled) > 0


class TextGrid:
    """A table in UTF-8 text. Lines of the right width without quotes are read at C speed, the others one by one."""

    def __init__(self, data: bytes, form: Format, header: Header, sample: list[list[str]]) -> None:
        self.names = header.names
        self.width = header.width
        self.skipped = Skipped()
        self._data = data
        self._form = form
        self._header = header
        self._start = _offset(data, header.first_line)
        self._free_tail = _is_free_text([row[-1] for row in sample if len(row) == header.width])
        self.sample = [row + [""] * (self.width - len(row)) for row in self._fitted(sample, -1)]
        self.skipped = Skipped()

    def columns(self, positions: list[int]) -> list[Coded]:
        self.skipped = Skipped()
        encoders = [Encoder() for _ in positions]
        rest: list[str] = []
        for piece in pieces(self._data, self._start):
            if not rest and self._header.split_decimal < 0 and is_even(piece, self._form, self.width):
                self._read_even(piece, positions, encoders)
                continue
            rows, rest = self._read_any(rest, piece, max(positions))
            for encoder, position in zip(encoders, positions, strict=True):
                encoder.add_texts([row[position] for row in rows])
        rows, _ = self._read_any(rest, b"", max(positions))
        for encoder, position in zip(encoders, positions, strict=True):
            encoder.add_texts([row[position] for row in rows])
        return [self._restored(encoder.finish()) for encoder in encoders]

    def blocks(self) -> Iterator[list[list[str]]]:
        """The rows in blocks, short ones filled up with blanks."""
        self.skipped = Skipped()
        rest: list[str] = []
        for piece in pieces(self._data, self._start):
            rows, rest = self._read_any(rest, piece, -1)
            yield [self._form.restored(row) + [""] * (self.width - len(row)) for row in rows]
        rows, _ = self._read_any(rest, b"", -1)
        yield [self._form.restored(row) + [""] * (self.width - len(row)) for row in rows]

    def _read_even(self, piece: bytes, positions: list[int], encoders: list[Encoder]) -> None:
        different = sorted(set(positions))
        table = pd.read_csv(
            io.BytesIO(piece),
            sep=self._form.delimiter,
            header=None,
            usecols=different,
            dtype=object,
            na_filter=False,
            quoting=3,
            engine="c",
            lineterminator="\n",
            skip_blank_lines=False,
            low_memory=False,
        )
        for encoder, position in zip(encoders, positions, strict=True):
            encoder.add(*pd.factorize(table[position].to_numpy()))

    def _read_any(self, rest: list[str], piece: bytes, needed: int) -> tuple[list[list[str]], list[str]]:
        """Rows of at least ``needed + 1`` fields, and the lines whose last field goes on in the next piece."""
        lines = piece.decode().split("\n")
        if len(lines) > 1 and not lines[-1]:
            lines.pop()
        fields = split(rest + lines, self._form, width=self.width, last=not piece)
        self.skipped.stray_quotes += fields.stray
        return self._fitted(fields.rows, needed), fields.rest

    def _fitted(self, rows: list[list[str]], needed: int) -> list[list[str]]:
        width, cut = self.width, self._header.split_decimal
        if cut < 0 and all(len(row) == width for row in rows):
            return rows
        fitted = []
        for row in rows:
            if len(row) == width + 1 and cut >= 0:
                row = [*row[:cut], f"{row[cut].strip()}.{row[cut + 1].strip()}", *row[cut + 2 :]]
            if len(row) > width:
                if any(cell.strip() for cell in row[width:]):
                    if not (self._free_tail and 0 <= needed < width - 1):
                        self.skipped.ragged += 1
                        continue
                    self.skipped.overlong_kept += 1
                row = row[:width]
            if len(row) <= needed or len(row) < 2:
                self.skipped.ragged += any(cell.strip() for cell in row)
                continue
            fitted.append(row)
        return fitted

    def _restored(self, column: Coded) -> Coded:
        return Coded(column.codes, self._form.restored(column.texts))
