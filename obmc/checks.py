"""Privacy checks that a person can choose: an audit with its data, the presets, and what a reader of a matrix learns.

A ``Check`` is a setting, checked against ``obmc.limits``; ``advance`` is what a worker process is given, again and
again, until the audit is done; ``Found`` is how far it is. All data here are made, or public.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from obmc import limits
from obmc.constraints import ConstraintSet
from obmc.datasets import load
from obmc.datasets.bridge import bridge
from obmc.datasets.registry import find_data_home
from obmc.datasets.synthetic import synthetic
from obmc.errors import check_choice, check_integer
from obmc.experiments.mechanisms import CLEAR, MechanismSpec
from obmc.links import LINKS, Link
from obmc.mechanisms import Clear, GradientPerturbation, OutputPerturbation
from obmc.mechanisms.base import LocalMechanism, Mechanism
from obmc.mechanisms.output import output_change
from obmc.observations import Observations
from obmc.privacy.audit import STATISTICS, Audit, AuditRun, begin_audit
from obmc.privacy.guarantee import Guarantee, level, number

Array = NDArray[np.float64]

INSTANCES = {
    "synthetic": "Synthetic, 20 x 20",
    "bridge": "Bridge, 20 x 20",
    "ml-100k": "MovieLens sample, 30 x 30",
    "single": "A single rating",
}
ABOUT_INSTANCES = {
    "synthetic": "A matrix of rank 1, of which 30 % is observed.",
    "bridge": "Two groups of users, each with films of its own, all liked; one rating across decides the rest.",
    "ml-100k": "The 30 users with most ratings and the 30 films rated most, from the training part of MovieLens-100K.",
    "single": "One user, one film, one rating: no other data blur what is said of it.",
}
SYNTHETIC_SIZE, SYNTHETIC_RATIO = 20, 0.3
BRIDGE_SIZE = 20
SAMPLE_SIZE = 30
RUNS = (200, 500, 2_000, 10_000, 100_000)
_QUICK, _SLOW, _SINGLE = 2_000, 200, 100_000
# Of the solves behind an attack: its noise is far above what a smaller one would change.
_TOLERANCE, _TOLERANCE_OF_MANY = 1e-5, 1e-3


@dataclass(frozen=True)
class Instance:
    """Data to attack; ``entry`` is the rating whose sign is flipped, None where the attacker chooses it."""

    observations: Observations
    constraints: ConstraintSet
    entry: tuple[int, int] | None


@dataclass(frozen=True)
class Check:
    """All that decides one audit. Raises ``ValueError`` naming the field that is out of range.

    Attributes
    ----------
    mechanism, epsilon
        What is attacked.
    instance
        One of ``INSTANCES``.
    noise, sigma, alpha
        Link function, its standard deviation, bound of the entries.
    statistic
        "transcript" (all that the mechanism lets out) or "final" (the released matrix at the flipped entry alone).
    entry
        (row, column) of the rating that is flipped; None: the instance's own, or the attacker's choice.
    runs
        In each world; None for as many as take a few seconds.
    seed
        Of data and noise.
    """

    mechanism: MechanismSpec
    epsilon: float = limits.EPSILON.default
    instance: str = "synthetic"
    noise: str = limits.LINK.default
    sigma: float = limits.SIGMA.default
    alpha: float = limits.ALPHA.default
    statistic: str = STATISTICS[0]
    entry: tuple[int, int] | None = None
    runs: int | None = None
    seed: int = int(limits.SEED.default)

    def __post_init__(self) -> None:
        check_choice("instance", self.instance, tuple(INSTANCES))
        check_choice("statistic", self.statistic, STATISTICS)
        limits.LINK.check(self.noise)
        for bound, value in (
            (limits.EPSILON, self.epsilon),
            (limits.SIGMA, self.sigma),
            (limits.ALPHA, self.alpha),
            (limits.SEED, self.seed),
        ):
            bound.check(value)
        if self.runs is not None:
            check_integer("runs", self.runs, low=40, high=RUNS[-1])

    @property
    def link(self) -> Link:
        return LINKS[self.noise](self.sigma)

    @property
    def made(self) -> Mechanism:
        """The mechanism; ``ValueError`` from its own checks."""
        mechanism: Mechanism = self.mechanism.build(self.epsilon)
        return mechanism

    @property
    def data(self) -> Instance:
        """The data, read or made. Raises ``DataNotFoundError`` for data that are not on this machine."""
        if self.instance == "bridge":
            made = bridge(BRIDGE_SIZE, self.alpha)
            return Instance(made.observations, made.constraints, made.entry)
        if self.instance == "single":
            observations = Observations([0], [0], [1], (1, 1))
        elif self.instance == "ml-100k":
            observations = _sample(str(find_data_home()))
        else:
            observations = _synthetic(self.noise, self.sigma, self.alpha, self.seed)
        return Instance(observations, ConstraintSet.for_rank(observations.shape, alpha=self.alpha), None)

    @property
    def guarantee(self) -> Guarantee:
        """What the mechanism guarantees here, known without an attack."""
        data = self.data
        return self.made.guarantee(self.link, data.constraints, data.observations.shape).drawn(simulated=True)

    @property
    def usual_runs(self) -> int:
        """As many runs in each world as take a few seconds; fewer where each needs a solve or a projection."""
        mechanism = self.made
        if isinstance(mechanism, LocalMechanism) and not mechanism.is_local(self.link):
            return _SINGLE if self.instance == "single" else _SLOW
        return _SLOW if self._is_slow else _QUICK

    @property
    def _is_slow(self) -> bool:
        mechanism = self.made
        if isinstance(mechanism, OutputPerturbation):
            return mechanism.postprocess == "project"
        if isinstance(mechanism, Clear):
            return False
        if isinstance(mechanism, GradientPerturbation) and self.statistic == "transcript":
            return not mechanism.uses_matching(self.link) or mechanism.effective_clip(self.link) is not None
        return self.statistic == "final"

    def begin(self) -> AuditRun:
        """The audit before its first run; where the attacker chooses the entry, that is done here."""
        data = self.data
        return begin_audit(
            self.made,
            data.observations,
            self.link,
            data.constraints,
            self.usual_runs if self.runs is None else self.runs,
            self.seed,
            data.entry if self.entry is None else self.entry,
            self.statistic,
            tol=_TOLERANCE_OF_MANY if self._is_slow else _TOLERANCE,
        )

    def change(self) -> Change:
        """What a reader of the finished matrix learns from one flip, without any noise: two solves or more."""
        data = self.data
        entry = data.entry if self.entry is None else self.entry
        if entry is None:
            entry = replace(self, mechanism=MechanismSpec(CLEAR), statistic="transcript").begin().pair.entry
        matrix = output_change(data.observations, self.link, data.constraints, entry, _TOLERANCE)
        return Change(entry, matrix, self.alpha, self.epsilon)


@lru_cache(maxsize=16)
def _synthetic(noise: str, sigma: float, alpha: float, seed: int) -> Observations:
    link = LINKS[noise](sigma)
    size = SYNTHETIC_SIZE
    return synthetic((size, size), 1, alpha, SYNTHETIC_RATIO, link, seed).observations


@lru_cache(maxsize=2)
def _sample(home: str) -> Observations:
    """The training ratings between the users with most of them and the films with most of them."""
    train = load("ml-100k", home).train
    users, films = (
        np.sort(np.argsort(-np.bincount(places, minlength=count), kind="stable")[:SAMPLE_SIZE])
        for places, count in zip((train.rows, train.cols), train.shape, strict=True)
    )
    keep = np.isin(train.rows, users) & np.isin(train.cols, films)
    rows, cols = np.searchsorted(users, train.rows[keep]), np.searchsorted(films, train.cols[keep])
    return Observations(rows, cols, train.signs[keep], (SAMPLE_SIZE, SAMPLE_SIZE))


# What is found --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """How far a check is: its run, and once that is done the audit.

    ``joint`` is the same audit as one of ``len(PRESETS)`` that are looked at together, corrected for their number.
    """

    run: AuditRun
    audit: Audit | None = None
    joint: Audit | None = None

    @property
    def is_done(self) -> bool:
        return self.audit is not None


def advance(check: Check, found: Found | None, seconds: float) -> Found:
    """Go on with a check for about so many seconds, from the beginning where ``found`` is None."""
    run = (check.begin() if found is None else deepcopy(found.run)).advance(seconds)
    if not run.is_done:
        return Found(run)
    audit = run.result()
    joint = replace(replace(run, comparisons=len(PRESETS)).result(), scores=audit.scores)
    return Found(run, audit, joint)


@dataclass(frozen=True, eq=False)
class Change:
    """What a reader learns from the finished matrix: |Mhat - Mhat'| after one flip, and what that means under OutP.

    Attributes
    ----------
    entry
        The flipped one.
    matrix
        Shape (d1, d2), each value at most 2 alpha.
    alpha, epsilon
        The bound of the entries, and the nominal epsilon of the noise.
    """

    entry: tuple[int, int]
    matrix: Array
    alpha: float
    epsilon: float

    @property
    def multiplier(self) -> float:
        """||Mhat - Mhat'||_1 / (2 alpha): the exact loss of the whole matrix in multiples of the nominal epsilon."""
        return float(self.matrix.sum()) / (2.0 * self.alpha)

    @property
    def whole(self) -> float:
        """The exact epsilon of the whole noised matrix for this pair of data sets."""
        return self.epsilon * self.multiplier

    @property
    def largest_entry(self) -> float:
        """The exact epsilon of the one entry that tells most: at most the nominal one."""
        return self.epsilon * float(self.matrix.max()) / (2.0 * self.alpha)

    @property
    def moved(self) -> int:
        """How many entries move by more than a hundredth of their range."""
        return int(np.sum(self.matrix > 0.02 * self.alpha))


# Presets --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttackPreset:
    """A check to begin with.

    Attributes
    ----------
    key, title, short
        For addresses, on the page, and on the axis of a chart.
    about
        In a sentence or two, what to look for.
    check
        Its setting.
    """

    key: str
    title: str
    short: str
    about: str
    check: Check


def _preset(
    key: str, title: str, short: str, about: str, name: str, calibration: str = "", **options: object
) -> AttackPreset:
    given = {field: options.pop(field) for field in tuple(options) if field in Check.__dataclass_fields__}
    spec = MechanismSpec(name, calibration, tuple(options.items()))
    return AttackPreset(key, title, short, about, Check(spec, **given))  # type: ignore[arg-type]


# One of every mechanism, and of every claim of the paper that does not hold. The first is what the page opens on.
PRESETS: dict[str, AttackPreset] = {
    preset.key: preset
    for preset in (
        _preset(
            "outp-bridge",
            "OutP breaks: the bridge",
            "OutP, bridge",
            "Noise of the size of one entry is added to 400 entries, half of which one rating decides. The two worlds "
            "hardly overlap.",
            "OutP",
            "paper",
            instance="bridge",
        ),
        _preset(
            "outp",
            "OutP breaks: ordinary data",
            "OutP",
            "No special data are needed: on a random matrix, too, one rating moves hundreds of entries a little.",
            "OutP",
            "paper",
        ),
        _preset(
            "outp-entry",
            "OutP holds: one entry",
            "OutP, one entry",
            "The same release, but the attacker may look at the flipped entry alone. For one entry fixed in advance "
            "the promise holds.",
            "OutP",
            "paper",
            instance="bridge",
            statistic="final",
        ),
        _preset(
            "outp-projected",
            "OutP, projected, breaks",
            "OutP projected",
            "Projecting the noised matrix on the constraint set improves it, and collects in every entry what all the "
            "others reveal.",
            "OutP",
            "paper",
            instance="bridge",
            postprocess="project",
        ),
        _preset(
            "outp-rigorous",
            "OutP with a ridge holds",
            "OutP, rigorous",
            "A ridge bounds how far the whole matrix moves, and Gaussian noise hides a move of that length.",
            "OutP",
            "rigorous",
        ),
        _preset(
            "inp",
            "InP holds",
            "InP",
            "All that is ever computed from a rating is one bit, reversed with probability 1/(1 + exp(epsilon)). The "
            "curve touches the edge of the region and does not cross it.",
            "InP",
            "paper",
        ),
        _preset(
            "inp+",
            "InP+ holds",
            "InP+",
            "A better estimate from the same noised bits: what an attacker sees is the same as under InP.",
            "InP+",
        ),
        _preset(
            "objp",
            "ObjP holds, logistic noise",
            "ObjP",
            "The random linear term amounts to Laplace noise on each bit, whatever the solver does.",
            "ObjP",
            "paper",
        ),
        _preset(
            "objp-displayed",
            "ObjP as displayed breaks",
            "ObjP as displayed",
            "The formula in the paper's text, taken literally, halves the noise: twice the epsilon.",
            "ObjP",
            "displayed",
        ),
        _preset(
            "objp-gaussian",
            "ObjP breaks, Gaussian noise",
            "ObjP, Gaussian",
            "The curvature of the Gaussian likelihood depends on the rating, which the proof leaves out. It shows in "
            "rare outputs, so that many runs are needed.",
            "ObjP",
            "paper",
            instance="single",
            noise="gaussian",
            alpha=2.0,
            epsilon=0.5,
        ),
        _preset(
            "grap",
            "GraP holds, with room to spare",
            "GraP",
            "Ten looks at a tenth of the budget each: an attacker who sees all of them learns far less than the sum "
            "allows.",
            "GraP",
            "rigorous",
        ),
        _preset(
            "clear",
            "No privacy",
            "Clear",
            "Without noise the attacker is always right; so many runs cannot show more than the ceiling.",
            CLEAR,
        ),
    )
}


def find_attack(check: Check) -> AttackPreset | None:
    """The preset whose setting this is, None if there is none."""
    return next((preset for preset in PRESETS.values() if preset.check == check), None)


# Words ----------------------------------------------------------------------------------------------------------------


def verdict(audit: Audit, guarantee: Guarantee) -> str:
    """What an audit says of the asked epsilon, in words that never say more than "not refuted"."""
    bound, sure = number(audit.lower_bound), f"{100.0 * audit.confidence:.3g} %"
    if math.isinf(audit.claimed):
        return (
            f"Nothing was promised. With {sure} confidence epsilon is at least {bound}; so many runs cannot show more "
            f"than {number(audit.ceiling)}."
        )
    claim = level(audit.claimed, audit.delta)
    if audit.refutes:
        aside = ""
        if guarantee.scope == "entry" and audit.statistic == "transcript":
            aside = " It was proven for one entry fixed in advance, not for the matrix that the attacker saw."
        return f"Refuted: with {sure} confidence epsilon is at least {bound}, more than the asked {claim}.{aside}"
    text = (
        f"Not refuted: with {sure} confidence epsilon is at least {bound}, which does not contradict the asked "
        f"{claim}. An attack that fails proves nothing."
    )
    if guarantee.status == "violated" or (not math.isnan(audit.exact) and audit.exact > audit.claimed * (1.0 + 1e-9)):
        known = audit.at_least if math.isnan(audit.exact) else audit.exact
        more = "" if math.isnan(known) else f": it is {'at least ' if math.isnan(audit.exact) else ''}{number(known)}"
        text += f" That this epsilon does not hold is known all the same, from theory{more}."
    return text
