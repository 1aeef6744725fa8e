"""What the tests give workers to do: nothing that takes long to import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def process_id() -> int:
    """The worker that was given this."""
    return os.getpid()


def blas_threads() -> list[int]:
    """The threads of every BLAS that is loaded."""
    import numpy  # noqa: F401
    import threadpoolctl

    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


def pause(seconds: float, value: int = 0) -> int:
    """Take this long."""
    time.sleep(seconds)
    return value


def die() -> None:
    """End the worker as the system's out-of-memory killer would."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(mark: str) -> int:
    """End the worker the first time."""
    if not Path(mark).exists():
        Path(mark).touch()
        die()
    return os.getpid()


def fail() -> None:
    """Raise."""
    raise ValueError("rank must be smaller.")


def say(text: str) -> str:
    """Print to where a careless task prints."""
    print(text, flush=True)
    return text


class Unpicklable(Exception):
    """Pickles, but cannot be unpickled."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def fail_unpicklably() -> None:
    """Raise what does not survive the way back."""
    raise Unpicklable(1, 2)
