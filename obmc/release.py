"""A private release of one's own ratings: what may leave, what it costs, and the files that do leave.

From ratings R_ij and a threshold t that is fixed beforehand to signs Y_ij = +1 where R_ij > t and -1 elsewhere; from
these, through a mechanism whose guarantee covers everything that leaves it, to a matrix; and from the matrix alone to
probabilities h(X_ij), lists of favourites and a statement of the guarantee. What follows the mechanism is
post-processing: it reads the matrix, the ids and who rated what, and no rating.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc import mechanisms
from obmc.constraints import ConstraintSet
from obmc.datasets.ratings_table import RatingsTable
from obmc.errors import RatingsError, check_choice, check_integer, check_number
from obmc.links import Link
from obmc.mechanisms.base import Mechanism, Release
from obmc.mechanisms.input_plus import InputPerturbationPlus
from obmc.mechanisms.output import OutputPerturbation
from obmc.observations import Omega
from obmc.privacy import SECURE
from obmc.privacy.guarantee import ASSUMPTIONS, Guarantee, number
from obmc.privacy.ledger import Ledger
from obmc.solvers.completion import Callback
from obmc.table_files import as_parquet, as_spreadsheet
from obmc.version import VERSION

# Above this many entries a release is held as factors: a dense solve would keep a person waiting for minutes.
DENSE_CELLS = 4_000_000
# Of a file with a probability for every pair: a spreadsheet has a million rows, and an editor some millions.
MAX_PAIRS = 5_000_000
OUTPUTS = ("top", "all")
FILE_FORMATS = ("csv", "parquet")

MEAN_REFUSED = (
    "threshold must be a number that is fixed without looking at the ratings, not 'mean': the mean is itself a "
    "statistic of the private ratings, which no noise covers; give the scale of the ratings, whose midpoint is public."
)
_READING = (
    "Which rows of the file count as ratings, and the ids, are part of who rated what, and so are public: a code for "
    '"not rated" that was recognised in the file is taken to be known.'
)


@dataclass(frozen=True)
class Form:
    """A form of release that a person may ask for; what its guarantee does not allow is refused with the reason.

    ``needs_delta`` and ``needs_entries`` name what has to be given beside epsilon.
    """

    label: str
    name: str
    calibration: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    needs_delta: bool = False
    needs_entries: bool = False

    def build(
        self, epsilon: float, delta: float | None = None, entries: tuple[tuple[int, int], ...] | None = None
    ) -> Mechanism:
        """The mechanism; ``ValueError`` from its own checks."""
        made: type[Mechanism] = getattr(mechanisms, self.name)
        given: dict[str, Any] = dict(self.options)
        if self.calibration:
            given["calibration"] = self.calibration
        if self.name != "Clear":
            given["epsilon"] = epsilon
        if self.needs_delta:
            given["delta"] = delta
        if self.needs_entries:
            given["entries"] = entries
        return made(**given)


FORMS: dict[str, Form] = {
    form.label: form
    for form in (
        Form("InP+", "InputPerturbationPlus"),
        Form("InP", "InputPerturbation"),
        Form("ObjP", "ObjectivePerturbation"),
        Form("GraP", "GradientPerturbation"),
        Form("GraP with delta", "GradientPerturbation", needs_delta=True),
        Form("OutP, named entries", "OutputPerturbation", needs_entries=True),
        Form("OutP with a ridge and delta", "OutputPerturbation", options=(("ridge", 1.0),), needs_delta=True),
        Form("OutP of the paper", "OutputPerturbation", "paper"),
        Form("OutP of the paper, projected", "OutputPerturbation", "paper", (("postprocess", "project"),)),
        Form("ObjP of the paper", "ObjectivePerturbation", "paper"),
        Form("Clear", "Clear"),
        Form("Clear with effects", "Clear", options=(("effects", True),)),
    )
}


class ReleaseRefused(ValueError):
    """A release whose guarantee does not cover all that would leave; the message says why. Nothing was drawn."""


def check_allowed(guarantee: Guarantee) -> None:
    """Raise ``ReleaseRefused`` with the reason unless the guarantee covers everything that would leave."""
    if not guarantee.release_allowed:
        raise ReleaseRefused(f"{guarantee.mechanism}: {guarantee.release_reason}")


def check_threshold(value: Any) -> float:
    """A threshold for a release: a finite number fixed beforehand; ``RatingsError`` otherwise, also for "mean"."""
    if isinstance(value, str) and value.strip().lower() == "mean":
        raise RatingsError(MEAN_REFUSED)
    try:
        return check_number("threshold", value)
    except ValueError as error:
        raise RatingsError(str(error)) from error


def solver_for(shape: tuple[int, int]) -> str:
    """The solver of a release, by the public shape alone: factored above ``DENSE_CELLS`` entries."""
    return "factored" if shape[0] * shape[1] > DENSE_CELLS else "auto"


def find_pairs(text: str, users: Sequence[str], items: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """The (row, column) pairs of a text with a user and an item in each line, split by a tab, comma or semicolon.

    A line is split where both sides are known ids, so ids may hold these marks themselves. Raises ``RatingsError``
    naming the first line that names no known pair.
    """
    rows = {user: place for place, user in enumerate(users)}
    cols = {item: place for place, item in enumerate(items)}
    found: dict[tuple[int, int], None] = {}
    for order, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        places = [place for place, sign in enumerate(line) if sign in "\t,;"]
        parts = [(line[:place].strip(), line[place + 1 :].strip()) for place in places]
        known = [(rows[user], cols[item]) for user, item in parts if user in rows and item in cols]
        if not known:
            raise RatingsError(
                f"Line {order} of the named entries, {line.strip()[:60]!r}, must hold the id of a user of the file, a "
                "comma, and the id of an item of the file."
            )
        found[known[0]] = None
    if not found:
        raise RatingsError("Name at least one entry: in each line the id of a user, a comma, and the id of an item.")
    return tuple(found)


@dataclass(frozen=True)
class ReleasePlan:
    """Everything that decides a release, fixed before a rating is looked at.

    Attributes
    ----------
    mechanism
        With its epsilon.
    link, cset
        The noise model, and the constraint set for the table's shape.
    threshold
        +1 strictly above.
    scale
        (low, high), the declared scale that the threshold is the midpoint of; None where it was given as such.
    """

    mechanism: Mechanism
    link: Link
    cset: ConstraintSet
    threshold: float
    scale: tuple[float, float] | None = None

    def guarantee(self, shape: tuple[int, int]) -> Guarantee:
        """What the release would guarantee; needs no data."""
        return self.mechanism.guarantee(self.link, self.cset, shape)

    @property
    def caution(self) -> str:
        """What may come of it although its guarantee holds; "" where there is nothing to say."""
        return MAY_LEARN_NOTHING if isinstance(self.mechanism, InputPerturbationPlus) else ""

    def check(self, shape: tuple[int, int]) -> Guarantee:
        """The guarantee, or ``ReleaseRefused`` with the reason."""
        check_threshold(self.threshold)
        guarantee = self.guarantee(shape)
        check_allowed(guarantee)
        if isinstance(self.mechanism, OutputPerturbation) and self.mechanism.uses_ridge:
            cells = shape[0] * shape[1]
            if cells > DENSE_CELLS:
                raise ReleaseRefused(
                    f"OutP with a ridge noises every entry of a dense matrix, of at most {DENSE_CELLS:,} entries; this "
                    f"one has {cells:,}: name the entries that are wanted, or choose InP+."
                )
        return guarantee


def draw(table: RatingsTable, plan: ReleasePlan, callback: Callback | None = None) -> Release:
    """Make the release: binarise at the public threshold, and run the mechanism with the system's randomness.

    A table whose signs are all equal is released like any other: to refuse it would tell that they are.

    Raises ``ReleaseRefused`` with the reason where the guarantee does not allow it; nothing is drawn then.
    """
    shape = (table.n_users, table.n_items)
    plan.check(shape)
    signs = table.binarize(plan.threshold, allow_one_class=True)
    return plan.mechanism.release(signs, plan.link, plan.cset, rng=SECURE, solver=solver_for(shape), callback=callback)


MAY_LEARN_NOTHING = (
    "InP+ keeps what its tests hold for more than noise. Of few ratings, or at a small epsilon, that may be nothing: "
    "then every probability is one half, and what the release cost is spent all the same."
)
NOTHING_LEARNT = (
    "Nothing could be learnt: every probability is one half, and the order of items means nothing, since InP+ found "
    "nothing in the noised signs that its tests hold for more than noise. It takes more ratings or a larger epsilon; "
    "what this one cost is spent."
)
ALONE = "Known is this release alone. Earlier ones of the same ratings add up with it."


@dataclass(frozen=True, eq=False)
class ReleasedRatings:
    """A release with the ids of the table it was made of: all that the files are made of, and nothing private.

    Attributes
    ----------
    release
        From ``draw``.
    plan
        What decided it.
    users, items
        The ids.
    omega
        Who rated what, public.
    spent
        The ledger's statement after this release, and its sums; None without a ledger.
    made
        When, in UTC.
    """

    release: Release
    plan: ReleasePlan
    users: tuple[str, ...]
    items: tuple[str, ...]
    omega: Omega
    spent: dict[str, Any] | None = None
    made: str = ""

    def __post_init__(self) -> None:
        check_allowed(self.release.guarantee)

    @classmethod
    def of(cls, table: RatingsTable, plan: ReleasePlan, release: Release, ledger: Ledger | None) -> ReleasedRatings:
        """A release of this table; the ledger has it booked already."""
        omega = Omega(table.rows, table.cols, (table.n_users, table.n_items))
        spent = None if ledger is None else spending(ledger)
        return cls(release, plan, table.users, table.items, omega, spent, now())

    @property
    def warning(self) -> str:
        """What whoever gets it has to know before the numbers; "" for nothing. Post-processing, so it costs nothing."""
        return NOTHING_LEARNT if self.release.completion.solver == "none" else ""

    # Tables -------------------------------------------------------------------------------------------------------

    @property
    def named(self) -> tuple[tuple[int, int], ...] | None:
        """The named entries, where these are all that may be shown."""
        mechanism = self.plan.mechanism
        return mechanism.entries if isinstance(mechanism, OutputPerturbation) else None

    def entries(self) -> pd.DataFrame:
        """The named entries: user, item, probability."""
        if self.named is None:
            raise ReleaseRefused("This release is of a whole matrix, not of named entries.")
        rows, cols = np.array(self.named, dtype=np.int64).T
        return self._frame(rows, cols)

    def top(self, n: int) -> pd.DataFrame:
        """For every user the ``n`` items not rated yet with the highest probability: user, place, item, probability."""
        self._refuse_named("a list of favourites")
        most = check_integer("n", n, low=1)
        chosen = list(self.release.completion.favourites(most, self.omega))
        rows = np.repeat(np.arange(len(self.users)), [len(best) for best in chosen])
        cols = np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
        frame = self._frame(rows, cols)
        frame.insert(1, "place", np.concatenate([np.arange(1, len(best) + 1) for best in chosen]).astype(np.int64))
        return frame

    def all(self) -> pd.DataFrame:
        """The probability of every pair: user, item, probability. At most ``MAX_PAIRS`` of them."""
        self.check_size()
        rows = np.repeat(np.arange(len(self.users)), len(self.items))
        cols = np.tile(np.arange(len(self.items)), len(self.users))
        return self._frame(rows, cols)

    def check_size(self) -> None:
        """Raise ``ReleaseRefused`` where ``all`` would, without making the table."""
        self._refuse_named("a matrix")
        pairs = len(self.users) * len(self.items)
        if pairs > MAX_PAIRS:
            raise ReleaseRefused(
                f"A probability for every pair would be {pairs:,} rows of at most {MAX_PAIRS:,}: take the best items "
                "of every user instead."
            )

    def _refuse_named(self, what: str) -> None:
        if self.named is not None:
            raise ReleaseRefused(
                f"Named entries may not leave as {what}: the guarantee covers the {len(self.named)} answers alone."
            )

    def _frame(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> pd.DataFrame:
        chance = self.release.completion.probability(rows, cols) if len(rows) else np.zeros(0)
        return pd.DataFrame(
            {
                "user": pd.Series(self.users, dtype="str").take(rows).reset_index(drop=True),
                "item": pd.Series(self.items, dtype="str").take(cols).reset_index(drop=True),
                "probability": chance,
            }
        )

    # Files --------------------------------------------------------------------------------------------------------

    def table(self, output: str, n: int = 10) -> pd.DataFrame:
        """What is asked for: "top" with ``n`` items a user, or "all"; named entries whatever is asked."""
        check_choice("output", output, OUTPUTS)
        if self.named is not None:
            return self.entries()
        return self.top(n) if output == "top" else self.all()

    def statement(self) -> dict[str, Any]:
        """The guarantee for a JSON file, with all that decided the release and what has been spent."""
        plan, guarantee = self.plan, self.release.guarantee
        counts = np.bincount(self.omega.rows, minlength=len(self.users))
        counts = counts[counts > 0]
        whom = {"median": math.ceil(float(np.median(counts))), "most ratings": int(counts.max())}
        return {
            "made": self.made,
            "program": f"obmc {VERSION}",
            "randomness": "the operating system's, exact samplers",
            "guarantee": guarantee.to_dict(),
            "for_one_user": {
                name: {
                    "ratings": ratings,
                    "epsilon": _plain(guarantee.user_epsilon(ratings)),
                    "epsilon_at_delta_1e-5": _plain(guarantee.user_epsilon(ratings, 1e-5)),
                }
                for name, ratings in whom.items()
            },
            "takes_for_granted": [*ASSUMPTIONS, _READING],
            "threshold": plan.threshold,
            "declared_scale": None if plan.scale is None else list(plan.scale),
            "link": plan.link.name,
            "sigma": getattr(plan.link, "sigma", None),
            "tau": plan.cset.tau,
            "alpha": plan.cset.alpha,
            "users": len(self.users),
            "items": len(self.items),
            "ratings": len(self.omega),
            "solver": self.release.completion.solver,
            "solver_says": self.release.completion.message,
            "spent": self.spent,
        }

    def readme(self, file: str, output: str, n: int) -> str:
        """What the files are and what they guarantee, in plain words."""
        plan, guarantee = self.plan, self.release.guarantee
        above = "of a rating above"
        if self.named is not None:
            what = f"the named entries, a noised probability {above} {plan.threshold:g} for each"
        elif output == "top":
            what = (
                f"for every user the {n} items not rated yet with the highest estimated probability {above} "
                f"{plan.threshold:g}, best first"
            )
        else:
            what = f"for every user and item the estimated probability {above} {plan.threshold:g}"
        origin = ""
        if plan.scale is not None:
            origin = f", the middle of the declared scale from {plan.scale[0]:g} to {plan.scale[1]:g}"
        bound = "no bound alpha" if plan.cset.alpha is None else f"alpha = {plan.cset.alpha:g}"
        whom = self.statement()["for_one_user"]
        people = "; ".join(
            f"with {row['ratings']} ratings ({name}): {number(guarantee.user_epsilon(row['ratings']))}"
            for name, row in whom.items()
        )
        cells = (
            "A text that a spreadsheet would run as a formula has an apostrophe before it. Numbers are as they were."
            if file.endswith(".csv")
            else "Ids are as they were in the file."
        )
        parts = [
            "A private release of ratings",
            *([self.warning] if self.warning else []),
            f"{file}: {what}. {cells}",
            "guarantee.json: the guarantee and all that decided the release, for programs.",
            "What is guaranteed",
            guarantee.explain("student"),
            f"Epsilon for one whole person, all of whose ratings may differ: {people}.",
            "What it takes for granted",
            "\n".join(f"- {text}" for text in [*ASSUMPTIONS, _READING]),
            "How it was made",
            f"{len(self.omega):,} ratings of {len(self.users):,} users for {len(self.items):,} items. A rating above "
            f"{plan.threshold:g}{origin} counts as +1, any other as -1. Mechanism {guarantee.mechanism}, calibration "
            f"{guarantee.calibration}, {plan.link.name} noise model, tau = {plan.cset.tau:g}, "
            f"{bound}. {self._solved()}The noise came from the operating system and cannot be drawn again.",
        ]
        if self.spent is not None:
            parts += ["What has been spent on these ratings so far", self.spent["statement"]]
        else:
            parts += ["What has been spent on these ratings so far", ALONE]
        return "\n\n".join(parts) + "\n"

    def _solved(self) -> str:
        done = self.release.completion
        factors = " The matrix is held as factors, since it is too large to be solved densely."
        text = f"Solver: {done.solver}{f', {done.message}' if done.message else ''}."
        return text + (factors if "factored" in done.solver else "") + " "

    def bundle(self, output: str = "top", n: int = 10, form: str = "csv") -> bytes:
        """Everything as one zip: the table, ``guarantee.json`` and ``README.txt``.

        Raises ``ReleaseRefused`` where the table may not leave, or is too large for a file.
        """
        check_choice("form", form, FILE_FORMATS)
        frame = self.table(output, n)
        name = "entries" if self.named is not None else {"top": f"top_{n}", "all": "probabilities"}[output]
        file = f"{name}.{form}"
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(file, as_spreadsheet(frame) if form == "csv" else as_parquet(frame))
            archive.writestr("guarantee.json", json.dumps(self.statement(), indent=2, ensure_ascii=False) + "\n")
            archive.writestr("README.txt", self.readme(file, output, n))
        return packed.getvalue()


# Out ------------------------------------------------------------------------------------------------------------------


def spending(ledger: Ledger) -> dict[str, Any]:
    """The sums of a ledger, for one rating's sign, for the median user and for the one with most ratings."""
    users = {"median": ledger.median_ratings, "most ratings": ledger.largest_ratings}
    return {
        "statement": ledger.statement,
        "epsilon": ledger.epsilon,
        "delta": ledger.delta,
        "epsilon_budget": ledger.epsilon_budget,
        "delta_budget": ledger.delta_budget,
        "for_one_user": {
            name: {"ratings": ratings, "epsilon": _plain(ledger.user_epsilon(ratings))}
            for name, ratings in users.items()
        },
    }


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else number(value)
