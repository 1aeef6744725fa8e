"""The shared collection of files that people bring, where it is at hand: OBMC_CASES, or ../shared/cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.ratings_table import RatingsTable

ROOT = Path(__file__).parents[2]
HOME = Path(os.environ.get("OBMC_CASES", ROOT.parent / "shared" / "cases"))
ABSENT = f"no cases_open.json in {HOME}: name the folder of the cases in OBMC_CASES"
LISTS = sorted(HOME.glob("cases*.json"))
CASES: list[dict[str, Any]] = [case for path in LISTS for case in json.loads(path.read_text(encoding="utf-8"))]
FILES = [case for case in CASES if case["file"] and not case["file"].endswith(".py")]
GENERATED = {case["id"]: case for case in CASES if case["file"] and case["file"].endswith(".py")}

pytestmark = pytest.mark.skipif(not CASES, reason=ABSENT)


def outcome(source: Path) -> tuple[str, dict[str, Any], RatingsTable | None]:
    """What becomes of a file, in the words of the collection."""
    try:
        table = read_ratings(source)
        signs = table.binarize("mean").signs
    except RatingsError as error:
        message = str(error)
        assert message.endswith(".") and "\n" not in message
        return "clear_error", {}, None
    found = {
        "n_users": table.n_users,
        "n_items": table.n_items,
        "n_ratings": table.n_ratings,
        "n_positive": int((signs > 0).sum()),
        "mean_rating": table.mean,
        "n_equal_to_mean": table.n_equal("mean"),
        "n_rows_dropped": table.n_rows_dropped,
    }
    return "ok_with_warning" if table.notes else "ok", found, table


def matches(found: dict[str, Any], right: dict[str, Any]) -> bool:
    """Every number that the reading names is the one found; null means not checked."""
    return right.get("n_ratings") is not None and all(
        right.get(name) is None or abs(value - right[name]) <= 1e-6 for name, value in found.items()
    )


@pytest.mark.parametrize("case", FILES, ids=lambda case: f"{case['id']} {case['kind']}")
def test_file_is_read_as_the_collection_says(case: dict[str, Any]) -> None:
    expectation = case["expectation"]
    what, found, table = outcome(HOME / case["file"])
    assert what in expectation["accept_outcomes"], table.notes if table else what
    if table is not None:
        others = [other for other in expectation.get("alternatives", []) if "WRONG" not in other["policy"]]
        assert any(matches(found, right) for right in (expectation, *others)), found
        for check in case.get("threshold_checks", []):
            if check["outcome"] == "clear_error":
                with pytest.raises(RatingsError):
                    table.binarize(check["threshold"])
            else:
                assert int((table.binarize(check["threshold"]).signs > 0).sum()) == check["n_positive"]


MEASURE = """
import pathlib, re, sys
from obmc.datasets.ratings_file import read_ratings
table = read_ratings(sys.argv[1])
# Not by getrusage, which counts the memory of the process that started this one as well.
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
print(table.n_users, table.n_items, table.n_ratings, table.n_above(), round(table.mean, 6), len(table.notes), peak)
"""


def generate_and_measure(number: str, folder: Path) -> tuple[dict[str, Any], list[float]]:
    case = GENERATED[number]
    file = folder / "ratings.csv"
    subprocess.run([sys.executable, str(HOME / case["file"]), str(file)], check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(file)], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return case["expectation"], [float(word) for word in done.stdout.split()]


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is told by /proc")


@needs_proc
def test_a_million_rows_in_little_memory(tmp_path: Path) -> None:
    right, found = generate_and_measure("76", tmp_path)
    assert found[:5] == [right[name] for name in ("n_users", "n_items", "n_ratings", "n_positive", "mean_rating")]
    assert found[6] <= 600


@pytest.mark.evidence
@needs_proc
def test_twenty_five_million_rows_in_8_gb(tmp_path: Path) -> None:
    right, found = generate_and_measure("78", tmp_path)
    assert found[:5] == [right[name] for name in ("n_users", "n_items", "n_ratings", "n_positive", "mean_rating")]
    assert found[5] > 0 and found[6] <= 8192
