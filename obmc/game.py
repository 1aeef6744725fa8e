"""Guess the rating: the game that defines differential privacy, dealt from the operating system's randomness.

A fair coin chooses the sign of one rating, the mechanism runs, and the player sees the release and says which sign it
was. Under (eps, delta)-DP nobody is right more often than (e^eps + delta)/(1 + e^eps) (``success_ceiling``), whatever
they know of all other ratings.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from obmc.checks import Check
from obmc.errors import check_integer, check_number
from obmc.mechanisms.base import LocalMechanism, Mechanism
from obmc.privacy.audit import success_ceiling
from obmc.privacy.guarantee import level

CONFIDENCE = 0.95
_SEED_BITS = 128


@dataclass(frozen=True, eq=False)
class Deal:
    """One round: the true ``sign`` of the rating at ``entry``, and what the player sees of it.

    ``label``: the noised label of that rating, where noise is added to each rating apart; an unnoised one is 0 (-1) or
    1 (+1). Else ``matrix``, shape (d1, d2), the released matrix.
    """

    sign: int
    entry: tuple[int, int]
    label: float | None
    matrix: NDArray[np.float64] | None


def deal(check: Check) -> Deal:
    """Toss the coin, run the mechanism. Coin and noise are fresh and from the operating system, never from a seed."""
    data = check.data
    mechanism, link = check.made, check.link
    entry = _entry(check)
    place = data.observations.index_of(entry)
    sign = 1 if secrets.randbits(1) else -1
    chosen = data.observations
    if int(chosen.signs[place]) != sign:
        chosen = chosen.flip(entry)
    # A generator that nobody can repeat. The laws are those of simulations, as in an audit.
    rng = np.random.default_rng(secrets.randbits(_SEED_BITS))
    if _is_local(mechanism, check):
        assert isinstance(mechanism, LocalMechanism)
        view = mechanism.noised(chosen, link, data.constraints, rng=rng)
        return Deal(sign, entry, float(view.labels[place]), None)
    release = mechanism.release(chosen, link, data.constraints, rng=rng, tol=1e-3)
    return Deal(sign, entry, None, release.completion.matrix)


def _is_local(mechanism: Mechanism, check: Check) -> bool:
    return isinstance(mechanism, LocalMechanism) and mechanism.is_local(check.link)


def _entry(check: Check) -> tuple[int, int]:
    """The rating that is guessed: the one given, the instance's own, or the first observed one."""
    data = check.data
    chosen = data.entry if check.entry is None else check.entry
    return (int(data.observations.rows[0]), int(data.observations.cols[0])) if chosen is None else chosen


@dataclass(frozen=True)
class Score:
    """How often a player was right, against what the promise allows.

    Attributes
    ----------
    correct, rounds
        Rounds won and played, at least one.
    epsilon, delta
        The promise.
    """

    correct: int
    rounds: int
    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        check_integer("rounds", self.rounds, low=1)
        check_integer("correct", self.correct, low=0, high=self.rounds)
        check_number("delta", self.delta, low=0.0, high=1.0)

    @property
    def share(self) -> float:
        """Of rounds won."""
        return self.correct / self.rounds

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the probability to win (Clopper and Pearson)."""
        found = stats.binomtest(self.correct, self.rounds).proportion_ci(CONFIDENCE, "exact")
        return float(found.low), float(found.high)

    @property
    def ceiling(self) -> float:
        """(e^eps + delta)/(1 + e^eps), what nobody exceeds under the promise."""
        return success_ceiling(self.epsilon, self.delta)

    @property
    def refutes(self) -> bool:
        """Whether the whole interval lies above the ceiling."""
        return self.interval[0] > self.ceiling

    @property
    def sentence(self) -> str:
        """The score in words, which never say more than "not refuted"."""
        low, high = self.interval
        said = (
            f"{self.correct} of {self.rounds} right ({self.share:.0%}; 95 % interval {low:.1%} to {high:.1%}). Under "
            f"{level(self.epsilon, self.delta)} nobody is right with a probability above {self.ceiling:.1%}."
        )
        if self.refutes:
            return f"{said} The whole interval lies above that: refuted, if the number of rounds was fixed beforehand."
        return f"{said} The interval reaches below that: not refuted."


def play(check: Check, rounds: int) -> int:
    """How many of so many fresh rounds the best guesser wins, who takes the likelier world of each release.

    Raises ``ValueError`` where it is not known which that is.
    """
    count = check_integer("rounds", rounds, low=40, high=10_000)
    run = replace(check, entry=_entry(check), runs=count).begin()
    run.generator = np.random.default_rng(secrets.randbits(_SEED_BITS))
    guesses = run.advance().guesses()
    if guesses is None:
        raise ValueError(f"mechanism must be one whose best guess is known, not {run.mechanism.label} here.")
    coins = np.array([secrets.randbits(1) for _ in range(count)])
    return int(np.sum(guesses[coins, np.arange(count)] == coins.astype(bool)))
