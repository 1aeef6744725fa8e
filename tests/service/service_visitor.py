"""A visitor without a browser: speaks Streamlit's own protocol over a websocket, so that dozens of them are cheap."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import requests
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

PATIENCE = 180.0


def play(story: Coroutine[Any, Any, None]) -> None:
    """Run what visitors do, in a thread of its own: the browser tests' loop may be running in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, story).result()


class Visitor:
    """One open tab: what it shows, its widgets, and what it does."""

    def __init__(self, address: str, page: str = "", query: str = "", session: str = "") -> None:
        self.address = address
        self.origin = address
        self.page = page
        self.query = query
        self.session = session
        # Everything that the server ever sent, for a search.
        self.received: list[bytes] = []
        self.elements: dict[tuple[int, ...], Element] = {}
        self.exceptions: list[str] = []
        self.runs = 0
        self._states: dict[str, WidgetState] = {}
        self._fragments: dict[str, float] = {}
        self._fresh_fragments: dict[str, float] = {}
        self._page_hash = ""
        self._fresh: dict[tuple[int, ...], Element] = {}
        self._finished = asyncio.Event()
        self._answers: asyncio.Queue[ForwardMsg] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self.socket: ClientConnection | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect, under the session's name if there is one, and run the page."""
        host = self.address.removeprefix("http://")
        protocols = ["streamlit", "no-token", *([self.session] if self.session else [])]
        self.socket = await connect(
            f"ws://{host}/_stcore/stream",
            subprotocols=protocols,
            origin=self.origin,
            max_size=None,
            compression=None,
            ping_interval=None,
        )
        self._tasks = [asyncio.create_task(self._listen(self.socket)), asyncio.create_task(self._look_again())]
        await self.run()

    async def close(self) -> None:
        """Close the tab."""
        for task in self._tasks:
            task.cancel()
        if self.socket is not None:
            await self.socket.close()

    # What it does -------------------------------------------------------------------------------------------------

    async def run(self, fragment: str = "") -> float:
        """Have the page run and wait for its end; returns the seconds."""
        self._finished.clear()
        started = time.monotonic()
        await self.send(rerun_script=self._state(fragment))
        async with asyncio.timeout(PATIENCE):
            await self._finished.wait()
        return time.monotonic() - started

    async def set(self, key: str, **value: Any) -> float:
        """Move the widget of this key, as in ``set("eps", double_value=2.0)``, and run the page."""
        name = self.widget(key).id
        state = WidgetState(id=name)
        for field, found in value.items():
            if isinstance(found, list):
                getattr(state, field).data.extend(found)
            else:
                setattr(state, field, found)
        self._states[name] = state
        return await self.run()

    async def click(self, label: str) -> float:
        """Press the button whose label starts like this."""
        button = next(part.button for part in self.elements.values() if part.button.label.startswith(label))
        self._states[button.id] = WidgetState(id=button.id, trigger_value=True)
        try:
            return await self.run()
        finally:
            del self._states[button.id]

    async def go(self, page: str) -> float:
        """Change to another page, named as in the address; "" is the first one."""
        self.page, self._page_hash = page, ""
        return await self.run()

    async def send(self, **message: Any) -> None:
        """Send a message of the protocol."""
        assert self.socket is not None
        await self.socket.send(BackMsg(**message).SerializeToString())

    async def upload(self, label: str, name: str, content: bytes) -> float:
        """Give a file to the uploader with this label and run the page."""
        uploader = next(
            part.file_uploader for part in self.elements.values() if part.file_uploader.label.startswith(label)
        )
        await self.send(file_urls_request={"request_id": "1", "file_names": [name], "session_id": self.session})
        async with asyncio.timeout(PATIENCE):
            found = (await self._answers.get()).file_urls_response.file_urls[0]
        await asyncio.to_thread(self._put, found.upload_url, name, content)
        state = WidgetState(id=uploader.id)
        info = state.file_uploader_state_value.uploaded_file_info.add(file_id=found.file_id, name=name)
        info.size = len(content)
        info.file_urls.CopyFrom(found)
        self._states[uploader.id] = state
        return await self.run()

    def _put(self, path: str, name: str, content: bytes) -> None:
        token = requests.get(f"{self.address}/_stcore/health", timeout=PATIENCE).cookies["_streamlit_xsrf"]
        answer = requests.put(
            self.address + path,
            files={"file": (name, content)},
            headers={"X-Xsrftoken": token},
            cookies={"_streamlit_xsrf": token},
            timeout=PATIENCE,
        )
        answer.raise_for_status()

    # What it sees -------------------------------------------------------------------------------------------------

    def widget(self, key: str) -> Any:
        """The widget of this key."""
        for part in self.elements.values():
            found = getattr(part, part.WhichOneof("type"))
            if getattr(found, "id", "").endswith(f"-{key}"):
                return found
        raise AssertionError(f"there is no widget {key} on {self.page or 'the first page'}: {list(self.texts())}")

    def texts(self) -> Iterator[str]:
        """What is written on the page."""
        for part in self.elements.values():
            kind = part.WhichOneof("type")
            found = getattr(part, kind)
            for field in ("body", "label", "text", "value"):
                text = getattr(found, field, "")
                if isinstance(text, str) and text:
                    yield text

    def sees(self, text: str) -> bool:
        """Whether this is written on the page."""
        return any(text in found for found in self.texts())

    def has_button(self, label: str) -> bool:
        """Whether there is a button whose label starts like this."""
        return any(part.WhichOneof("type") == "button" and part.button.label.startswith(label) for part in self.shown)

    @property
    def shown(self) -> list[Element]:
        return list(self.elements.values())

    async def wait_for(self, wanted: str | Callable[[Self], object], seconds: float = PATIENCE) -> None:
        """Wait until this is written on the page, or true of it; the page goes on by itself."""
        try:
            async with asyncio.timeout(seconds):
                while not (self.sees(wanted) if isinstance(wanted, str) else wanted(self)):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{wanted!r} did not come; the page says {list(self.texts())}") from None

    async def compute(self) -> None:
        """Have the page's sweep computed and wait for its end."""
        await self.click("Compute")
        await self.wait_for(lambda page: not page.has_button("Cancel"))

    # Inside -------------------------------------------------------------------------------------------------------

    def _state(self, fragment: str) -> ClientState:
        state = ClientState(query_string=self.query, fragment_id=fragment, is_auto_rerun=bool(fragment))
        if self._page_hash:
            state.page_script_hash = self._page_hash
        else:
            state.page_name = self.page
        for found in self._states.values():
            state.widget_states.widgets.add().CopyFrom(found)
        return state

    async def _listen(self, socket: ClientConnection) -> None:
        async for data in socket:
            assert isinstance(data, bytes)
            self.received.append(data)
            self._take(ForwardMsg.FromString(data))

    async def _look_again(self) -> None:
        """What a browser does for parts of a page that run by themselves."""
        due: dict[str, float] = {}
        while True:
            await asyncio.sleep(0.05)
            now = time.monotonic()
            due = {name: due.get(name, now + every) for name, every in self._fragments.items()}
            for name, moment in due.items():
                if now >= moment and self._finished.is_set():
                    due[name] = now + self._fragments[name]
                    await self.send(rerun_script=self._state(name))

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
            self._fresh, self._fresh_fragments = {}, {}
        elif kind == "navigation":
            self._page_hash = message.navigation.page_script_hash
        elif kind == "delta":
            self._draw(message)
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self._fresh_fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "file_urls_response":
            self._answers.put_nowait(message)
        elif kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.elements, self._fragments = self._fresh, self._fresh_fragments
                self.runs += 1
                self._finished.set()
            elif message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                self.exceptions.append("the page does not compile")
                self._finished.set()

    def _draw(self, message: ForwardMsg) -> None:
        if message.delta.WhichOneof("type") != "new_element":
            return
        path, part = tuple(message.metadata.delta_path), message.delta.new_element
        if part.WhichOneof("type") is None:
            return
        if part.WhichOneof("type") == "exception":
            self.exceptions.append(f"{part.exception.type}: {part.exception.message}")
        self._fresh[path] = part
        if message.delta.fragment_id:
            self.elements[path] = part
