"""The ledger: what has been spent on one table of ratings, release by release.

Sequential composition: releases with (eps_i, delta_i) about the same ratings are together (sum eps_i, sum delta_i)-DP.
A ledger belongs to a *table*, not to its signs: two thresholds of one file are two looks at the same ratings and add
up. It lives in memory only and holds no rating.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obmc.errors import check_choice, check_instance, check_integer, check_number
from obmc.observations import Observations
from obmc.privacy import accounting
from obmc.privacy.guarantee import GROUPS, Guarantee, level, number
from obmc.privacy.noise import check_delta, check_epsilon

T = TypeVar("T")

# Of one booking: a whole matrix may cost its number of entries times epsilon, and sums stay finite.
LARGEST = 1e100
# What a draw raises about an argument, before it looks at the ratings: neither ReleaseFailed nor what the system says
# of the memory, a file or a process that a computation on them needs.
UNSPENT = ValueError

PURE_SUM = (
    "The sum bounds what all of them together can reveal about one rating, also where later ones were chosen after "
    "earlier results had been seen."
)

AS_IF_PRIVATE = (
    "Every result with new noise is a release of its own, and releases add up; the same settings and seed are the same "
    "draw and cost once. A matrix with noise on its entries is booked at its price for the whole output. Numbers "
    "without noise beside it are not covered at all."
)

ADAPTIVE_SUM = (
    "With a delta among them the sums are a promise if all epsilons and deltas were fixed beforehand, or if a budget "
    "for both was. Where they were chosen after earlier results had been seen, and without such a budget, the sums "
    "say what has been spent so far and promise nothing."
)


class BudgetExceeded(ValueError):
    """A release that the budget does not cover; nothing was drawn and nothing was spent."""


@dataclass(frozen=True)
class Entry:
    """One booked release.

    Attributes
    ----------
    mechanism, label
        The mechanism's label and the owner's own words for the release.
    epsilon, delta
        What the whole output costs for one rating's sign.
    group, multiplier
        How it grows with a user's ratings, and the noise multiplier of Gaussian noise (see ``Guarantee``).
    time
        When it was made, as the caller wrote it; empty if not told.
    """

    mechanism: str
    epsilon: float
    delta: float
    label: str = ""
    group: str = "pure"
    multiplier: float = math.nan
    time: str = ""

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, low=0.0, high=LARGEST)
        check_number("delta", self.delta, low=0.0, high=1.0, open_high=True)
        check_choice("group", self.group, GROUPS)
        for name in ("mechanism", "label", "time"):
            check_instance(name, getattr(self, name), str, "a text")
        if self.group.startswith("gaussian"):
            check_number("multiplier", self.multiplier, low=0.0, open_low=True)


class Ledger:
    """What has been spent on one table, what it means for one rating and for one person, and what is left.

    Parameters
    ----------
    table
        A name of the table that does not depend on signs or ratings: a file's random session key, a title.
    ratings_per_user
        How many ratings each user of the table has (public); users without ratings are left out.
    epsilon_budget, delta_budget
        The most that may be spent in all, at the level of one rating; None: no limit (delta: none without Gaussian
        noise, so a limit of 0 admits pure releases only).

    All operations are safe to call from several threads; a release is checked, drawn and booked as one step.

    Raises ``ValueError`` naming the argument that is out of its range.
    """

    def __init__(
        self,
        table: str,
        ratings_per_user: ArrayLike,
        *,
        epsilon_budget: float | None = None,
        delta_budget: float | None = None,
    ) -> None:
        self.table = table
        self._counts = _counts(ratings_per_user)
        self.epsilon_budget = None if epsilon_budget is None else check_epsilon("epsilon_budget", epsilon_budget)
        self.delta_budget = (
            None if delta_budget is None else check_number("delta_budget", delta_budget, low=0.0, high=1.0)
        )
        self._entries: list[Entry] = []
        self._kept: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def set_budget(self, *, epsilon: float | None = None, delta: float | None = None) -> None:
        """Change what may be spent in all: at will before the first release, downwards only after it.

        A budget that grows when results have been seen was none. None leaves one as it is; ``ValueError`` otherwise.
        """
        with self._lock:
            checked = {
                "epsilon_budget": None if epsilon is None else check_epsilon("epsilon_budget", epsilon),
                "delta_budget": None if delta is None else check_number("delta_budget", delta, low=0.0, high=1.0),
            }
            for name, value in checked.items():
                kept = getattr(self, name)
                if value is not None and kept is not None and value > kept and self._entries:
                    raise ValueError(f"{name} must be at most the {number(kept)} of the first release, got {value!r}.")
            for name, value in checked.items():
                if value is not None:
                    setattr(self, name, value)

    def is_of(self, ratings_per_user: ArrayLike) -> bool:
        """Whether these are the numbers of ratings of its users, in any order."""
        return np.array_equal(self._counts, _counts(ratings_per_user))

    def recount(self, ratings_per_user: ArrayLike) -> None:
        """Take in the numbers of ratings of the same table read in another way.

        What was spent was spent on the persons as they were then: counted from the user with most ratings down, the
        larger number of either reading stays, so that nobody's cost falls.
        """
        with self._lock:
            now = _counts(ratings_per_user)
            size = max(len(now), len(self._counts))
            both = [np.pad(counts, (size - len(counts), 0)) for counts in (self._counts, now)]
            self._counts = np.maximum(*both)

    @classmethod
    def for_observations(cls, table: str, observations: Observations, **budget: float | None) -> Ledger:
        """A ledger for observed entries: only who rated what is looked at."""
        return cls(table, accounting.ratings_per_user(observations), **budget)

    # Booking ------------------------------------------------------------------------------------------------------

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The releases so far, oldest first."""
        return tuple(self._entries)

    def check(self, guarantee: Guarantee) -> None:
        """Raise ``BudgetExceeded`` if the release does not fit, ``ValueError`` if nothing finite is proven for it."""
        epsilon = guarantee.total_epsilon
        if not math.isfinite(epsilon):
            raise ValueError(
                f"{guarantee.mechanism} must have a finite proven epsilon to be booked; {guarantee.headline.lower()}."
            )
        with self._lock:
            spent, failed = self.epsilon, self.delta
        # A relative 10^-12 forgives the rounding of sums such as 0.1 + 0.2.
        if self.epsilon_budget is not None and spent + epsilon > self.epsilon_budget * (1.0 + 1e-12):
            raise BudgetExceeded(
                f"epsilon must be at most the {number(max(self.epsilon_budget - spent, 0.0))} that is left of the "
                f"budget of {number(self.epsilon_budget)}, but this release costs {number(epsilon)}."
            )
        if self.delta_budget is not None and failed + guarantee.delta > self.delta_budget * (1.0 + 1e-12):
            raise BudgetExceeded(
                f"delta must be at most the {number(max(self.delta_budget - failed, 0.0))} that is left of the "
                f"budget of {number(self.delta_budget)}, but this release costs {number(guarantee.delta)}."
            )

    def book(self, guarantee: Guarantee, label: str = "", time: str = "") -> Entry:
        """Add a release: a whole matrix of scope "entry" at its price for the whole output."""
        with self._lock:
            self.check(guarantee)
            entry = Entry(
                mechanism=guarantee.mechanism,
                epsilon=guarantee.total_epsilon,
                delta=guarantee.delta,
                label=label,
                group=guarantee.group,
                multiplier=guarantee.multiplier,
                time=time,
            )
            self._entries.append(entry)
            return entry

    def spend(self, guarantee: Guarantee, draw: Callable[[], T], label: str = "", time: str = "") -> T:
        """Check the budget, book, then draw.

        A draw that is refused for an argument has not looked at the ratings, and its booking is taken back.
        After any other failure it stays, since that it failed may itself say something about them.
        """
        with self._lock:
            entry = self.book(guarantee, label, time)
            try:
                return draw()
            except UNSPENT:
                self.take_back(entry)
                raise

    def take_back(self, entry: Entry) -> None:
        """Undo a booking whose draw was refused before it looked at the ratings."""
        with self._lock:
            place = next(place for place, booked in enumerate(self._entries) if booked is entry)
            del self._entries[place]

    def reuse(
        self, key: Hashable, guarantee: Guarantee, draw: Callable[[], T], label: str = "", time: str = ""
    ) -> tuple[T, bool]:
        """Noised data drawn once: the stored draw under ``key`` at no cost, or a new one, booked and stored.

        ``key`` names what was noised and how (threshold, mechanism, epsilon), never the data. Returns the draw and
        whether it was paid for now.
        """
        with self._lock:
            if key in self._kept:
                return self._kept[key], False
            value = self.spend(guarantee, draw, label, time)
            self._kept[key] = value
            return value, True

    def named_entries(
        self,
        question: Hashable,
        entries: Sequence[tuple[int, int]],
        quote: Callable[[int], Guarantee],
        draw: Callable[[list[tuple[int, int]]], NDArray[np.float64]],
        label: str = "",
        time: str = "",
    ) -> NDArray[np.float64]:
        """Noisy answers about named entries, shape (k,): what was answered before is repeated at no cost.

        Parameters
        ----------
        question
            What the answers are about, apart from the entry and epsilon (threshold, link, alpha, radius).
        entries
            The (row, column) pairs.
        quote
            The guarantee of a number of new entries.
        draw
            Called with the entries that were never asked, returns their noisy values under that guarantee.
        """
        with self._lock:
            asked = [(int(row), int(col)) for row, col in entries]
            fresh = [entry for entry in dict.fromkeys(asked) if (question, entry) not in self._kept]
            if fresh:
                values = self.spend(quote(len(fresh)), lambda: draw(fresh), label, time)
                self._kept.update({(question, entry): float(v) for entry, v in zip(fresh, values, strict=True)})
            return np.array([self._kept[(question, entry)] for entry in asked], dtype=np.float64)

    # Totals -------------------------------------------------------------------------------------------------------

    @property
    def epsilon(self) -> float:
        """Spent for one rating's sign: the sum of the epsilons."""
        return math.fsum(entry.epsilon for entry in self._entries)

    @property
    def delta(self) -> float:
        """The sum of the deltas."""
        return math.fsum(entry.delta for entry in self._entries)

    @property
    def epsilon_left(self) -> float:
        """What the budget still covers, infinite without one."""
        return math.inf if self.epsilon_budget is None else max(self.epsilon_budget - self.epsilon, 0.0)

    @property
    def median_ratings(self) -> int:
        """The number of ratings of the median user, rounded up."""
        return math.ceil(float(np.median(self._counts)))

    @property
    def largest_ratings(self) -> int:
        """The number of ratings of the user who has most."""
        return int(self._counts[-1])

    def user_epsilon(self, ratings: int, delta: float | None = None) -> float:
        """The epsilon of everything so far for one user with m ratings, all of whose signs may differ.

        Without delta the pure value, sum of m eps_i (infinite once Gaussian noise was used; releases that cover any
        change of the data count once). With delta: noise on each bit apart by the exact distribution of its privacy
        losses, Gaussian noise by its exact curve, everything else by m eps.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        count = check_integer("ratings", ratings, low=1)
        if delta is None:
            return math.fsum(self._pure(entry, count) for entry in self._entries)
        tail = check_delta("delta", delta)
        bits: list[tuple[float, int]] = []
        pure = 0.0
        precision = 0.0
        for entry in self._entries:
            if entry.group == "bits":
                bits.append((entry.epsilon, count))
            elif entry.group in ("gaussian bits", "gaussian"):
                growth = count if entry.group == "gaussian bits" else count**2
                precision += growth / entry.multiplier**2
            else:
                pure += self._pure(entry, count)
        return pure + accounting.users_epsilon(bits, tail, 1.0 / math.sqrt(precision) if precision else math.inf)

    @staticmethod
    def _pure(entry: Entry, ratings: int) -> float:
        if entry.group in ("gaussian bits", "gaussian"):
            return math.inf
        return entry.epsilon if entry.group == "any change" else entry.epsilon * ratings

    @property
    def statement(self) -> str:
        """What the sums mean, in a few sentences."""
        if not self._entries:
            return "Nothing has been spent on this table."
        text = (
            f"{len(self._entries)} {'release' if len(self._entries) == 1 else 'releases'} from this table: together "
            f"{level(self.epsilon, self.delta)} for one rating's sign."
        )
        if len(self._entries) == 1:
            return text
        return f"{text} {ADAPTIVE_SUM if self.delta > 0.0 else PURE_SUM}"

    # Serialisation ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The bookings for a JSON file: what was spent and on whom, not what was drawn."""
        return {
            "table": self.table,
            "ratings_per_user": self._counts.tolist(),
            "epsilon_budget": self.epsilon_budget,
            "delta_budget": self.delta_budget,
            "entries": [
                {
                    "mechanism": entry.mechanism,
                    "epsilon": entry.epsilon,
                    "delta": entry.delta,
                    "label": entry.label,
                    "group": entry.group,
                    "multiplier": None if math.isnan(entry.multiplier) else entry.multiplier,
                    "time": entry.time,
                }
                for entry in self._entries
            ],
            "statement": self.statement,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Ledger:
        """The ledger of a ``to_dict``. What was drawn is not in it: drawing again costs again.

        Raises ``ValueError``, ``KeyError`` or ``TypeError`` for what no ledger wrote.
        """
        ledger = cls(
            stored["table"],
            stored["ratings_per_user"],
            epsilon_budget=stored["epsilon_budget"],
            delta_budget=stored["delta_budget"],
        )
        check_instance("table", stored["table"], str, "a text")
        check_instance("entries", stored["entries"], list, "a list")
        for entry in stored["entries"]:
            multiplier = math.nan
            if entry["multiplier"] is not None:
                multiplier = check_number("multiplier", entry["multiplier"], low=0.0, open_low=True)
            ledger._entries.append(Entry(**{**entry, "multiplier": multiplier}))
        return ledger


def _counts(ratings_per_user: ArrayLike) -> NDArray[np.int64]:
    """Numbers of ratings, smallest first, those of users without any left out; ``ValueError`` where they are none."""
    given = np.asarray(ratings_per_user)
    whole = given.dtype.kind in "iu" or (
        given.dtype.kind == "f" and bool(np.all(np.isfinite(given)) and np.all(given == np.floor(given)))
    )
    counts = given.astype(np.int64) if whole else np.zeros(0, dtype=np.int64)
    if counts.ndim != 1 or not np.any(counts > 0) or np.any(counts < 0):
        raise ValueError("ratings_per_user must hold one whole number of at least 0 per user, not all of them 0.")
    return np.sort(counts[counts > 0])
