"""From bytes to UTF-8 with '\\n' line ends: finds the encoding, says so where it is a guess, and loses no character."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import charset_normalizer

from obmc.errors import RatingsError

PIECE = 2**24
SAMPLE = 2**16
MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Tried for header words, the commonest first; the last one can read anything.
LEGACY = (
    "cp1252", "cp1251", "cp932", "gb18030", "big5", "cp949", "euc_jp", "koi8_r", "cp1250", "cp1253", "cp1254", "cp1255",
    "cp1256", "cp874", "iso8859_2", "iso8859_5", "iso8859_7", "cp866", "cp850", "mac_roman", "latin-1",
)  # fmt: skip
# Control characters that serve as separators or that editors leave behind.
HARMLESS_CONTROLS = frozenset((1, 2, 7, 8, 9, 10, 11, 12, 13, 26, 27, 28, 29, 30, 31))
HIGH_RUN = re.compile(rb"[\x80-\xff]+")
# Of Latin letters, the commonest first.
LATIN = ("cp1252", "cp1250", "iso8859_2", "mac_roman", "cp850")
# Marks that may stand between letters without a blank.
BETWEEN = frozenset("\u2018\u2019\u2013\u2014\u2026\u2022")
WESTERN = re.compile("[\u00c0-\u017f\u2010-\u203a]")
BEYOND = re.compile(r"(?<=(.))[^\x00-\x7f](?=(.))", re.DOTALL)


@dataclass(frozen=True)
class Text:
    """UTF-8 without byte order mark, lines ending in '\\n', no NUL; the encoding it came in; what is to be noted."""

    data: bytes
    encoding: str
    notes: tuple[str, ...]


def to_utf8(data: bytes, wanted: str | None, known_names: Callable[[str], int]) -> Text:
    """Decode ``data``, from ``wanted`` or from what it looks like, and normalise line ends to '\\n'.

    ``known_names`` counts the column names that a text's first lines hold; it settles which legacy encoding is right.
    Raises ``RatingsError`` for binary data, an unknown encoding and bytes that ``wanted`` does not allow.
    """
    mark, marked = next(((m, name) for m, name in MARKS if data.startswith(m)), (b"", ""))
    notes: list[str] = []
    body = data[len(mark) :] if mark else data
    if wanted is not None:
        text, encoding = _as_wanted(data, body, marked, wanted), wanted
    elif marked and marked != "utf-8":
        text, encoding = _from_wide(body, marked, notes), marked
    elif wide := _unmarked_wide(body):
        notes.append(f"The file was taken as {wide.upper()}, though it bears no mark of it (change with encoding=).")
        text, encoding = _from_wide(body, wide, notes), wide
    else:
        body = body.rstrip(b"\0") or body
        _refuse_binary(body)
        body = _without_nul(body, notes)
        text, encoding = _from_bytes(body, notes, known_names)
    text = _without_nul(text, notes)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return Text(text.rstrip(b"\x1a"), encoding, tuple(notes))


def _as_wanted(data: bytes, body: bytes, marked: str, wanted: str) -> bytes:
    try:
        name = codecs.lookup(wanted).name
        "".encode(name)
    except (LookupError, TypeError, ValueError) as error:
        raise RatingsError(
            f"encoding must name a known text encoding such as 'utf-8' or 'cp1252', got {wanted!r}."
        ) from error
    body = body if marked.startswith(name.removesuffix("-sig")) else data
    # The mark decides the byte order of "utf-16" and "utf-32"; with it gone the plain name would guess the machine's.
    name = marked if marked.startswith(name) else name
    try:
        return _transcode(body, name, "strict")
    except UnicodeError as error:
        raise RatingsError(
            f"encoding={wanted!r} does not fit the file ({_reason(error)}): leave it out or name another one."
        ) from error


def _reason(error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"{error.reason}, byte {error.object[error.start : error.start + 1].hex()}"
    return str(error)


def _from_wide(body: bytes, encoding: str, notes: list[str]) -> bytes:
    try:
        return _transcode(body, encoding, "strict")
    except UnicodeError:
        notes.append(f"Some characters are no valid {encoding.upper()} and were replaced by '\ufffd'.")
        return _transcode(body, encoding, "replace")


def _unmarked_wide(body: bytes) -> str:
    """UTF-16 without its mark: in the text of a table every other byte is mostly zero."""
    head = body[: 2 * (min(len(body), 4096) // 2)]
    if head.count(0) < 4:
        return ""
    pairs = len(head) / 2
    even, odd = head[0::2].count(0) / pairs, head[1::2].count(0) / pairs
    if odd >= 0.2 and even <= 0.3 * odd:
        return "utf-16-le"
    if even >= 0.2 and odd <= 0.3 * even:
        return "utf-16-be"
    return ""


def _refuse_binary(body: bytes) -> None:
    head = body[:SAMPLE]
    odd = sum(head.count(code) for code in range(32) if code not in HARMLESS_CONTROLS)
    if odd > max(0.02 * len(head), 3):
        raise RatingsError("The file is binary data, not text: export the ratings as CSV UTF-8.")


def _without_nul(body: bytes, notes: list[str]) -> bytes:
    if b"\0" not in body:
        return body
    notes.append(f"{body.count(0):,} NUL characters were removed from the text.")
    return body.replace(b"\0", b"")


def _from_bytes(body: bytes, notes: list[str], known_names: Callable[[str], int]) -> tuple[bytes, str]:
    try:
        for _ in _pieces(body, "utf-8", "strict"):
            pass
        return body, "utf-8"
    except UnicodeError:
        pass
    good, western, bad = _utf8_census(body)
    # In one Western encoding pairs that are Western letters in UTF-8 are rare: with many a file is put together of two.
    if bad <= good / 4 or (western >= bad / 4 and not _in_runs(body[: 2**20])):
        notes.append(
            f"{bad:,} bytes are no valid UTF-8 in a file that otherwise is; they were read as Windows-1252 "
            "(change with encoding=)."
        )
        return _transcode(body, "utf-8", "surrogateescape", _mend), "utf-8"
    encoding = _legacy(body, known_names)
    notes.append(f"The file is not UTF-8 and was read as {_title(encoding)} (change with encoding=).")
    return _transcode(body, encoding, "strict"), encoding


def _utf8_census(body: bytes) -> tuple[int, int, int]:
    """How many characters beyond ASCII are valid UTF-8, how many of them Western, and how many bytes are not valid."""
    good = western = bad = 0
    for piece in _pieces(body, "utf-8", "surrogateescape"):
        if not piece.isascii():
            wrong = len(re.findall("[\udc80-\udcff]", piece))
            good, bad = good + len(piece) - sum(map(str.isascii, piece)) - wrong, bad + wrong
            western += len(WESTERN.findall(piece))
    return good, western, bad


def _mend(piece: str) -> str:
    def as_western(found: re.Match[str]) -> str:
        byte = bytes([ord(found[0]) - 0xDC00])
        try:
            return byte.decode("cp1252")
        except UnicodeDecodeError:
            return byte.decode("latin-1")

    return re.sub("[\udc80-\udcff]", as_western, piece)


def _legacy(body: bytes, known_names: Callable[[str], int]) -> str:
    """The likeliest encoding of text that is not UTF-8.

    A header in words that are known decides. Without one: in Western languages characters beyond ASCII stand alone
    between plain letters, and the encoding is the one that makes letters of them; elsewhere they come in runs, and
    there the statistics of ``charset_normalizer`` decide.
    """
    start = body[: 2**20]
    fitting = [name for name in LEGACY if _decodes(start, name, whole=False)]
    head = body[: SAMPLE // 16]
    found = {name: known_names(head.decode(name, "replace")) for name in fitting}
    likely = sorted(fitting, key=lambda name: -found[name])
    if found[likely[0]] == found["latin-1"]:
        likely = [*(_by_statistics(start, fitting) or _by_letters(start, fitting)), "cp1252", "latin-1"]
    return next(name for name in likely if _decodes(body, name, whole=True))


def _in_runs(start: bytes) -> bool:
    """Whether bytes beyond ASCII come in runs, as in scripts other than Latin."""
    runs = HIGH_RUN.findall(start)
    return sum(map(len, runs)) > 1.8 * len(runs)


def _by_statistics(start: bytes, fitting: list[str]) -> list[str]:
    if not _in_runs(start):
        return []
    guess = charset_normalizer.from_bytes(
        _high_lines(start), cp_isolation=[name for name in fitting if name != "latin-1"]
    ).best()
    return [] if guess is None else [guess.encoding]


def _by_letters(start: bytes, fitting: list[str]) -> list[str]:
    """The Latin encodings, those first that make most of the characters beyond ASCII within words letters that fit."""
    # Without the last one, which may be cut off.
    first = [set(line) for line in start[: SAMPLE // 16].splitlines()[:20] if line][:-1]
    # What is in every line separates columns, whatever letter it may be elsewhere.
    separators = bytes(code for code in set.intersection(*first) if code > 127) if len(first) > 1 else b""
    lines = _high_lines(start).translate(bytes.maketrans(separators, b"," * len(separators)))
    share = {name: _letter_share(lines.decode(name, "replace"), name == LATIN[0]) for name in LATIN if name in fitting}
    return sorted(share, key=lambda name: -share[name])


def _letter_share(text: str, western: bool) -> float:
    """Of the characters beyond ASCII within words, those that are letters and no capital after a small one.

    Where there are none, it is 1 for the ``western`` encoding, which is the commonest, and 0 for all others.
    """
    fits = within = 0
    for found in BEYOND.finditer(text):
        (before, after), char = found.groups(), found[0]
        kind = unicodedata.category(char)
        # What stands beside capitals or at a word's end and is no letter may be a mark, in any encoding.
        inside = before.islower() and after.islower() and char not in BETWEEN and kind not in ("Zs", "Cf")
        letter = kind in ("Lu", "Ll", "Lo")
        if letter or kind in ("Cc", "Cn") or inside:
            within += 1
            fits += letter and not (char.isupper() and before.islower())
    return round(fits / within, 1) if within else float(western)


def _high_lines(start: bytes) -> bytes:
    """The beginning of those lines that have bytes beyond ASCII."""
    return b"\n".join(line for line in re.split(rb"[\r\n]+", start) if HIGH_RUN.search(line))[:SAMPLE]


def _decodes(body: bytes, encoding: str, *, whole: bool) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    view = memoryview(body)
    try:
        for start in range(0, len(body), PIECE):
            decoder.decode(view[start : start + PIECE], whole and start + PIECE >= len(body))
    except UnicodeError:
        return False
    return True


def _title(encoding: str) -> str:
    names = {"cp1252": "Windows-1252", "cp1251": "Windows-1251", "cp1250": "Windows-1250", "cp932": "Shift-JIS (cp932)"}
    names |= {"iso8859_2": "ISO 8859-2", "mac_roman": "Mac Roman", "cp850": "DOS Latin-1 (cp850)"}
    return names.get(encoding, encoding)


def _pieces(body: bytes, encoding: str, errors: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    view = memoryview(body)
    for start in range(0, len(body), PIECE):
        yield decoder.decode(view[start : start + PIECE], start + PIECE >= len(body))


def _transcode(body: bytes, encoding: str, errors: str, mend: Callable[[str], str] = str) -> bytes:
    return b"".join(mend(piece).encode("utf-8", "replace") for piece in _pieces(body, encoding, errors))
