"""What separates the fields of a text, what quotes them, and where the names of the columns stand."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import zip_longest

from obmc.datasets.reader.names import count_roles, looks_like_names, meaning, meanings
from obmc.datasets.reader.records import BLANKS, Format, next_row, split
from obmc.datasets.reader.values import NUMBER
from obmc.datasets.reader.words import NO_RATING, match
from obmc.errors import RatingsError

# Where two fit equally well the one listed first is taken; single spaces and colons occur inside dates and titles.
SEPARATORS = (",", ";", "\t", "|", "::", "\x01", "\x1f", "||", "^", "~", "，", "；", "  ", " ", ":")
LONGEST_LINE = 2**24
HEAD, FURTHER, MOST_LINES = 2**17, 2**16, 5000
PREAMBLE = 20
COMMON_DECIMALS = ("0", "5", "00", "25", "50", "75")
# In fewer rows a column may hold 0 and 5 alone by chance.
FEW_ROWS = 20
COMMENT_MARKS = ("#", "%", "//")


@dataclass(frozen=True)
class Sample:
    """Lines to judge a text by: the first ones, and some from further on; and which quotes there are anywhere."""

    head: list[str]
    further: list[str]
    quoted: bool = False
    escaped: bool = False


@dataclass
class Header:
    """Names of the columns (None if the file has none), lines before the data, fields a row, and what is to be noted.

    ``split_decimal`` is the position of a rating whose decimal comma separates it in two, or -1.
    """

    names: list[str] | None
    first_line: int
    width: int
    split_decimal: int = -1
    notes: list[str] = field(default_factory=list)

    def split_at(self, position: int, column: str) -> None:
        """Take two fields for one, the rating of this column."""
        self.split_decimal, self.width = position, self.width - 1
        self.notes.append(
            f"{column} has a decimal comma in a file separated by commas; 3,5 was read as 3.5 (change with "
            "header=False)."
        )


def take_sample(data: bytes) -> Sample:
    """Raises ``RatingsError`` for text without reasonable line ends."""
    start = 0
    while start + LONGEST_LINE < len(data):
        start = data.rfind(b"\n", start, start + LONGEST_LINE) + 1 or -1
        if start < 0:
            raise RatingsError(
                "The file has a line of more than 16 MB, which no table of ratings has: export the ratings as CSV."
            )
    size = HEAD
    while size < len(data) and data.count(b"\n", 0, size) < 10:
        size *= 4
    head = data[:size] if size >= len(data) else data[: data.rfind(b"\n", 0, size) + 1]
    further: list[str] = []
    if len(data) > 2 * size:
        for part in (1, 2, 3):
            begin = data.find(b"\n", len(data) * part // 4) + 1
            end = data.rfind(b"\n", begin, begin + FURTHER)
            further += data[begin : max(begin, end)].decode().split("\n")[: MOST_LINES // 3]
    quoted = b'"' in data
    return Sample(head.decode().split("\n")[:MOST_LINES], further, quoted, quoted and b'\\"' in data)


def find_format(sample: Sample, separator: str | None) -> Format:
    """The separator and the quotes under which the lines fall into equally many fields that look like names and values.

    Raises ``RatingsError`` if the lines have one field only whatever the separator.
    """
    lines = sample.head[:2000] + sample.further
    hint = re.fullmatch(r'"?sep=(.{1,2}?)"?\s*[,;]*', sample.head[0].strip(" \ufeff"), re.IGNORECASE)
    hinted = hint[1].replace("\\t", "\t") if hint else None
    if separator is None and hinted and any(hinted in line for line in lines[1:400]):
        separator = hinted
    candidates = SEPARATORS if separator is None else (separator,)
    scored: list[tuple[float, Format]] = []
    for order, candidate in enumerate(candidates):
        if not any(_may_separate(candidate, line) for line in lines[:400]):
            continue
        for form in _quotings(candidate, lines, sample):
            score = _score([form.joined(line) for line in lines], form)
            if score > 0:
                scored.append((score - 0.01 * order, form))
    if scored:
        return max(scored, key=lambda pair: pair[0])[1]
    if separator is not None:
        raise RatingsError(f"separator={separator!r} splits no line of the file: leave it out or name another one.")
    if not any(line.strip() for line in lines):
        raise RatingsError("The file is empty: it holds blank lines only.")
    raise RatingsError(
        "The file has one column only, or an unusual separator: a ratings file needs a user, an item and a rating in "
        "every row (name the separator with separator=)."
    )


def _may_separate(separator: str, line: str) -> bool:
    if separator == "  ":
        # It differs from a single blank only where fields have single blanks inside.
        return re.search(r"\S \S", line) is not None and re.search(BLANKS[separator], line) is not None
    return separator in line or (separator in BLANKS and "\t" in line)


def _quotings(separator: str, lines: list[str], sample: Sample) -> list[Format]:
    """Ways in which the fields may be quoted, the usual one first. The first quoted field may be the last of all."""
    forms = []
    if sample.quoted:
        forms.append(Format(separator, '"'))
        if sample.escaped:
            forms.append(Format(separator, '"', escaped=True))
    else:
        forms.append(Format(separator))
    full = [line for line in lines if line.strip()]
    quoted = sum(line.strip()[0] == "'" and line.strip()[-1] == "'" for line in full)
    if quoted > 0.8 * len(full):
        forms.insert(0, Format(separator, "'"))
    return forms


def _score(lines: list[str], form: Format) -> float:
    rows = split(lines, form).rows
    widths = Counter(len(row) for row in rows if any(cell.strip() for cell in row))
    if not widths:
        return 0.0
    width, often = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
    if width < 2:
        return 0.0
    first = [[_name(cell) for cell in row] for row in rows[: PREAMBLE + 1]]
    roles = max(count_roles(row, below) for row, below in zip_longest(first[:PREAMBLE], first[1:]))
    cells = [cell for row in rows[:200] for cell in row if cell.strip()]
    atoms = sum(_is_atom(cell, form.separator) for cell in cells) / max(len(cells), 1)
    return often / sum(widths.values()) + 0.5 * min(roles, 3) + 0.3 * (width >= 3) + 0.5 * atoms


def _is_atom(cell: str, separator: str) -> bool:
    """A number, or a text in which nothing else separates."""
    if re.fullmatch(r"\s*[+-]?[\d.]*,?\d+\s*", cell):
        return True
    return not any(other in cell for other in ",;\t|" if other != separator) and "::" not in cell


def _name(cell: str) -> str:
    return cell.strip().lstrip("\ufeff#%").strip().strip("\"'").strip()


def is_number(cell: str) -> bool:
    """A plain number, with a point or a comma."""
    text = cell.strip().strip("\"'")
    return NUMBER.fullmatch(text.replace(",", ".")) is not None


def find_header(sample: Sample, form: Format, wanted: bool | None) -> Header:
    """Where the data begin and what the columns are called; ``wanted`` says whether there are names."""
    lines = [form.joined(line) for line in sample.head]
    first: list[tuple[list[str], int, int]] = []
    at = 0
    if re.fullmatch(r'"?sep=.{1,2}"?[,;\s]*', sample.head[0].strip(" \ufeff"), re.IGNORECASE):
        at = 1
    while at < len(lines) and len(first) < PREAMBLE:
        row, taken, *_ = next_row(lines, at, form, 0)
        if any(cell.strip() for cell in row):
            first.append((row, at, at + taken))
        at += taken
    width = max(
        Counter(len(row) for row in _rows_from(0, lines, sample, form)).items(), key=lambda pair: (pair[1], pair[0])
    )[0]
    names_at = None if wanted is False else _named_row(first, width)
    fitting = (k for k, (row, _, _) in enumerate(first) if len(row) in (width, width - 1) and _filled(row) > 1)
    start = next(fitting, 0)
    if start + 1 < len(first) and _is_title(first[start][0], first[start + 1][0]):
        start += 1
    if names_at is None and wanted is not False:
        rest = _rows_from(first[start][2], lines, sample, form)
        if wanted or _is_header(first[start][0], [row for row in rest if len(row) == width]):
            names_at = start
    if names_at is None and start == 1 and wanted is not False:
        names = _otherwise_separated(sample.head[first[0][1]], width)
        if names:
            note = "The names of the columns are separated in another way than the rows below them."
            return Header(names, first[0][2], width, notes=[note])
    if names_at is None:
        header = Header(None, first[start][1], width)
        skipped, before = start, "the data"
        if form.separator == "," and wanted is None:
            _join_decimals(header, _rows_from(header.first_line, lines, sample, form))
    else:
        names = [_name(cell) for cell in first[names_at][0]]
        if len(names) == width + 1 and not names[0] and first[names_at][0][0].strip() in COMMENT_MARKS:
            names = names[1:]
        header = Header(names, first[names_at][2], max(width, len(names)))
        skipped, before = names_at, "the header"
        rows = _rows_from(header.first_line, lines, sample, form)
        _align(header, [row for row in rows if row != first[names_at][0]], form)
    if skipped:
        header.notes.append(f"Lines skipped before {before}: {skipped}.")
    return header


def _rows_from(line: int, lines: list[str], sample: Sample, form: Format) -> list[list[str]]:
    """The rows of the sample from a line on, without empty ones."""
    rows = split(lines[line:] + [form.joined(further) for further in sample.further], form).rows
    return [row for row in rows if any(cell.strip() for cell in row)]


def _otherwise_separated(line: str, width: int) -> list[str]:
    """The names of ``width`` columns in a line that another separator splits, else nothing."""
    for separator in SEPARATORS:
        form = Format(separator)
        names = [_name(cell) for cell in form.joined(line).split(form.delimiter)]
        if len(names) == width and count_roles(names) >= 2:
            return names
    return []


def _is_title(row: list[str], following: list[str]) -> bool:
    """A line of a title or two above the names of five columns or more, as over a spreadsheet's pivot table."""
    return len(row) == len(following) >= 5 and _filled(row) <= 2 and _filled(following) == len(following)


def _filled(row: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _named_row(first: list[tuple[list[str], int, int]], width: int) -> int | None:
    """The row that names at least two of user, item, rating and time, before any data; the fullest, then the first."""
    best, place = 1, None
    for k, (row, _, _) in enumerate(first):
        if k and len(first[k - 1][0]) == width and any(map(is_number, first[k - 1][0])):
            break
        cells = [_name(cell) for cell in row]
        known = [cell for cell in cells if not is_number(cell)]
        below = [_name(cell) for cell in first[k + 1][0]] if k + 1 < len(first) else None
        roles = count_roles(cells, below)
        if roles > best and len(known) >= min(len(cells), 3):
            best, place = roles, k
    return place


def _is_header(row: list[str], body: list[list[str]]) -> bool:
    """Is the first row one of unknown names? It is if it breaks with what stands below: text above numbers.

    A number above numbers speaks for data, unless the first field is a name or blank, as in a matrix with numbered
    items.
    """
    if not body or len(row) not in (len(body[0]), len(body[0]) - 1):
        return False
    if len(row) == len(body[0]) - 1:
        body = [below[1:] for below in body]
    above = [_name(cell) for cell in row]
    columns = [[below[k].strip() for below in body[:500] if below[k].strip()] for k in range(len(row))]
    numeric = [bool(column) and sum(map(is_number, column)) >= 0.9 * len(column) for column in columns]
    if len(above) >= 3 and _counts_columns(above, columns, numeric):
        return True
    if any(is_number(cell) and below for cell, below in zip(above, numeric, strict=True)):
        if {known.role for known in meanings(above) if known} >= {"user", "item"}:
            return True
        names_rows = bool(columns[0]) and (not above[0] or (not is_number(above[0]) and meaning(above[0]) is not None))
        labels = [cell for cell in above[1:] if cell]
        return names_rows and len(labels) >= 3 and len(set(labels)) == len(labels)
    if any(below and cell and cell.casefold() not in NO_RATING for cell, below in zip(above, numeric, strict=True)):
        return True
    if any(cell in column for cell, column in zip(above, columns, strict=True)):
        return False
    if looks_like_names(above):
        return True
    worded = [match(Counter(column)) is not None for column in columns]
    with_above = [match(Counter([*column, cell])) for cell, column in zip(above, columns, strict=True)]
    if any(worded):
        return not any(scale and cell in scale for scale, cell in zip(with_above, above, strict=True))
    return any(len(set(column)) < len(column) / 2 for column in columns)


def _counts_columns(above: list[str], columns: list[list[str]], numeric: list[bool]) -> bool:
    """0, 1, 2, ... as programs number columns, where no id below is among them; or 1, 2, 3, ... above words."""
    if above == [str(k) for k in range(len(above))]:
        return not any(cell in column for cell, column in zip(above[:2], columns[:2], strict=True))
    return above == [str(k + 1) for k in range(len(above))] and not any(numeric[:2])


def _align(header: Header, rows: list[list[str]], form: Format) -> None:
    """Settle what rows with one field more than the header mean."""
    names = header.names or []
    longer = [row for row in rows if len(row) == len(names) + 1]
    at = next((k for k, known in enumerate(meanings(names)) if known and known.role == "rating"), -1)
    halved = form.separator == "," and at >= 0 and longer and all(_two_halves(row, at) for row in longer)
    rare = header.width <= len(names) and len(longer) < 0.2 * len(rows)
    if rare and not (halved and all(row[at + 1].strip() in COMMON_DECIMALS for row in longer)):
        return
    if len(longer) > 0.5 * len(rows) and len({row[0] for row in longer}) == len(longer) > 2 and _filled_last(longer):
        header.names = ["", *names]
        header.notes.append("The rows begin with a field without a name, a row number, which was left out.")
        return
    if halved:
        header.width = len(names) + 1
        header.split_at(at, repr(names[at]))
        return
    header.names = names + [""] * (header.width - len(names))


def _join_decimals(header: Header, rows: list[list[str]]) -> None:
    """Join what a decimal comma has torn in two in a file without names: whole numbers before 0 and 5 alone."""
    rows = [row for row in rows if len(row) == header.width]
    for at in range(2, header.width - 1) if len(rows) >= FEW_ROWS else ():
        decimals = {row[at + 1].strip() for row in rows}
        if len(decimals) > 1 and decimals <= set(COMMON_DECIMALS) and all(_two_halves(row, at) for row in rows):
            header.split_at(at, f"Column {at + 1}")
            return


def _filled_last(rows: list[list[str]]) -> bool:
    return sum(bool(row[-1].strip()) for row in rows) > 0.5 * len(rows)


def _two_halves(row: list[str], at: int) -> bool:
    whole, decimals = row[at].strip(), row[at + 1].strip()
    return re.fullmatch(r"-?\d{1,3}", whole) is not None and re.fullmatch(r"\d{1,2}", decimals) is not None
