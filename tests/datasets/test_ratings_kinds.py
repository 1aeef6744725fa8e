"""Every kind of file in ratings_files/ is read as it should be, or refused with the sentence it should have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings

FOLDER = Path(__file__).parent / "ratings_files"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def _named(case: dict[str, Any]) -> str:
    return str(case["file"])


@pytest.mark.parametrize("case", [case for case in CASES if "error" not in case], ids=_named)
def test_file_is_read(case: dict[str, Any]) -> None:
    table = read_ratings(FOLDER / case["file"])
    signs = table.binarize("mean").signs
    found = (table.n_users, table.n_items, table.n_ratings, int((signs > 0).sum()), table.n_rows_dropped)
    assert found == tuple(case[name] for name in ("n_users", "n_items", "n_ratings", "n_positive", "n_dropped"))
    assert table.mean == pytest.approx(case["mean"], abs=1e-12)
    if case["note"]:
        assert any(case["note"] in note for note in table.notes), table.notes
    else:
        assert table.notes == ()


@pytest.mark.parametrize("case", [case for case in CASES if "error" in case], ids=_named)
def test_wrong_file_is_refused_in_one_sentence(case: dict[str, Any]) -> None:
    with pytest.raises(RatingsError) as refused:
        read_ratings(FOLDER / case["file"]).binarize("mean")
    message = str(refused.value)
    assert case["error"] in message
    assert message.endswith(".") and "\n" not in message and len(message) > 20


def test_every_file_has_an_expectation() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.is_file() and path.name not in ("make.py", "expected.json")}
    assert files == {case["file"] for case in CASES}
