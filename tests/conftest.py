"""What all tests share: which of them can run here, and the fixtures that keep them off the user's own files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from obmc.datasets import DATA_SETS, is_available
from obmc.datasets.registry import find_data_home
from obmc.experiments import draws

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> str | None:
    """The browser named in OBMC_CHROMIUM, else the first one on the path; the same order as in .ci/chromium."""
    names = (os.environ.get("OBMC_CHROMIUM", ""), *BROWSERS)
    return next((found for name in names if name and (found := shutil.which(name))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in DATA_SETS if not is_available(name)]
    reasons = {}
    if missing:
        reasons["data"] = (
            f"{' and '.join(missing)} not in {find_data_home()}: run `python -m obmc fetch-data` or set OBMC_DATA_HOME"
        )
    if find_chromium() is None:
        reasons["browser"] = "no Chromium found: install one or name it in OBMC_CHROMIUM"
    for item in items:
        for marker, reason in reasons.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser, for Playwright's ``executable_path``; for tests marked ``browser``."""
    found = find_chromium()
    assert found is not None, "a test that asks for a browser must carry the marker `browser`"
    return found


@pytest.fixture
def empty_data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home with nothing in it, which ``OBMC_DATA_HOME`` names for the length of the test."""
    home = tmp_path / "data-home"
    home.mkdir()
    monkeypatch.setenv("OBMC_DATA_HOME", str(home))
    # A process keeps the draws it used last; with another data home they would stand for data that are not there.
    draws._kept.cache_clear()
    draws._published.cache_clear()
    return home
