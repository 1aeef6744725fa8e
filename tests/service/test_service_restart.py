"""A server that is killed and started again: what was finished is there, and the page goes on."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable

from service_server import Server
from service_visitor import Visitor, play

SWEEP = "draws=3&points=2&range=4&range=9&size=30&obs=0.5"


def test_a_killed_server_comes_back_with_what_was_finished(make_server: Callable[..., Server]) -> None:
    server = make_server()
    names: list[str] = []

    async def before() -> None:
        async with Visitor(server.address, "", SWEEP) as visitor:
            await visitor.compute()
            # Another one is in the middle when the server is killed.
            other = Visitor(server.address, "", f"{SWEEP}&seed=1&draws=100")
            async with other:
                await other.click("Compute")
                await asyncio.to_thread(wait_for_runs, server, server.runs()[0] + 5)
                await asyncio.to_thread(server.end, signal.SIGKILL)
            names.append(visitor.session)

    play(before())
    finished, different = server.runs()
    assert finished == different > 20
    server.start()

    async def after() -> None:
        # A browser connects again by itself, with the name of a session that is no more and the address that it shows.
        async with Visitor(server.address, "", SWEEP, session=names[0]) as visitor:
            if visitor.has_button("Compute"):
                await visitor.compute()
            assert visitor.exceptions == []

    play(after())
    # What had been computed before was not computed again.
    assert server.runs() == (finished, different)


def wait_for_runs(server: Server, count: int) -> None:
    end = time.monotonic() + 60.0
    while server.runs()[0] < count:
        assert time.monotonic() < end, "the runs do not come"
        time.sleep(0.1)
