"""A worker process: calls functions that its parent sends, one after the other, and sends back what they return.

It is started as a program of its own, not forked and not by ``multiprocessing``: so it never imports the parent's entry
point again (a page script, a notebook, a script without a ``__main__`` guard), and BLAS can be told its number of
threads before numpy is loaded. This module therefore imports nothing but the standard library.

Messages are pickles after an 8-byte length. The first one from the parent is its ``sys.path``.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import struct
import sys
import threading
import time
import traceback
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">Q")
_WATCH_SECONDS = 0.5
NICE = 19


def send(stream: BinaryIO, payload: bytes) -> None:
    """Write one message. ``stream`` may be unbuffered and take a part of it at a time."""
    rest = memoryview(_LENGTH.pack(len(payload)) + payload)
    while rest:
        rest = rest[stream.write(rest) :]
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Read one message; None where the other side is gone."""
    head = _read_exactly(stream, _LENGTH.size)
    return None if head is None else _read_exactly(stream, _LENGTH.unpack(head)[0])


def _read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    parts = []
    while size > 0:
        part = stream.read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def answer(payload: bytes) -> bytes:
    """The pickled (worked, value or exception, traceback) of a pickled (function, arguments, keywords)."""
    try:
        function, arguments, keywords = pickle.loads(payload)
        return pickle.dumps((True, function(*arguments, **keywords), ""), protocol=pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        text = traceback.format_exc()
        try:
            found = pickle.dumps((False, error, text), protocol=pickle.HIGHEST_PROTOCOL)
            # Some exceptions pickle well and fail to unpickle, which the parent could not tell from a broken pipe.
            pickle.loads(found)
        except Exception:
            found = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), text))
        return found


def main() -> None:
    """Serve until the parent closes the pipe or is gone."""
    # An interrupt at the terminal is the parent's to act on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Somebody may be working with this machine, or a server's pages with the rest of it: they come first.
    if hasattr(os, "nice"):
        os.nice(NICE)
    # Whatever a task prints must not get in between the messages.
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    parent = os.getppid()
    received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, received), daemon=True).start()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    sys.path[:] = pickle.loads(received.get())
    while True:
        try:
            send(results, answer(received.get()))
        except OSError:
            # The parent is gone, and there is nobody to say it to.
            os._exit(0)


def _read(stream: BinaryIO, received: queue.SimpleQueue[bytes]) -> None:
    while (payload := receive(stream)) is not None:
        received.put(payload)
    # In the middle of a task too: nobody is left to take its result.
    os._exit(0)


def _watch(parent: int) -> None:
    # The pipe stays open where some other child of the dead parent has inherited its end.
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(0)


def describe(code: Any) -> str:
    """How a worker ended, for a message."""
    if isinstance(code, int) and code < 0:
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"
    return f"with exit code {code}"


if __name__ == "__main__":
    main()
