"""What one visitor uploads is seen by nobody else, and is nowhere but in the server's memory."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import requests
from service_server import ROOT, Server
from service_visitor import Visitor, play

MARK = "qz7marked4vx"


def ratings() -> bytes:
    """A small file of ratings in which every id bears the mark, with what a spreadsheet or a browser would run."""
    lines = ["user,item,rating"]
    for user in range(12):
        lines += [f"{MARK}-u{user},{MARK}-i{item},{1 + (user * item + user) % 5}" for item in range(9)]
    lines += [f'{MARK}-u0,"=HYPERLINK(""http://{MARK}.example"")",5', f"{MARK}-u1,<img src=x onerror={MARK}>,1"]
    return "\n".join(lines).encode()


def archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr(f"../../{MARK}.csv", ratings())
        opened.writestr(f"ml-100k/{MARK}", ratings())
    return packed.getvalue()


@dataclass(frozen=True)
class Place:
    """A page that takes files."""

    page: str
    query: str
    label: str
    name: str
    content: bytes


PLACES = (
    Place("playground", "data=MovieLens-100K&mech=InP", "The zip archive", f"{MARK}.zip", archive()),
    Place("your_ratings", "", "A file of ratings", f"{MARK}.csv", ratings()),
)


def findings(server: Server) -> Iterator[str]:
    """Where the mark is, in the name or the content of any file that the server may have written."""
    for path in server.place.rglob("*"):
        if MARK in path.name:
            yield f"the name {path}"
        if path.is_file() and MARK.encode() in path.read_bytes():
            yield f"the content of {path}"


@pytest.mark.parametrize("place", PLACES, ids=[place.page for place in PLACES])
def test_a_mark_in_an_upload_is_found_nowhere_else(server: Server, place: Place) -> None:
    assert (ROOT / "pages" / f"{place.page}.py").is_file()

    async def story() -> None:
        others = [Visitor(server.address, page, "size=30&obs=0.5&mech=InP") for page in ("", "playground", place.page)]
        async with contextlib.AsyncExitStack() as stack:
            early = [await stack.enter_async_context(other) for other in others]
            visitor = await stack.enter_async_context(Visitor(server.address, place.page, place.query))
            await visitor.upload(place.label, place.name, place.content)
            # Their own page tells of it: so a mark that got anywhere else would be found there.
            await visitor.wait_for(lambda page: any(MARK.encode() in data for data in page.received))
            await visitor.run()
            for other in early:
                await other.run()
                await other.go(place.page)
            late = await stack.enter_async_context(Visitor(server.address, place.page, place.query))
            assert not [other.page for other in [*early, late] if any(MARK.encode() in data for data in other.received)]
            assert visitor.exceptions == late.exceptions == []
            assert list(findings(server)) == []
        for path in ("/", "/_stcore/health", "/_stcore/metrics", "/_stcore/host-config"):
            assert MARK not in requests.get(server.address + path, timeout=60).text

    play(story())
    assert list(findings(server)) == []


def test_an_upload_beyond_the_limit_is_refused_by_the_server_itself(server: Server) -> None:
    async def story() -> None:
        async with Visitor(server.address, "playground", PLACES[0].query) as visitor:
            with pytest.raises(requests.HTTPError, match="413"):
                await visitor.upload("The zip archive", "large.zip", bytes(54_000_000))
            await visitor.run()
            assert visitor.exceptions == []

    play(story())
