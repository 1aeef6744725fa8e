"""Tables of text, read column by column into codes, so that millions of rows hold few strings."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """Rows that did not fit the width of the table or were broken, and what was made of others."""

    ragged: int = 0
    broken: int = 0
    overlong_kept: int = 0
    stray_quotes: int = 0


class Grid(Protocol):
    """A table of text with ``width`` columns, their ``names`` (None without a header) and some ``sample`` rows."""

    skipped: Skipped

    @property
    def names(self) -> list[str] | None: ...

    @property
    def width(self) -> int: ...

    @property
    def sample(self) -> list[list[str]]: ...

    def columns(self, positions: list[int]) -> list[Coded]: ...

    def blocks(self) -> Iterator[list[list[str]]]: ...


class RecordGrid:
    """A table filled block by block, whose columns turn up as the blocks name them."""

    def __init__(self) -> None:
        self.skipped = Skipped()
        self._encoders: dict[str, Encoder] = {}
        self._length = 0
        self._columns: list[Coded] = []
        self._named = True

    def add(self, columns: Mapping[str, list[str]], n_rows: int) -> None:
        """``n_rows`` further rows; a column that they do not name is blank in them."""
        for name in columns:
            if name not in self._encoders:
                self._encoders[name] = Encoder()
                self._encoders[name].add(np.zeros(self._length, dtype=np.int32), [""])
        for name, encoder in self._encoders.items():
            if name in columns:
                encoder.add_texts(columns[name])
            else:
                encoder.add(np.zeros(n_rows, dtype=np.int32), [""])
        self._length += n_rows

    def close(self, *, named: bool) -> RecordGrid:
        """The grid, complete; ``named`` says that the names of the columns stood in the file."""
        self._columns = [encoder.finish() for encoder in self._encoders.values()]
        self._named = named
        return self

    @property
    def names(self) -> list[str] | None:
        return list(self._encoders) if self._named else None

    @property
    def width(self) -> int:
        return len(self._encoders)

    @property
    def n_rows(self) -> int:
        return self._length

    @property
    def sample(self) -> list[list[str]]:
        return self._rows(np.arange(0, self._length, max(1, self._length // 4000)))

    def columns(self, positions: list[int]) -> list[Coded]:
        return [self._columns[position] for position in positions]

    def blocks(self) -> Iterator[list[list[str]]]:
        for start in range(0, self._length, 20_000):
            yield self._rows(np.arange(start, min(start + 20_000, self._length)))

    def _rows(self, which: NDArray[np.int64]) -> list[list[str]]:
        columns = [[column.texts[k] for k in column.codes[which]] for column in self._columns]
        return [list(row) for row in zip(*columns, strict=True)]


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
        self.skipped = Skipped()
        self._data = data
        self._form = form
        self._header = header
        self._start = _offset(data, header.first_line)
        self._free_tail = _is_free_text([row[-1] for row in sample if len(row) == header.width])
        self.sample = [row + [""] * (self.width - len(row)) for row in self._fitted(sample, -1)]
        self.skipped = Skipped()

    @property
    def names(self) -> list[str] | None:
        return self._header.names

    @property
    def width(self) -> int:
        return self._header.width

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
