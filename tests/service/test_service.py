"""The real server under many visitors, rude ones among them, and when it is killed. The long form is the evidence."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable

import pytest
import requests
from service_server import Server, is_alive
from service_visitor import Visitor, play
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed, InvalidStatus

SMALL = "size=30&obs=0.5"
SWEEP = f"draws=3&points=2&range=4&range=8&{SMALL}"
LONG = f"draws=100&points=20&{SMALL}"


# Load -----------------------------------------------------------------------------------------------------------------


def test_visitors_together_get_answers_and_no_exception(server: Server) -> None:
    async def one(order: int) -> None:
        epsilons = [1.0, 2.0, 4.0]
        async with Visitor(server.address, "playground", f"mech=InP&{SMALL}") as visitor:
            await visitor.wait_for("The solver")
            for turn in range(3):
                await visitor.set("eps", double_value=epsilons[(order + turn) % 3])
                await visitor.wait_for("The solver")
            await visitor.go("")
            assert visitor.sees("Trade-off")
            assert visitor.exceptions == []

    async def sweeper(order: int) -> None:
        async with Visitor(server.address, "", f"{SWEEP}&seed={order}") as visitor:
            await visitor.compute()
            assert visitor.exceptions == []

    async def story() -> None:
        await asyncio.gather(*(one(order) for order in range(5)), *(sweeper(order) for order in range(3)))

    play(story())


def test_a_session_is_taken_up_again_where_it_was(server: Server) -> None:
    async def story() -> None:
        async with Visitor(server.address, "playground", f"mech=InP&{SMALL}") as visitor:
            await visitor.set("eps", double_value=3.3)
            name = visitor.session
        again = Visitor(server.address, "playground", "", session=name)
        async with again:
            assert again.session == name
            assert again.sees("Epsilon is 3.3.")
            assert again.exceptions == []

    play(story())


# Rude visitors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [{"clear_cache": True}, {"load_git_info": True}, {"set_run_on_save": True}])
def test_no_visitor_commands_the_server(server: Server, command: dict[str, bool]) -> None:
    async def story() -> None:
        async with Visitor(server.address, "", LONG) as worker, Visitor(server.address, "", SMALL) as rude:
            await worker.click("Compute")
            await worker.wait_for(lambda page: page.has_button("Cancel"))
            children = server.children()
            seen = len(rude.received)
            await rude.send(**command)
            await rude.run()
            kinds = [found for found in rude.received[seen:] if b"uncommitted" in found]
            assert kinds == []
            # The job of the other is there still, in the same worker.
            await worker.run()
            assert worker.has_button("Cancel")
            assert server.children() == children
            await worker.click("Cancel")
            assert worker.exceptions == rude.exceptions == []

    play(story())


@pytest.mark.parametrize(
    "query",
    [
        "eps=banana&alpha=%00&seed=1e400&size=-inf&rank=nan&draws=inf&points=1e999&data=../../etc/passwd",
        "seed=1e300&rank=-1e300&draws=1e300&size=1e300&eps=1e300",
        "eps=" + "9" * 100_000,
        "&".join(f"x{count}={count}" for count in range(20_000)),
        "mech=%3Cscript%3Ealert(1)%3C/script%3E&eps=1%0D%0ASet-Cookie:a=b",
        "mech=InP&mech=ObjP&eps=2&eps=3",
        "%ff%fe%00=%ff&eps=%",
    ],
    ids=["wrong", "large", "long", "many", "script", "twice", "bytes"],
)
def test_no_address_breaks_a_page(server: Server, query: str) -> None:
    async def story() -> None:
        for page in ("", "playground"):
            async with Visitor(server.address, page, query) as visitor:
                assert visitor.sees("Trade-off" if page == "" else "Playground")
                assert visitor.exceptions == []
                assert all(len(text) < 5_000 for text in visitor.texts())

    play(story())


def test_a_path_that_does_not_exist_or_is_huge_is_answered(server: Server) -> None:
    for path in ("/no/such/page", "/..%2f..%2fetc/passwd", "/media/../../etc/passwd", "/_stcore/agent/openapi.json"):
        answer = requests.get(server.address + path, timeout=30)
        assert "root:" not in answer.text
    # One that no server would read is cut off.
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as raw, contextlib.suppress(OSError):
        raw.sendall(b"GET /?eps=" + b"9" * 1_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        got = raw.recv(100)
        assert got == b"" or got.startswith(b"HTTP/1.1 4")
    assert requests.get(f"{server.address}/_stcore/health", timeout=30).text == "ok"


def test_an_old_tab_after_an_upgrade_is_served(server: Server) -> None:
    async def story() -> None:
        old = Visitor(server.address, "", SMALL, session="00000000-0000-0000-0000-000000000000")
        # What it last knew: widgets and a page that are no more, values that are no longer allowed.
        for name, value in (
            ("$$ID-0123456789abcdef-gone", {"string_value": "x"}),
            ("$$ID-0123456789abcdef-eps", {"double_value": 1e300}),
        ):
            old._states[name] = WidgetState(id=name, **value)
        old._page_hash = "0123456789abcdef"
        async with old:
            assert old.session != "00000000-0000-0000-0000-000000000000"
            assert old.sees("Trade-off")
            assert old.exceptions == []

    play(story())


def test_values_outside_a_widgets_limits_are_no_traceback(server: Server) -> None:
    async def story() -> None:
        async with Visitor(server.address, "playground", f"mech=InP&{SMALL}") as visitor:
            name = visitor.widget("eps").id
            for value in (1e300, -1.0, float("nan")):
                visitor._states[name] = WidgetState(id=name, double_value=value)
                await visitor.run()
                assert visitor.exceptions == []
            visitor._states[name] = WidgetState(id=name, double_value=2.0)
            await visitor.run()
            assert visitor.sees("Epsilon is 2.")

    play(story())


def test_nonsense_on_the_wire_ends_the_connection_and_nothing_else(server: Server) -> None:
    async def story() -> None:
        async with Visitor(server.address, "playground", SMALL) as neighbour:
            for nonsense in (b"\xff" * 1000, "text"):
                rude = Visitor(server.address, "", SMALL)
                await rude.open()
                assert rude.socket is not None
                await rude.socket.send(nonsense)
                with pytest.raises(ConnectionClosed):
                    async with asyncio.timeout(30):
                        while True:
                            await rude.socket.send(b"")
                            await asyncio.sleep(0.05)
                await rude.close()
            await neighbour.run()
            assert neighbour.exceptions == []

    play(story())
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as raw:
        raw.sendall(b"GARBAGE\r\n\r\n\x00\x01\x02")
        assert raw.recv(100).startswith(b"HTTP/1.1 400")


# What the server tells browsers and takes from them -------------------------------------------------------------------


def test_protective_headers_come_with_every_answer(server: Server) -> None:
    for path in ("/", "/playground", "/_stcore/health", "/no/such/page", "/static/js/none.js"):
        headers = requests.get(server.address + path, timeout=30).headers
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'self'" in policy
        assert "object-src 'none'" in policy
        assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
        assert "unsafe-eval" not in policy.replace("wasm-unsafe-eval", "")
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert "evil" not in requests.get(server.address, headers={"Host": "evil;x"}, timeout=30).headers.get(
        "content-security-policy", ""
    )


def test_a_page_has_plotly_fetched_with_it(server: Server) -> None:
    page = requests.get(f"{server.address}/playground", timeout=30)
    found = page.links["preload"]
    assert found["as"] == "script"
    script = requests.get(f"{server.address}{found['url']}", timeout=30)
    assert script.ok and script.headers["content-type"].startswith("text/javascript") and "plotly.js v" in script.text
    assert script.headers["content-encoding"] == "gzip"
    whole = requests.get(f"{server.address}{found['url']}", headers={"Accept-Encoding": "identity"}, timeout=30)
    assert "content-encoding" not in whole.headers and whole.text == script.text
    assert "link" not in requests.get(f"{server.address}/_stcore/health", timeout=30).headers


def test_another_site_gets_no_session_and_no_upload_without_the_token(server: Server) -> None:
    async def story() -> None:
        visitor = Visitor(server.address, "playground", SMALL)
        async with visitor:
            await visitor.send(
                file_urls_request={"request_id": "1", "file_names": ["a.csv"], "session_id": visitor.session}
            )
            async with asyncio.timeout(30):
                url = (await visitor._answers.get()).file_urls_response.file_urls[0].upload_url
            files = {"file": ("a.csv", b"1,2,3")}
            assert requests.put(server.address + url, files=files, timeout=30).status_code == 403
            other = requests.put(server.address + url, files=files, cookies={"_streamlit_xsrf": "x"}, timeout=30)
            assert other.status_code == 403
        with pytest.raises(InvalidStatus, match="403"):
            stranger = Visitor(server.address, "", SMALL)
            stranger.origin = "https://evil.example.org"
            await stranger.open()

    play(story())


def test_nothing_for_developers_is_open(server: Server) -> None:
    assert requests.get(f"{server.address}/_stcore/agent/openapi.json", timeout=30).status_code == 404 or not (
        requests.post(f"{server.address}/_stcore/agent/sessions", json={}, timeout=30).ok
    )
    assert not requests.get(f"{server.address}/app/static/app.py", timeout=30).text.startswith('"""')


# Ends and new starts --------------------------------------------------------------------------------------------------


def test_a_start_says_where_to_look_and_nothing_that_reads_like_an_error(make_server: Callable[..., Server]) -> None:
    server = make_server()
    said = [line.strip() for line in server.log.read_text().splitlines() if line.strip()]
    assert [line.partition(":")[0] for line in said] == ["You can now view your Streamlit app in your browser.", "URL"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_with_all_it_started_while_jobs_run(
    make_server: Callable[..., Server], how: signal.Signals
) -> None:
    server = make_server()

    async def story() -> None:
        async with Visitor(server.address, "", LONG) as visitor, Visitor(server.address, "playground", SMALL):
            await visitor.click("Compute")
            await visitor.wait_for(lambda page: page.has_button("Cancel"))
            children = server.children()
            assert children
            await asyncio.to_thread(server.end, how)
            assert not any(is_alive(pid) for pid in children)

    play(story())
    assert "Traceback" not in server.log.read_text()
