"""What a browser gets of the server besides the pages: plotly.js, and the cookie by which it is known again."""

from __future__ import annotations

import asyncio
import gzip
import re
import secrets
from functools import cache
from pathlib import Path

import plotly
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "obmc_visitor"
_KEY = re.compile(r"[0-9a-f]{32}")
_SCRIPT = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
# With the version in it, so that a browser can keep the file for good.
PLOTLY_PATH = f"/obmc/plotly-{plotly.__version__}.min.js"


async def _plotly(request: Request) -> Response:
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(_SCRIPT, media_type="text/javascript", headers=headers)
    small = await asyncio.to_thread(compressed_plotly)
    return Response(small, media_type="text/javascript", headers={**headers, "Content-Encoding": "gzip"})


@cache
def compressed_plotly() -> bytes:
    """plotly.js, packed once: Streamlit would do so for every visitor, while all others wait for a quarter second."""
    return gzip.compress(_SCRIPT.read_bytes(), mtime=0)


def routes() -> list[Route]:
    """What is served beside the pages."""
    return [Route(_plotly_address(), _plotly)]


def _plotly_address() -> str:
    base = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}{PLOTLY_PATH}" if base else PLOTLY_PATH


class EarlyCharts:
    """Has the browser fetch plotly.js together with a page, and not only when its first chart is there."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._link = (b"link", f"<{_plotly_address()}>; rel=preload; as=script; fetchpriority=low".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def linked(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                message = {**message, "headers": [*message["headers"], self._link]}
            await send(message)

        await self.app(scope, receive, linked if scope["type"] == "http" else send)


class KnownBrowser:
    """Gives each browser a random name in a cookie that no script can read, so that a reload finds its jobs again.

    The name says nothing about anybody, is kept by this server's memory only, and ends with the browser's session.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_key(Request(scope).cookies.get(COOKIE)):
            await self.app(scope, receive, send)
            return

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                cookie = f"{COOKIE}={secrets.token_hex(16)}; Path=/; HttpOnly; SameSite=Lax"
                message = {**message, "headers": [*message["headers"], (b"set-cookie", cookie.encode())]}
            await send(message)

        await self.app(scope, receive, named)


def _is_page(message: Message) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    return headers.get(b"content-type", b"").startswith(b"text/html")


def is_key(text: object) -> bool:
    """Whether a cookie's text is a name that this server may have given."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def middleware() -> list[Middleware]:
    """What looks at every request."""
    return [Middleware(KnownBrowser), Middleware(EarlyCharts)]
