"""How the server is run: protective headers, a log without data, workers that start and end with it.

The launcher hands these to ``st.App``; no page uses them.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import math
import os
import re
import sys
import threading
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from obmc.upload import most_rows
from pages.parts import background, server

# Messages of Streamlit's own protocol that no page needs: the first empties the caches of all visitors, the second
# tells anybody the names of files in the server's folder that are not in version control, the third is for developers.
REFUSED = ("clear_cache", "load_git_info", "set_run_on_save")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9*.-]+(:\d{1,5})?")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?")


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """The runner's workers start with the server, so that the first visitor need not wait for them, and end with it."""
    try:
        runner = await asyncio.to_thread(background.runner)
        await asyncio.to_thread(server.compressed_plotly)
    except (ValueError, OSError) as error:
        # A setting that is wrong, such as the address of a scheduler that does not answer.
        raise SystemExit(str(error)) from None
    try:
        yield
    finally:
        runner.close()


def middleware() -> list[Middleware]:
    """What looks at every request. Ends the program with a sentence where a setting is wrong."""
    try:
        most_rows()
    except ValueError as error:
        raise SystemExit(str(error)) from None
    return [Middleware(Shield, frames=frame_ancestors())]


class Shield:
    """Adds protective headers to every answer, drops the messages named in ``REFUSED``, and mends addresses."""

    def __init__(self, app: ASGIApp, frames: str) -> None:
        self._app = app
        self._frames = frames
        self._scripts = _inline_scripts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                added = [(name, text) for name, text in self._headers(scope) if name not in known]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        async def received() -> Message:
            while (message := mended(await receive())) is None:
                pass
            return message

        if scope["type"] == "websocket":
            await self._app(scope, received, send)
        else:
            await self._app(scope, receive, sent)

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1")
        sockets = f" ws://{host} wss://{host}" if _HOST.fullmatch(host) else ""
        policy = (
            # Streamlit makes styles as it draws, and its components come as blobs.
            f"default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval'{self._scripts}; "
            "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
            f"media-src 'self' data: blob:; worker-src 'self' blob:; connect-src 'self' data: blob:{sockets}; "
            "frame-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
            f"frame-ancestors {self._frames}"
        )
        headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            # An address holds settings; where a link leads need not know them.
            "referrer-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        }
        if self._frames == "'self'":
            # For browsers that know no policy. It cannot name other sites.
            headers["x-frame-options"] = "SAMEORIGIN"
        return [(name.encode(), text.encode("latin-1")) for name, text in headers.items()]


def mended(message: Message) -> Message | None:
    """A message of a visitor as the pages can take it; None for one that no page needs."""
    data = message.get("bytes") if message["type"] == "websocket.receive" else None
    if not data:
        return message
    try:
        found = BackMsg.FromString(data)
    except Exception:  # Protobuf's own; Streamlit says no to such a message in its own way.
        return message
    if found.WhichOneof("type") in REFUSED:
        return None
    query = found.rerun_script.query_string
    if (readable := mended_query(query)) == query:
        return message
    found.rerun_script.query_string = readable
    return {**message, "bytes": found.SerializeToString()}


def mended_query(query: str) -> str:
    """The parameters of an address with a question mark after numbers that are not finite.

    Streamlit makes a whole number of such a one before any page can look at it, and fails.
    """
    pairs = parse_qsl(query, keep_blank_values=True, errors="replace")
    if all(_is_finite(text) for _, text in pairs):
        return query
    return urlencode([(name, text if _is_finite(text) else f"{text}?") for name, text in pairs])


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return True


def frame_ancestors() -> str:
    """Who may show the dashboard in a frame: its own site, and those that ``OBMC_FRAMES`` names.

    Ends the program with a sentence where that is not a list of sites.
    """
    origins = os.environ.get("OBMC_FRAMES", "").split()
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise SystemExit(
                f"OBMC_FRAMES must list sites such as https://moodle.example.org, separated by spaces, got {origin!r}."
            )
    return " ".join(["'self'", *origins])


def _inline_scripts() -> str:
    """The hashes of the scripts that stand in Streamlit's own page; the policy refuses all others of that kind."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    texts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return "".join(f" 'sha256-{found}'" for found in hashes)


# The log --------------------------------------------------------------------------------------------------------------


def keep_data_out_of_the_log() -> None:
    """Have every error logged by its type and by where it came up, without its message.

    A message may quote a value of an uploaded file. What a visitor has to know of an error, the page says. Whoever
    looks for a fault in the program, on a machine of their own, sets ``OBMC_LOG_MESSAGES`` to 1 and has them.
    """
    if os.environ.get("OBMC_LOG_MESSAGES") == "1":
        return
    made = logging.getLogRecordFactory()

    def record(*args: object, **kwargs: object) -> logging.LogRecord:
        found = made(*args, **kwargs)
        if found.exc_info and found.exc_info[0] is not None:
            # A formatter takes this text as it is.
            found.exc_text = describe(found.exc_info[0], found.exc_info[2])
        return found

    logging.setLogRecordFactory(record)
    threading.excepthook = lambda args: print(describe(args.exc_type, args.exc_traceback), file=sys.stderr)


def describe(kind: type[BaseException], trace: TracebackType | None) -> str:
    """An error's type and the places that it passed, without a word of what it says."""
    found = traceback.extract_tb(trace)
    places = [f'  File "{place.filename}", line {place.lineno}, in {place.name}' for place in found]
    return "\n".join([*places, f"{kind.__name__} (its message is not logged: it could quote a visitor's data)"])
