"""What a release really guarantees, in one object, in words for a student and in formulas for an expert.

What a release guarantees is written here, save for what belongs to one mechanism alone: that adds why its own statement
holds and how it differs from the paper's. Pages show these texts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from obmc.errors import check_choice, check_integer, check_number
from obmc.privacy import accounting
from obmc.privacy.noise import check_delta

Scope = Literal["output", "entry"]
Trust = Literal["local", "central", "none"]
Status = Literal["proven", "violated", "open"]
Conditions = Literal["any solver", "exact minimiser", "certified gap", "none"]
Verdict = Literal["holds", "false", "open", "none"]
Group = Literal["bits", "pure", "any change", "gaussian bits", "gaussian"]
Audience = Literal["student", "expert"]
GROUPS: tuple[Group, ...] = get_args(Group)

UNIT = "one rating's sign; who rated what is public"

ASSUMPTIONS = (
    "Who rated what is treated as public: were it secret, none of these mechanisms would protect it.",
    "Several releases about the same ratings add up.",
    "Whatever is computed from the ratings outside the mechanism is not covered: a threshold taken from their mean, "
    "settings chosen by trying them out, an accuracy measured on private ratings.",
)

_TRUST = {
    "local": "Every sign is noised by itself before anything is computed from it, so not even the computer that "
    "completes the matrix has to be trusted.",
    "central": "The computation works on the true signs and protects what leaves it, so whoever runs it has to be "
    "trusted.",
    "none": "Nothing is noised: the result may say anything about any rating.",
}

_CONDITIONS = {
    "any solver": "It holds whatever the solver does: stopped early, restarted or inexact.",
    "exact minimiser": "It is proven for the exact minimiser only, which no solver returns, so it may be studied but "
    "not relied on.",
    "certified gap": "It counts on the solver reaching a gap that was fixed in advance; a solution that does not "
    "reach it is refused, and no guarantee covers what the refusal itself may say.",
    "none": "",
}

_CONDITIONS_EXPERT = {
    "any solver": "Holds for any solver: what follows the noise is post-processing.",
    "exact minimiser": "Proven for the exact minimiser; entries outside Omega are a fixed function of those on it.",
    "certified gap": "Holds for every solution within the absolute gap fixed in advance; the sensitivity contains it.",
    "none": "",
}

_VERDICT = {
    "holds": "This is right.",
    "false": "This is false.",
    "open": "Whether this is so is not known.",
    "none": "",
}

SIMULATION = (
    "This is a simulation: its noise comes from a seed, so it shows what the mechanism would do and protects nobody."
)

PRIVATE_VIEW = "For the owner's eyes only: this was computed from the ratings themselves, without protection."

FACTS_WITHHELD = (
    "Not told: the solver worked on the true ratings, and these numbers would say more of them than the noise covers."
)

RELEASABLE = "It may be released: the statement covers everything that leaves the mechanism."


# From here on odds may grow a million-fold: no protection to speak of, and no number is told.
UNSPEAKABLE = math.log(1e6)


def number(value: float) -> str:
    """A privacy parameter for a reader: four significant digits, without an exponent unless it is extreme."""
    if math.isinf(value):
        return "infinite"
    if value != 0.0 and (abs(value) < 1e-7 or abs(value) >= 1e12):
        return f"{value:.3g}"
    if abs(value) < 1e-3:
        return np.format_float_positional(float(f"{value:.3g}"), trim="-")
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def level(epsilon: float, delta: float = 0.0) -> str:
    """The parameters of a promise for a reader, delta only where there is one."""
    return f"epsilon = {number(epsilon)}" + (f", delta = {number(delta)}" if delta > 0.0 else "")


def odds(epsilon: float) -> str:
    """e^eps as a factor for a reader: how often an adversary's odds about one rating can be multiplied, rounded up."""
    if epsilon >= UNSPEAKABLE:
        return "more than a million"
    factor = math.exp(epsilon)
    decimals = 0 if factor > 99.0 else 1 if factor > 1.9 else 2
    return f"{math.ceil(factor * 10**decimals * (1.0 - 1e-12)) / 10**decimals:,.{decimals}f}"


def limit(epsilon: float, delta: float = 0.0) -> str:
    """What (eps, delta) says of one rating's sign, as a clause: P(S) <= e^eps P'(S) + delta for every set S of results.

    With a delta this is no statement about odds: they may grow more than e^eps-fold, and more often than with
    probability delta.
    """
    if math.isinf(epsilon):
        return "no limit is proven on what the result reveals about one rating's sign"
    if epsilon >= UNSPEAKABLE:
        return "an adversary's odds about one rating's sign may grow more than a million-fold"
    if delta > 0.0:
        return (
            f"no conclusion is more than {odds(epsilon)} times as likely under one sign of a rating as under the "
            f"other, plus a probability of {number(delta)}"
        )
    return f"an adversary's odds about one rating's sign grow at most {odds(epsilon)}-fold"


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The privacy statement of one release, or of a mechanism before its release.

    Attributes
    ----------
    mechanism, link, calibration
        What the statement is about: the paper's label, the link's name, the calibration's name.
    claimed
        The epsilon that the caller asked for (infinite: none).
    epsilon, delta
        The smallest proven for ``scope``; epsilon is infinite if there is none.
    unit
        What is protected.
    scope
        "output": all that leaves the mechanism together. "entry": a single entry fixed in advance, not the matrix.
    trust
        "local": signs are noised before anything is computed. "central": the computation sees them. "none".
    status
        Of the claimed epsilon: "proven", "violated" (a counterexample is known) or "open".
    conditions
        What the solver has to fulfil for the statement to hold.
    why
        Why it holds, or does not, in a sentence or two.
    formula
        The same for an expert, with LaTeX.
    paper_claim, paper_verdict, difference
        What the paper states for this mechanism, whether that is right, and how this statement differs.
    rigorous_change
        What the rigorous calibration does otherwise than the paper's: noise, loss and what is proven; "" where there
        are no calibrations to choose from.
    lower_bound
        A proven lower bound of the true epsilon, nan where none is known.
    output_epsilon
        The epsilon of everything that leaves the mechanism, for scope "entry"; else None.
    entries
        How many named entries are answered; None for a whole matrix.
    group
        How the statement grows for one user with m ratings: "bits" (m bits, each under noise of its own), "pure"
        (m eps), "any change" (it does not grow), "gaussian bits" (L2 sensitivity sqrt(m)), "gaussian" (m).
    multiplier
        The noise multiplier of all answers together for Gaussian noise, else nan.
    simulated
        True where the noise came from a seed.

    Raises ``ValueError`` naming the argument that is out of its range.
    """

    mechanism: str
    link: str
    calibration: str
    claimed: float
    epsilon: float
    delta: float = 0.0
    unit: str = UNIT
    scope: Scope = "output"
    trust: Trust
    status: Status
    conditions: Conditions
    why: str
    formula: str
    paper_claim: str = ""
    paper_verdict: Verdict = "none"
    difference: str = ""
    rigorous_change: str = ""
    lower_bound: float = math.nan
    output_epsilon: float | None = None
    entries: int | None = None
    group: Group = "pure"
    multiplier: float = math.nan
    simulated: bool = False

    def __post_init__(self) -> None:
        check_choice("scope", self.scope, ("output", "entry"))
        check_choice("trust", self.trust, ("local", "central", "none"))
        check_choice("status", self.status, ("proven", "violated", "open"))
        check_choice("conditions", self.conditions, tuple(_CONDITIONS))
        check_choice("paper_verdict", self.paper_verdict, tuple(_VERDICT))
        check_choice("group", self.group, GROUPS)
        for name in ("claimed", "epsilon", "output_epsilon"):
            # None for no further epsilon; infinite where nothing is proven.
            value = getattr(self, name)
            if value is not None and not value >= 0.0:
                raise ValueError(f"{name} must be a number of at least 0, or infinite, got {value!r}.")
        check_number("delta", self.delta, low=0.0, high=1.0, open_high=True)
        if self.scope == "entry" and self.output_epsilon is None:
            raise ValueError("output_epsilon must be given for scope 'entry': the whole output costs more.")

    @property
    def holds(self) -> bool:
        """Proven, and the proven epsilon is finite and at most the claimed one."""
        return self.status == "proven" and math.isfinite(self.epsilon) and self.epsilon <= self.claimed

    @property
    def total_epsilon(self) -> float:
        """What releasing the whole output costs: ``epsilon``, or ``output_epsilon`` where that is for one entry."""
        return self.epsilon if self.output_epsilon is None else self.output_epsilon

    @property
    def release_allowed(self) -> bool:
        """Whether the output may leave the owner's hands under this statement."""
        return not self._refusal()

    @property
    def release_reason(self) -> str:
        """Why a release is allowed or refused, in one sentence."""
        return self._refusal() or RELEASABLE

    def _refusal(self) -> str:
        if self.trust == "none":
            return "It may not be released: nothing in it is protected."
        if self.scope == "entry":
            return (
                "It may not be released as a matrix: the statement covers one entry fixed in advance; name the entries "
                "that are wanted, or add a ridge with delta."
            )
        if self.status != "proven" or not self.holds:
            return (
                f"It may not be released: epsilon = {number(self.claimed)} "
                f"{'is known not to hold' if self.status == 'violated' else 'is not proven'} for this calibration."
            )
        if self.conditions == "exact minimiser":
            return "It may not be released: the statement is about an exact minimiser, which no solver returns."
        if self.simulated:
            return "It may not be released: its noise came from a seed; release with rng=obmc.SECURE."
        return ""

    def drawn(self, simulated: bool) -> Guarantee:
        """The same statement for noise that was drawn from a seed (a simulation) or for a release."""
        return replace(self, simulated=simulated)

    def user_epsilon(self, ratings: int, delta: float | None = None) -> float:
        """The epsilon for one user with m ratings, all of whose signs may differ: pure, or at ``delta`` if given.

        Pure: m eps (infinite with Gaussian noise), eps where any change of the data is covered. At delta: the exact
        value of randomised response for noise on each bit apart (an upper bound for noises other than randomised
        response and the geometric one), the Gaussian value at sqrt(m) or m times the sensitivity.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        count = check_integer("ratings", ratings, low=1)
        if not math.isfinite(self.total_epsilon):
            return math.inf
        if self.group == "any change":
            return self.total_epsilon
        if self.group in ("gaussian bits", "gaussian"):
            if delta is None:
                return math.inf
            growth = math.sqrt(count) if self.group == "gaussian bits" else float(count)
            return accounting.gaussian_epsilon(delta, self.multiplier / growth)
        if delta is None or self.group == "pure":
            return self.total_epsilon * count
        return accounting.rr_user_epsilon(self.total_epsilon, count, check_delta("delta", delta))

    # Words --------------------------------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """The statement in a few words, for the head of a card."""
        if self.trust == "none":
            return "No privacy"
        what = "one entry fixed in advance" if self.scope == "entry" else "the whole output"
        if self.entries is not None:
            what = "the one named entry" if self.entries == 1 else f"the {self.entries} named entries"
        level = f"epsilon = {number(self.epsilon)}"
        if self.delta > 0.0:
            level += f", delta = {number(self.delta)}"
        if self.holds:
            return f"{level} for {what}"
        verdict = {"violated": "does not hold", "open": "is not proven", "proven": "is exceeded"}[self.status]
        return f"The asked epsilon = {number(self.claimed)} {verdict}; proven for {what}: {level}"

    def sentences(self, audience: Audience = "student") -> list[tuple[str, str]]:
        """The statement as (topic, text) pairs, for a card that lays them out.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        check_choice("audience", audience, ("student", "expert"))
        parts = self._expert() if audience == "expert" else self._student()
        return [(topic, text) for topic, text in parts if text]

    def explain(self, audience: Audience = "student") -> str:
        """The statement as text: plain words for a "student", formulas for an "expert"."""
        return "\n\n".join(text for _, text in self.sentences(audience))

    def _student(self) -> list[tuple[str, str]]:
        return [
            ("Simulation", SIMULATION if self.simulated else ""),
            ("Protected", "" if self.trust == "none" else f"Protected is {self.unit}."),
            ("Strength", self._strength()),
            ("Scope", self._scope()),
            ("Why", self.why),
            ("Trust", _TRUST[self.trust]),
            ("Conditions", _CONDITIONS[self.conditions]),
            ("One person", self._person()),
            ("The paper", self._paper()),
            ("Rigorous against paper", self.rigorous_change),
            ("Release", "" if self.simulated else self.release_reason),
        ]

    def _expert(self) -> list[tuple[str, str]]:
        level = rf"\varepsilon = {_tex(self.epsilon)}"
        if self.delta > 0.0:
            level += rf",\ \delta = {_tex(self.delta)}"
        status = {
            "proven": "proven",
            "violated": "violated: a pair of neighbouring data sets is known that exceeds it",
            "open": "open: neither proven nor refuted",
        }[self.status]
        bound = rf"The true $\varepsilon$ is at least ${_tex(self.lower_bound)}$." if self.lower_bound > 0.0 else ""
        scope = (
            rf"Scope: one entry fixed in advance; the whole output has $\varepsilon = {_tex(self.total_epsilon)}$."
            if self.scope == "entry"
            else "Scope: everything that leaves the mechanism."
        )
        if self.trust == "none":
            level, scope, status = r"\varepsilon = \infty", "", "there is no guarantee"
        return [
            ("Simulation", SIMULATION if self.simulated else ""),
            (
                "Unit",
                r"Neighbours share $\Omega$ and differ in the sign of one observed entry $Y_{pq}$; $\Omega$ is public.",
            ),
            ("Strength", f"${level}$; asked: ${_tex(self.claimed)}$, {status}. {bound}".strip()),
            ("Scope", scope),
            ("Why", self.formula),
            ("Trust", {"local": "Local model.", "central": "Central model.", "none": ""}[self.trust]),
            ("Conditions", _CONDITIONS_EXPERT[self.conditions]),
            ("One person", self._person_expert()),
            ("The paper", self._paper()),
            ("Rigorous against paper", self.rigorous_change),
            ("Release", "" if self.simulated else self.release_reason),
        ]

    def _strength(self) -> str:
        if self.trust == "none":
            return "There is no limit on what the result reveals about a rating."
        text = limit(self.epsilon, self.delta)
        text = text[0].upper() + text[1:]
        if math.isfinite(self.epsilon):
            text += f" (epsilon = {number(self.epsilon)})"
            if self.epsilon >= UNSPEAKABLE:
                text += ": that is no protection to speak of"
        text += "."
        if not self.holds:
            asked = f"What was asked for, epsilon = {number(self.claimed)}, "
            known = {
                "violated": "does not hold",
                "open": "is neither proven nor refuted",
                "proven": "is less than what is proven",
            }[self.status]
            text += f" {asked}{known}."
        if self.lower_bound > self.claimed:
            text += f" The true epsilon is at least {number(self.lower_bound)}."
        return text

    def _scope(self) -> str:
        if self.trust == "none":
            return ""
        if self.scope == "entry":
            return (
                "This is said of a single entry of the matrix that was chosen without looking at the ratings. The "
                "matrix as a whole, a list of favourites, or anything else that mixes entries is protected at epsilon "
                f"= {number(self.total_epsilon)} only."
            )
        if self.entries is not None:
            answers = "one answer" if self.entries == 1 else f"{self.entries} answers together"
            return f"This is said of the {answers}, and of nothing else: no other entry may be shown."
        return "This is said of everything that leaves the mechanism together, and of whatever is made of it later."

    def _person(self) -> str:
        if math.isinf(self.epsilon):
            return ""
        if self.group == "any change":
            return "A person is protected at the same level as one rating, however many ratings they gave."
        if self.group in ("gaussian bits", "gaussian"):
            return (
                "A person with many ratings is protected less: the noise stays, and what it has to hide grows with "
                f"{'the square root of the number' if self.group == 'gaussian bits' else 'the number'} of ratings."
            )
        return (
            "A person with many ratings is protected less than one rating: with m ratings at m times this epsilon "
            f"({number(10 * self.total_epsilon)} for 10 ratings)."
        )

    def _person_expert(self) -> str:
        if math.isinf(self.epsilon):
            return ""
        return {
            "bits": r"A user with $m$ ratings: $m\varepsilon$, or the $m$-fold value of randomised response at "
            r"$\delta$.",
            "pure": r"A user with $m$ ratings: $m\varepsilon$.",
            "any change": r"A user with $m$ ratings: $\varepsilon$; any change of the data is covered.",
            "gaussian bits": r"A user with $m$ ratings: $L_2$ sensitivity $\sqrt{m}$ times that of one.",
            "gaussian": r"A user with $m$ ratings: $L_2$ sensitivity at most $m$ times that of one.",
        }[self.group]

    def _paper(self) -> str:
        if not self.paper_claim:
            return self.difference
        verdict = _VERDICT[self.paper_verdict]
        return " ".join(part for part in (f"The paper states: {self.paper_claim}", verdict, self.difference) if part)

    # Statement ----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The statement for a JSON file: all fields and the texts; "infinite" and None stand for inf and nan."""
        statement: dict[str, Any] = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        statement |= {
            "holds": self.holds,
            "total_epsilon": _plain(self.total_epsilon),
            "release_allowed": self.release_allowed,
            "release_reason": self.release_reason,
            "assumptions": list(ASSUMPTIONS),
            "in_words": self.explain("student"),
            "for_experts": self.explain("expert"),
        }
        return statement


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "infinite"
    return value


def _tex(value: float) -> str:
    if math.isinf(value):
        return r"\infty"
    if value != 0.0 and (abs(value) < 1e-3 or abs(value) >= 1e7):
        mantissa, exponent = f"{value:.3g}".split("e") if "e" in f"{value:.3g}" else (f"{value:.3g}", "0")
        power = rf"10^{{{int(exponent)}}}"
        return power if mantissa == "1" else rf"{mantissa} \cdot {power}"
    return number(value).replace(",", r"\,")
