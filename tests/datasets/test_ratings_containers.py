"""Packed files: what is unpacked, what is refused, and how much memory a bomb gets."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.reader.containers import DEFAULT_MAX_BYTES, load

PLAIN = b"user,item,rating\n" + b"".join(b"u%d,m%d,%d\n" % (k % 5, k // 5, k % 4) for k in range(20))


def packed_gzip(data: bytes) -> bytes:
    """Without the time of day, which pytest would put into the tests' names: two workers would collect other tests."""
    return gzip.compress(data, mtime=0)


def zipped(*files: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("data", "container"),
    [
        (PLAIN, "plain"),
        (packed_gzip(PLAIN), "gzip"),
        (packed_gzip(PLAIN[:60]) + packed_gzip(PLAIN[60:]), "gzip"),
        (bz2.compress(PLAIN), "bzip2"),
        (lzma.compress(PLAIN), "xz"),
        (zipped(("a.csv", PLAIN)), "zip (a.csv)"),
        (zipped(("a.csv", PLAIN), ("__MACOSX/._a.csv", b"\0"), (".DS_Store", b"\0")), "zip (a.csv)"),
        (zipped(("a.csv.gz", packed_gzip(PLAIN))), "zip (a.csv.gz) > gzip"),
        (packed_gzip(packed_gzip(PLAIN)), "gzip > gzip"),
    ],
)
def test_unpacked(data: bytes, container: str) -> None:
    content = load(data, None)
    assert (content.data, content.container, content.notes) == (PLAIN, container, ())


def test_the_ratings_among_several_files_are_found_and_said() -> None:
    content = load(zipped(("ml/README.txt", b"x"), ("ml/movies.csv", b"a,b"), ("ml/ratings.csv", PLAIN)), None)
    assert content.data == PLAIN
    assert content.notes == ("The archive holds 2 files; 'ml/ratings.csv' was read and 'ml/movies.csv' not.",)


def locked() -> bytes:
    data = bytearray(zipped(("a.csv", PLAIN)))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (packed_gzip(PLAIN)[:-12], "damaged or cut off"),
        (packed_gzip(PLAIN)[:30], "damaged or cut off"),
        (b"\x1f\x8bnothing", "damaged or cut off"),
        (lzma.compress(PLAIN)[:-20], "damaged or cut off"),
        (zipped(("a.csv", PLAIN))[:-30], "damaged"),
        (b"PK\x03\x04" + bytes(50), "damaged"),
        (zipped(), "holds no file"),
        (zipped(("a.csv", PLAIN), ("b.csv", PLAIN)), "none is plainly the ratings"),
        (locked(), "password"),
        (zipped(("[Content_Types].xml", b""), ("xl/workbook.xml", b"")), "an Excel workbook"),
        (zipped(("[Content_Types].xml", b""), ("word/document.xml", b"")), "a Word document"),
        (zipped(("mimetype", b""), ("content.xml", b"")), "OpenDocument"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old Excel workbook"),
        (b"PAR1" + bytes(50), "Parquet"),
        (b"SQLite format 3\0" + bytes(50), "SQLite"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "JPEG"),
        (b"  <HTML><body>", "HTML page"),
        (b"<?xml version='1.0'?><a/>", "XML"),
        (bytes(257) + b"ustar" + bytes(300), "tar archive"),
        (packed_gzip(bytes(257) + b"ustar" + bytes(300)), "tar archive"),
        (packed_gzip(packed_gzip(packed_gzip(packed_gzip(PLAIN)))), "archive inside an archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    ],
)
def test_refused(data: bytes, message: str) -> None:
    with pytest.raises(RatingsError, match=message):
        read_ratings(data)


def test_text_that_begins_like_a_picture_is_text() -> None:
    assert load(b"BMW,1,2\n", None).data == b"BMW,1,2\n"


def test_the_limit_is_that_of_the_unpacked_size() -> None:
    packed = packed_gzip(PLAIN * 200)
    assert load(packed, len(PLAIN) * 200).data == PLAIN * 200
    for data in (packed, PLAIN * 200, io.BytesIO(PLAIN * 200)):
        with pytest.raises(RatingsError, match=r"above the limit of 5,000 bytes: take a sample .* or raise max_bytes"):
            load(data, 5_000)


class Odd:
    """A file object that does not behave."""

    def __init__(self, given: object) -> None:
        self.given = given

    def read(self, size: int) -> object:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Odd(OSError("the disk is gone")), "source could not be read: the disk is gone"),
        (Odd(7), "source must give bytes or text when it is read, but gave int"),
        (Odd(b""), "The file is empty"),
        ("a\0b", "source could not be read"),
        (b"\x80\x04\x95abc.", "Python pickle"),
        (zipped(("Index/Document.iwa", b"x")), "Apple Numbers"),
        (zipped(("archive/data.pkl", b"x")), "arrays, not CSV"),
        (zipped(("a.npy", b"x")), "arrays, not CSV"),
    ],
    ids=["breaks", "no bytes", "empty", "no path", "pickle", "numbers", "torch", "numpy"],
)
def test_what_cannot_be_read_is_said_in_a_sentence(source: object, message: str) -> None:
    with pytest.raises(RatingsError, match=message) as caught:
        read_ratings(source)
    assert "\n" not in str(caught.value)


def test_a_file_on_disk_that_is_too_large_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "large.csv").write_bytes(PLAIN)
    with pytest.raises(RatingsError, match="above the limit of"):
        read_ratings(tmp_path / "large.csv", max_bytes=len(PLAIN) - 1)


def test_an_encrypted_archive_is_said_to_be_one() -> None:
    packed = bytearray(zipped(("a.csv", PLAIN)))
    # The bit of the general flags, in the local header and in the directory, that says that a member is encrypted.
    packed[6] |= 1
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(RatingsError, match=r"unpack it yourself|password|encrypted"):
        read_ratings(bytes(packed))


BOMB = """
import gzip, re, resource, sys
from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
packed = gzip.compress(b"12,34,5\\n" * 2**17) * 1200
def peak():
    # A process begins with the peak of the one that started it, except in Linux's own count.
    try:
        with open("/proc/self/status") as file:
            return int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
try:
    read_ratings(packed, **eval(sys.argv[1]))
except RatingsError as error:
    print(error)
print(before, peak())
"""


@pytest.mark.parametrize("arguments", ["{}", "{'max_bytes': 2**29}"])
def test_a_bomb_is_refused_before_it_fills_the_memory(arguments: str) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", BOMB, arguments], check=True, capture_output=True, text=True, cwd=root)
    sentence, numbers = done.stdout.strip().split("\n")
    before, after = map(float, numbers.split())
    assert "unpacks to more than" in sentence or "above the limit of 512 MB" in sentence
    assert after - before < 50 and after < 500
    assert DEFAULT_MAX_BYTES < 1200 * 2**20 * 2


@pytest.mark.parametrize("limit", [0, -1, "x", float("nan"), 2.5, True])
def test_a_limit_that_is_none_is_refused_as_the_reader_promises(limit: Any) -> None:
    with pytest.raises(RatingsError, match="max_bytes must be a whole number"):
        read_ratings(PLAIN, max_bytes=limit)


@pytest.mark.parametrize(("limit", "said"), [(10, "10 bytes"), (50 * 2**10, "50 kB"), (20 * 2**20, "20 MB")])
def test_a_limit_is_said_in_a_unit_that_shows_it(limit: int, said: str) -> None:
    with pytest.raises(RatingsError, match=f"holds more than {said}, above the limit of {said}:"):
        read_ratings(io.BytesIO(b"1" * (limit + 5)), max_bytes=limit)
