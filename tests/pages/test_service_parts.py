"""What surrounds the pages: what is taken from visitors, who may frame the dashboard, and a log without data."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.parts import service

ROOT = Path(__file__).parents[2]


def received(**message: object) -> dict[str, object]:
    return {"type": "websocket.receive", "bytes": BackMsg(**message).SerializeToString()}


@pytest.mark.parametrize("name", service.REFUSED)
def test_commands_that_no_page_needs_are_dropped(name: str) -> None:
    assert service.mended(received(**{name: True})) is None


def test_everything_else_comes_through_as_it_is() -> None:
    for message in (
        received(rerun_script={"query_string": "eps=2&mech=InP"}),
        received(app_heartbeat=True),
        {"type": "websocket.connect"},
        {"type": "websocket.receive", "text": "hello"},
        {"type": "websocket.receive", "bytes": b"\xff" * 20},
    ):
        assert service.mended(message) is message


def test_numbers_that_are_not_finite_are_marked_in_an_address() -> None:
    message = service.mended(received(rerun_script={"query_string": "seed=1e400&eps=2&x=&size=-inf&rank=nan"}))
    assert message is not None
    query = BackMsg.FromString(message["bytes"]).rerun_script.query_string
    assert query == "seed=1e400%3F&eps=2&x=&size=-inf%3F&rank=nan%3F"
    assert service.mended_query("seed=1e300") == "seed=1e300"


def test_frames_are_the_own_sites_and_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OBMC_FRAMES", raising=False)
    assert service.frame_ancestors() == "'self'"
    monkeypatch.setenv("OBMC_FRAMES", "https://moodle.example.org  https://*.example.com:8443")
    assert service.frame_ancestors() == "'self' https://moodle.example.org https://*.example.com:8443"
    for wrong in ("moodle.example.org", "https://x; script-src *", "https://a/b", "*"):
        monkeypatch.setenv("OBMC_FRAMES", wrong)
        with pytest.raises(SystemExit, match="OBMC_FRAMES must list sites such as"):
            service.frame_ancestors()


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made, hook = logging.getLogRecordFactory(), threading.excepthook
    monkeypatch.delenv("OBMC_LOG_MESSAGES", raising=False)
    service.keep_data_out_of_the_log()
    yield
    logging.setLogRecordFactory(made)
    threading.excepthook = hook


def test_an_error_is_logged_by_type_and_place_only(
    quiet: None, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        try:
            int("secret rating")
        except ValueError as error:
            raise KeyError("secret title") from error

    try:
        fail()
    except KeyError:
        logging.getLogger("streamlit.test").exception("A page failed")
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    for text in (caplog.text, capsys.readouterr().err):
        assert "KeyError (its message is not logged" in text
        assert "in fail" in text
        assert "secret" not in text


def test_whoever_looks_for_a_fault_has_the_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    made = logging.getLogRecordFactory()
    monkeypatch.setenv("OBMC_LOG_MESSAGES", "1")
    service.keep_data_out_of_the_log()
    assert logging.getLogRecordFactory() is made


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("OBMC_FRAMES", "nonsense", "OBMC_FRAMES must list sites such as https://moodle.example.org"),
        ("OBMC_UPLOAD_ROWS", "2e6", "OBMC_UPLOAD_ROWS must be a whole number of at least 1, got '2e6'"),
    ],
)
def test_a_wrong_setting_is_a_sentence_at_the_start(name: str, value: str, sentence: str) -> None:
    code = f"import os; os.environ[{name!r}] = {value!r}; import app"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
