"""What a page has stopped waiting for is ended, unless it waits for the same in another place."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

from pages.parts.waiting import _Asked, _outdated


def asked(key: str, since: float = 0.0) -> _Asked:
    future: Future = Future()
    future.set_running_or_notify_cancel()
    return _Asked(key, SimpleNamespace(key=key, future=future), since)


def test_a_call_that_one_place_has_left_is_kept_for_the_other() -> None:
    kept = {"run": asked("clear"), "clear": asked("clear")}
    assert _outdated(kept, "run", "inp") is None
    # The second place leaves it, too: now nobody waits for it.
    kept["run"] = asked("inp")
    assert _outdated(kept, "clear", "other") == "clear"


def test_what_is_wanted_still_or_has_just_begun_is_not_ended() -> None:
    assert _outdated({}, "run", "inp") is None
    assert _outdated({"run": asked("inp")}, "run", "inp") is None
    assert _outdated({"run": asked("inp", since=float("inf"))}, "run", "objp") is None
