"""Pages take turns, lend theirs while they wait, and never wait for long."""

from __future__ import annotations

import threading

import pytest

from pages.parts import turns
from pages.parts.turns import Turns


def test_one_page_works_at_a_time_and_the_next_begins_when_it_has_ended() -> None:
    place, inside, most, done = Turns(), 0, 0, []
    lock = threading.Lock()

    def page(name: int) -> None:
        nonlocal inside, most
        with place.taken():
            with lock:
                inside += 1
                most = max(most, inside)
            # Long enough for the others to get in, were they let in.
            threading.Event().wait(0.01)
            with lock:
                inside -= 1
            done.append(name)

    threads = [threading.Thread(target=page, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert most == 1 and sorted(done) == list(range(8))


def test_a_turn_is_lent_while_its_page_waits_and_is_free_after_an_error() -> None:
    place, free = Turns(), []

    def other() -> None:
        with place.taken():
            free.append(place._mine.held)

    def run() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(30.0)

    with pytest.raises(RuntimeError), place.taken():
        with place.lent():
            run()
        assert place._mine.held
        raise RuntimeError
    run()
    assert free == [True, True]


def test_nobody_waits_longer_than_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    place, went = Turns(), threading.Event()

    def other() -> None:
        with place.taken():
            # Without a turn of its own there is none to lend, and none to give back.
            with place.lent():
                pass
            went.set()

    with place.taken():
        thread = threading.Thread(target=other)
        thread.start()
        assert went.wait(30.0)
        thread.join(30.0)
        assert place._mine.held
