"""The real server on loopback, a process of its own, with folders of its own for everything that it could write."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
PATIENCE = 180.0


class Server:
    """A dashboard that can be started, killed and started again in the same place and on the same port."""

    def __init__(self, place: Path, **environment: str) -> None:
        self.place = place
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = place / "log.txt"
        self.results = place / "results" / "results.sqlite3"
        folders = {"HOME": "home", "TMPDIR": "tmp", "OBMC_DATA_HOME": "data", "XDG_CACHE_HOME": "cache"}
        for name in folders.values():
            (place / name).mkdir(parents=True, exist_ok=True)
        self.environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith(("OBMC_", "STREAMLIT_", "XDG_"))},
            **{name: str(place / folder) for name, folder in folders.items()},
            "OBMC_RESULTS": str(self.results),
            "OPENBLAS_NUM_THREADS": "1",
            # Byte code goes where no file of this run is searched for.
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "streamlit", "run", "app.py"]
        options = ["--server.port", str(self.port), "--server.address", "127.0.0.1", "--server.headless", "true"]
        with self.log.open("a") as out:
            self.process = subprocess.Popen(
                [*command, *options],
                cwd=ROOT,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                # Where the tests run in the background of a shell, an interrupt would be ignored in the child too.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(URLError, OSError), urlopen(f"{self.address}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"the server did not start:\n{self.log.read_text()}")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def children(self) -> list[int]:
        """The processes that the server has started, by the threads that did so."""
        found = []
        for listed in Path(f"/proc/{self.pid}/task").glob("*/children"):
            # A thread may end between its listing and its reading; its children go to another.
            with suppress(FileNotFoundError, ProcessLookupError):
                found += [int(pid) for pid in listed.read_text().split()]
        return found

    def end(self, how: signal.Signals) -> float:
        """Send a signal and wait for the end; returns the seconds until the server and all it started are gone."""
        assert self.process is not None
        children = self.children()
        started = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        while any(is_alive(pid) for pid in children):
            assert time.monotonic() < started + PATIENCE, f"{children} outlive the server"
            time.sleep(0.02)
        return time.monotonic() - started

    def runs(self) -> tuple[int, int]:
        """How many runs its store has, and how many different ones; raises if the file is damaged."""
        with contextlib.closing(sqlite3.connect(self.results)) as store:
            assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return store.execute("SELECT count(*), count(DISTINCT key) FROM runs").fetchone()

    def close(self) -> None:
        """End it, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def is_alive(pid: int) -> bool:
    """Whether a process runs (a zombie, which only waits to be collected, does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def memory(pid: int) -> float:
    """Megabytes of main memory that a process holds."""
    with contextlib.suppress(FileNotFoundError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024.0
    return 0.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
