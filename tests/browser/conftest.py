"""The real server as a process of its own, and a real browser in front of it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from watching import watched

ROOT = Path(__file__).parents[2]
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 90.0
expect.set_options(timeout=PATIENCE * 1000)

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def outgoing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server and its workers write what they reached out for; there is no file as long as that is nothing."""
    return tmp_path_factory.mktemp("outgoing") / "record.txt"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, outgoing: Path) -> Iterator[str]:
    """The address of a dashboard that runs for these tests."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("server") / "log.txt"
    options = ("--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true")
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=ROOT,
            env=watched(outgoing) | {"OBMC_RESULTS": str(log.with_name("results.sqlite3"))},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for(f"{address}/_stcore/health", process, log)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"the server did not start:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Visit]:
    """Open a page of the dashboard in a browser window of its own."""
    contexts = []

    def visited(path: str, width: int = 1280, height: int = 1000, scheme: str = "light") -> Page:
        # Playwright itself evaluates texts as scripts, which the server's policy forbids.
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.outside = []
        page.on("request", lambda request: _note(page, request.url, server))
        page.goto(server + path)
        return page

    yield visited
    for context in contexts:
        context.close()


def _note(page: Page, url: str, server: str) -> None:
    if not url.startswith((server, server.replace("http", "ws", 1), "data:", "blob:")):
        page.outside.append(url)
