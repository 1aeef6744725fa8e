"""From what the caller hands over to the bytes of one text file: opens, unpacks and refuses what is no text."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from obmc.errors import RatingsError, check_integer

DEFAULT_MAX_BYTES = 2 * 2**30
# Text of ratings packs 3 to 30 times. What packs far better is not ratings and is refused before it fills the memory.
USUAL_PACKING = 100
SMALL = 64 * 2**20
PIECE = 2**20

MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF document", "export the table behind it as CSV"),
    (b"\x89PNG", "a picture (PNG)", "export the table itself as CSV"),
    (b"\xff\xd8\xff", "a picture (JPEG)", "export the table itself as CSV"),
    (b"GIF8", "a picture (GIF)", "export the table itself as CSV"),
    (b"BM", "a picture (BMP)", "export the table itself as CSV"),
    (b"RIFF", "a picture or sound file", "export the table itself as CSV"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook (.xls)", "open it in Excel and save it as CSV UTF-8"),
    (b"PAR1", "a Parquet file", "convert it: pandas.read_parquet(...).to_csv('ratings.csv', index=False)"),
    (b"ARROW1", "an Arrow or Feather file", "convert it: pandas.read_feather(...).to_csv('ratings.csv', index=False)"),
    (b"SQLite format 3", "an SQLite database", "export the ratings table as CSV"),
    (b"\x89HDF", "an HDF5 file", "export the ratings as CSV"),
    (b"\x93NUMPY", "a numpy array file", "save it as text: numpy.savetxt('ratings.csv', array, delimiter=',')"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "unpack it first"),
    (b"Rar!", "a RAR archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"version https://git-lfs", "a Git LFS pointer, not the data", "fetch the data with 'git lfs pull'"),
    (b"{\\rtf", "an RTF document", "save the table as CSV"),
    (b"RDX", "an R data file", "write it with write.csv(ratings, 'ratings.csv', row.names = FALSE)"),
    (b"X\n", "an R data file", "write it with write.csv(ratings, 'ratings.csv', row.names = FALSE)"),
    (b"\x7fELF", "a program", "give a CSV file of ratings"),
    (b"MZ\x90", "a program", "give a CSV file of ratings"),
)
MARKUP: tuple[tuple[bytes, str, str], ...] = (
    (
        b"<!doctype html",
        "an HTML page",
        "it may be a login or error page saved in place of the file: download the CSV again",
    ),
    (b"<html", "an HTML page", "it may be a login or error page saved in place of the file: download the CSV again"),
    (b"<table", "an HTML table", "open it in a spreadsheet and save it as CSV UTF-8"),
    (b"<?xml", "an XML file", "export the ratings as CSV"),
)
DATA_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".json", ".jsonl", ".ndjson", ".inter", ".base", ".gz")


@dataclass(frozen=True)
class Content:
    """The bytes of one unpacked file, how they were packed ("plain" if they were not), and what is to be noted."""

    data: bytes
    container: str
    notes: tuple[str, ...]


def load(source: Any, max_bytes: int | None) -> Content:
    """Read ``source`` (path, bytes or file object) and unpack gzip, bzip2, xz and zip; at most ``max_bytes`` unpacked.

    Raises ``RatingsError`` for what is missing, too large, damaged, locked, or no text.
    """
    try:
        limit = DEFAULT_MAX_BYTES if max_bytes is None else check_integer("max_bytes", max_bytes, low=1, high=2**50)
    except ValueError as error:
        raise RatingsError(str(error)) from error
    guarded = max_bytes is None
    content = Content(_read(source, limit), "plain", ())
    for _ in range(3):
        inner = _unpack(content, limit, guarded)
        if inner is content:
            _refuse_known(content.data)
            return content
        content = inner
    raise RatingsError("The file is an archive inside an archive inside an archive: unpack it first.")


def _read(source: Any, limit: int) -> bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        return _within(bytes(source), limit)
    if isinstance(source, str | os.PathLike):
        return _read_path(source, limit)
    read = getattr(source, "read", None)
    if not callable(read):
        raise RatingsError(f"source must be a path, bytes or a file object, got {type(source).__name__}.")
    try:
        data = read(limit + 1)
    except (OSError, ValueError) as error:
        raise RatingsError(f"source could not be read: {error}.") from error
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    if not isinstance(data, bytes | bytearray | memoryview):
        raise RatingsError(f"source must give bytes or text when it is read, but gave {type(data).__name__}.")
    if not data and _position(source):
        raise RatingsError("source is a file object that stands at its end: call source.seek(0) before.")
    return _within(bytes(data), limit)


def _read_path(source: str | os.PathLike[str], limit: int) -> bytes:
    path = os.fspath(source)
    if isinstance(path, str) and "\n" in path:
        raise RatingsError("source is a text of several lines: a str is taken as a path, so pass text.encode().")
    if isinstance(path, str) and path.lower().startswith(("http://", "https://")):
        raise RatingsError("source is a web address: download the file first and give its path.")
    try:
        if os.path.isdir(path):
            raise RatingsError(f"source is a folder, {path!r}: give the path of one ratings file in it.")
        size = os.path.getsize(path)
        if size > limit:
            raise RatingsError(_too_large(size, limit))
        with open(path, "rb") as file:
            return _within(file.read(limit + 1), limit)
    except FileNotFoundError as error:
        raise RatingsError(f"source names no file: there is no {path!r}.") from error
    except (OSError, ValueError) as error:
        if isinstance(error, RatingsError):
            raise
        raise RatingsError(f"source could not be read: {error}.") from error


def _position(source: Any) -> int:
    try:
        return int(source.tell())
    except Exception:  # a stream that cannot tell has no position to warn about
        return 0


def _within(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise RatingsError(_too_large(len(data), limit))
    return data


def _too_large(size: int, limit: int) -> str:
    more = "more than " if size == limit + 1 else ""
    held = limit if more else size
    return (
        f"The file holds {more}{_as_size(held)}, above the limit of {_as_size(limit)}: take a sample of its lines (for "
        "example every tenth user) or raise max_bytes."
    )


def _as_size(size: int) -> str:
    """A number of bytes in the largest unit of which there are some."""
    for unit, step in (("MB", 2**20), ("kB", 2**10)):
        if size >= 10 * step:
            return f"{size / step:,.0f} {unit}"
    return f"{size:,} bytes"


def _unpack(content: Content, limit: int, guarded: bool) -> Content:
    data, outer = content.data, "" if content.container == "plain" else content.container + " > "
    if data[:2] == b"\x1f\x8b":
        unpacked = _expand("gzip", lambda: gzip.GzipFile(fileobj=io.BytesIO(data)), len(data), limit, guarded)
        return Content(unpacked, outer + "gzip", content.notes)
    if data[:3] == b"BZh" and data[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        unpacked = _expand("bzip2", lambda: bz2.BZ2File(io.BytesIO(data)), len(data), limit, guarded)
        return Content(unpacked, outer + "bzip2", content.notes)
    if data[:6] == b"\xfd7zXZ\x00":
        unpacked = _expand("xz", lambda: lzma.open(io.BytesIO(data)), len(data), limit, guarded)  # noqa: SIM115
        return Content(unpacked, outer + "xz", content.notes)
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _unzip(content, outer, limit, guarded)
    if data[257:262] == b"ustar":
        raise RatingsError("The file is a tar archive: unpack it and give the ratings file in it.")
    return content


def _unzip(content: Content, outer: str, limit: int, guarded: bool) -> Content:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content.data))
        names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeError) as error:
        raise RatingsError(f"The zip archive is damaged ({error}): download or pack it again.") from error
    with archive:
        _refuse_documents(names)
        member, others = _ratings_member(archive)
        unpacked = _expand("zip", lambda: archive.open(member), max(member.compress_size, 1), limit, guarded)
    notes = content.notes
    if others:
        notes += (
            f"The archive holds {len(others) + 1} files; {member.filename!r} was read and {_listed(others)} not.",
        )
    return Content(unpacked, f"{outer}zip ({member.filename})", notes)


def _refuse_documents(names: list[str]) -> None:
    found = set(names)
    if "[Content_Types].xml" in found:
        kinds = {"xl/": "an Excel workbook (.xlsx)", "word/": "a Word document", "ppt/": "a PowerPoint file"}
        kind = next(
            (what for start, what in kinds.items() if any(n.startswith(start) for n in names)), "an Office file"
        )
        raise RatingsError(
            f"The file is {kind}, not CSV, whatever its name: open it and save the ratings as CSV UTF-8."
        )
    if "mimetype" in found and ("content.xml" in found or "META-INF/container.xml" in found):
        raise RatingsError(
            "The file is an OpenDocument spreadsheet or text (.ods, .odt), not CSV: open it and save the ratings as "
            "CSV."
        )
    if "Index/Document.iwa" in found:
        raise RatingsError("The file is an Apple Numbers document, not CSV: export it as CSV.")
    if any(name.endswith(("data.pkl", ".npy")) for name in names):
        raise RatingsError("The file is an archive of numpy or PyTorch arrays, not CSV: write the ratings as CSV.")


def _ratings_member(archive: zipfile.ZipFile) -> tuple[zipfile.ZipInfo, list[str]]:
    """The one member that is read, and the names of the other data files."""
    files = [
        info
        for info in archive.infolist()
        if not info.is_dir()
        and not info.filename.startswith("__MACOSX/")
        and not os.path.basename(info.filename).startswith(".")
    ]
    data = [info for info in files if info.filename.lower().endswith(DATA_ENDINGS)]
    plausible = [info for info in data if not os.path.basename(info.filename).lower().startswith(("readme", "license"))]
    chosen = plausible or data or files
    if not chosen:
        raise RatingsError("The zip archive holds no file: pack the ratings file and try again.")
    if len(chosen) > 1:
        named = [info for info in chosen if "rating" in os.path.basename(info.filename).lower()]
        named = named or [info for info in chosen if os.path.basename(info.filename).lower() == "u.data"]
        if len(named) != 1:
            raise RatingsError(
                f"The zip archive holds {len(chosen)} files ({_listed([i.filename for i in chosen])}) and none is "
                "plainly the ratings: unpack it and give the one that is."
            )
        others = [info.filename for info in chosen if info is not named[0]]
        return _readable(named[0]), others
    return _readable(chosen[0]), []


def _readable(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    if info.flag_bits & 1:
        raise RatingsError("The zip archive is locked with a password: unpack it and give the file in it.")
    return info


def _expand(kind: str, opener: Callable[[], Any], packed: int, limit: int, guarded: bool) -> bytes:
    """Unpack a stream: once to count, keeping nothing, then for good, so that a bomb never fills the memory."""
    try:
        size = 0
        with opener() as stream:
            while piece := stream.read(PIECE):
                size += len(piece)
                if size > limit:
                    raise RatingsError(f"Packed with {kind}: " + _lower_first(_too_large(limit + 1, limit)))
                if guarded and size > SMALL and size > USUAL_PACKING * packed:
                    raise RatingsError(
                        f"The {kind} file of {packed / 1024:,.0f} kB unpacks to more than {size // 2**20:,} MB, which "
                        "no ratings do: unpack it yourself, or set max_bytes if this is meant."
                    )
        with opener() as stream:
            return stream.read(size)
    except (
        OSError,
        EOFError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
        NotImplementedError,
        ValueError,
    ) as error:
        if isinstance(error, RatingsError):
            raise
        raise RatingsError(f"The {kind} file is damaged or cut off ({error}): download or pack it again.") from error
    except RuntimeError as error:
        raise RatingsError(f"The {kind} file cannot be unpacked here ({error}): unpack it yourself.") from error


def _refuse_known(data: bytes) -> None:
    for magic, what, way_out in MAGIC:
        if data.startswith(magic) and not (len(magic) < 4 and _is_plain_ascii(data[:64])):
            raise RatingsError(f"The file is {what}, not a table of ratings: {way_out}.")
    if data[:1] == b"\x80" and data[1:2] in b"\x02\x03\x04\x05" and data[-1:] == b".":
        raise RatingsError("The file is a Python pickle, not a table of ratings: write the table with to_csv first.")
    start = data[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, what, way_out in MARKUP:
        if start.startswith(magic):
            raise RatingsError(f"The file is {what}, not CSV: {way_out}.")


def _is_plain_ascii(start: bytes) -> bool:
    return all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in start)


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name[-60:]) for name in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _lower_first(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
