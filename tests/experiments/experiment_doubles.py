"""A mechanism that is quick and says in its matrix which noise it got: stands in for the real ones in these tests."""

from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from obmc import ConstraintSet, Observations
from obmc.links import Link
from obmc.solvers.completion import Completion, DenseEstimate


@dataclass(frozen=True, kw_only=True)
class Quick:
    """A constant matrix drawn from the noise seed; ``pause`` seconds long, refused below ``least``."""

    epsilon: float
    pause: float = 0.0
    least: float = 0.0
    log: str = ""
    die_once: str = ""
    die: bool = False
    fault: str = ""

    def release(self, obs: Observations, link: Link, cset: ConstraintSet, *, rng: int, **options: object):
        if self.log:
            with open(self.log, "a") as log:
                log.write(f"{self.epsilon} {rng} {obs.fingerprint()[:16]}\n")
        if self.die_once and not Path(self.die_once).exists():
            Path(self.die_once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.die:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault:
            raise RuntimeError(self.fault)
        if self.epsilon < self.least:
            raise ValueError(f"epsilon must be at least {self.least:g}, got {self.epsilon:g}.")
        time.sleep(self.pause)
        level = float(np.random.default_rng(rng).standard_normal())
        done = Completion(
            estimate=DenseEstimate(np.full(obs.shape, level)),
            link=link,
            tau=cset.tau,
            alpha=cset.alpha,
            objective=math.nan,
            gap=math.nan,
            converged=math.nan,
            iterations=math.nan,
            seconds=math.nan,
            solver="",
            message="",
        )
        return SimpleNamespace(completion=done, guarantee=SimpleNamespace(delta=0.0))
