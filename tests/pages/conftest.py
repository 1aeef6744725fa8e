"""The pages in Streamlit's own test harness, with a worker thread in place of worker processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from threading import Event

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from obmc.experiments import figures
from obmc.experiments.jobs import JobRunner
from obmc.experiments.store import MemoryStore
from pages.parts import background

MAIN = Path(__file__).parents[2] / "pages" / "main.py"
PATIENCE = 60.0
# The figures whose numbers the tests look at, in boxes that are empty until they are opened.
NUMBERS = ("trade-off", "observation-ratio", "heat-map", "reproduction", "ladder")

Open = Callable[..., AppTest]
Settle = Callable[[AppTest], AppTest]


@pytest.fixture(scope="session", autouse=True)
def one_scan() -> Iterator[None]:
    """Look once for all tests what components the installed packages bring; every harness would do it anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[JobRunner]:
    """The runner that the pages use for the length of the test, with an empty store and without shipped results."""
    monkeypatch.setenv("OBMC_RESULTS", str(tmp_path / "results.sqlite3"))
    monkeypatch.setattr(figures, "shipped_tables", list)
    with ThreadPoolExecutor(1) as executor:
        made = JobRunner(executor, MemoryStore())
        monkeypatch.setattr(background, "JobRunner", lambda store: made)
        st.cache_resource.clear()
        yield made
        made.close()
    st.cache_resource.clear()


@pytest.fixture
def busy(runner: JobRunner) -> Callable[[], AbstractContextManager[None]]:
    """Keep the one worker from doing anything else within a block."""

    @contextmanager
    def blocked() -> Iterator[None]:
        free = Event()
        waits = runner.executor.submit(free.wait, 30)
        try:
            yield
        finally:
            free.set()
        assert waits.result()

    return blocked


@pytest.fixture
def open_page(runner: JobRunner) -> Open:
    """Open a page of the dashboard with these parameters in its address."""

    def opened(page: str | None = None, settle: bool = True, **address: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(MAIN), default_timeout=PATIENCE)
        at.query_params.update(address)
        for name in NUMBERS:
            at.session_state[f"{name}-numbers-open"] = True
        if page is not None:
            at.switch_page(page)
        at.run()
        return settled(at) if settle else at

    return opened


@pytest.fixture
def settle() -> Settle:
    """Run a page until nothing is being computed any more."""
    return settled


def settled(at: AppTest) -> AppTest:
    """Run until nothing is being computed any more; no page may raise."""
    end = time.monotonic() + PATIENCE
    while is_busy(at):
        assert time.monotonic() < end, "the page is still computing"
        time.sleep(0.05)
        at.run()
    assert not at.exception, at.exception[0].value
    return at


def is_busy(at: AppTest) -> bool:
    return any("Computing" in info.value or "Waiting" in info.value for info in at.info) or any(
        button.label == "Cancel" for button in at.button
    )
