"""An upload: a table within the server's limits, or one sentence and what can be shown of the file."""

from __future__ import annotations

import pytest

from obmc import upload

FILE = b"user,item,rating\n" + b"".join(b"u%d,m%d,%d\n" % (k % 5, k // 5, k % 4 + 1) for k in range(20))


def test_a_table_within_the_limits() -> None:
    found = upload.read_upload(FILE, {"user": "user"}, 1, 20)
    assert found.fault == "" and found.preview is not None
    assert found.table is not None and found.table.n_ratings == 20


def test_too_many_ratings_are_refused_with_the_ways_out_and_still_previewed() -> None:
    found = upload.read_upload(FILE, {"separator": ","}, 1, 19)
    assert found.table is None and found.preview is not None
    assert found.fault.startswith("The file holds 20 ratings, and this dashboard takes at most 19: keep a part")
    assert upload.ROWS_VARIABLE in found.fault


def test_what_is_no_table_is_a_sentence() -> None:
    found = upload.read_upload(b"\x89PNG\r\n\x1a\n" + bytes(40), {}, 1, 100)
    assert (found.table, found.preview) == (None, None)
    assert found.fault.startswith("The file is ") and found.fault.count("\n") == 0


def test_a_file_that_needs_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(upload, "read_ratings", exhausted)
    assert upload.read_upload(FILE, {}, 1, 100).fault == "The file needs more memory than there is: keep a part of it."


@pytest.mark.parametrize(("text", "rows"), [("", upload.DEFAULT_ROWS), ("300", 300)])
def test_the_number_of_ratings_is_a_setting(monkeypatch: pytest.MonkeyPatch, text: str, rows: int) -> None:
    monkeypatch.setenv(upload.ROWS_VARIABLE, text)
    assert upload.most_rows() == rows


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "many"])
def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(upload.ROWS_VARIABLE, text)
    with pytest.raises(ValueError, match=f"{upload.ROWS_VARIABLE} must be a whole number of at least 1, got '{text}'"):
        upload.most_rows()
