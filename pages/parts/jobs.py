"""Sweeps for the pages: each computed by the one runner in a thread of its own, on the server's worker processes."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import Executor

import pandas as pd

from obmc.experiments import Progress, Sweep, run
from obmc.summary import as_frame

# A job that nobody has looked at for so long is given up: its visitor has gone.
ABANDONED_SECONDS = 600.0


class Job:
    """Sweeps computed one after the other, their rows so far, and how far they are.

    Safe to read from any thread. ``error`` is a sentence where it could not go on; rows before that stay.
    """

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self.sweeps = tuple(sweeps)
        self.name = uuid.uuid4().hex
        self.error = ""
        self.cancelled = False
        self.refused: tuple[str, ...] = ()
        self._rows: list = []
        self._progress: list[Progress | None] = [None] * len(self.sweeps)
        self._seen = time.monotonic()
        self._finished = threading.Event()

    def start(self, executor: Executor) -> None:
        """Compute in the background."""
        threading.Thread(target=self._work, args=(executor,), name=f"job-{self.name}", daemon=True).start()

    def cancel(self) -> None:
        """Stop as soon as may be; what is finished stays."""
        self.cancelled = True

    @property
    def alive(self) -> bool:
        """Whether it is still computing."""
        return not self._finished.is_set()

    def look(self) -> pd.DataFrame:
        """The rows so far; a sign that somebody still wants them."""
        self._seen = time.monotonic()
        return as_frame(list(self._rows))

    @property
    def total(self) -> int:
        """Runs in all."""
        return sum(len(sweep) for sweep in self.sweeps)

    @property
    def done(self) -> int:
        """Runs finished."""
        return sum(progress.done for progress in self._progress if progress is not None)

    @property
    def remaining(self) -> float:
        """Expected seconds until the end; nan before anything is known."""
        known = [progress for progress in self._progress if progress is not None]
        return known[-1].remaining if len(known) == len(self.sweeps) else float("nan")

    def _work(self, executor: Executor) -> None:
        try:
            for place, sweep in enumerate(self.sweeps):
                for row in run(sweep, executor=executor, callback=lambda progress, k=place: self._note(k, progress)):
                    self._rows.append(row)
                if self.cancelled:
                    break
        except (ValueError, OSError, RuntimeError) as error:
            self.error = str(error)
        finally:
            self._finished.set()

    def _note(self, place: int, progress: Progress) -> bool:
        self._progress[place] = progress
        self.refused = tuple(dict.fromkeys(text for p in self._progress if p is not None for text in p.refused))
        return not self.cancelled and time.monotonic() - self._seen < ABANDONED_SECONDS
