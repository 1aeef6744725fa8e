"""What a run gives, and what keeps it: the types between the runner and the stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from obmc.experiments.sweep import Point


class StoreError(OSError):
    """A results store that cannot be used; the message says why and what to do."""


class StoreWarning(UserWarning):
    """A sweep goes on without its results store."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its measures by name, the delta of its guarantee, and the facts of its computation."""

    values: dict[str, float]
    delta: float
    gap: float
    converged: float
    iterations: float
    seconds: float

    def facts(self) -> dict[str, float]:
        """All but the measures, by the names of the rows' columns."""
        return {
            "delta": self.delta,
            "gap": self.gap,
            "converged": self.converged,
            "iterations": self.iterations,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Refusal:
    """A run that its mechanism refuses at these settings, and its reason in one sentence."""

    reason: str


class OutcomeStore(Protocol):
    """What keeps outcomes: ``Store``, ``MemoryStore``, ``LayeredStore`` and ``FixedStore`` of ``store``."""

    def find(self, points: Sequence[Point]) -> dict[Point, Outcome]:
        """The outcomes that are there, each with whatever measures were taken. Raises ``StoreError``."""

    def keep(self, outcomes: Sequence[tuple[Point, Outcome]]) -> None:
        """Keep outcomes at once, all or none. Raises ``StoreError``."""
