"""What the paper says about its figures, each statement put to the rows of the figures computed here.

A statement consists of checks. A check is one number about one curve, from the draws that both of its sides share, with
its 95 % interval, and the range that the statement asks for: it is met where the interval lies within the range, missed
where it lies outside, and open where it lies across an end. The verdict follows from the checks alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc.experiments.measures import find_measure
from obmc.lazy import lazy_property
from obmc.summary import Mean

Array = NDArray[np.float64]
Tables = Mapping[str, pd.DataFrame]

CONFIDENCE = 0.95
HOLDS, IN_PART, FAILS, OPEN, NOT_COMPUTED = "holds", "holds in part", "does not hold", "open", "not computed"
VERDICTS = (HOLDS, IN_PART, FAILS, OPEN, NOT_COMPUTED)
FOUR = ("InP", "ObjP", "GraP", "OutP")
THREE = ("InP", "ObjP", "GraP")
PROJECTED = "OutP projected"

SYNTHETIC, MOVIES, PLACES, RATIO = ("1a", "1b"), ("2a", "2b"), ("3a", "3b"), ("4", "5")
# What the rules below mean by the paper's words.
LITTLE = 0.5  # "less sensitive": the error at epsilon 1 is at most this much above that at 10
COMPARABLE = 0.25  # "comparable": within a quarter
GOOD = 0.68  # the paper's number
LEVEL = 0.10  # "levels off"
DRASTIC = 1.0  # "changes drastically": at least doubles
MARGINAL_ERROR = 0.10  # "marginal loss", of the relative error without privacy
MARGINAL_ACCURACY = 0.02  # "marginal loss", of sign accuracy
_SHORT, _LONG = 1.0, 10.0  # the ends of the paper's range of epsilon
_RATIO_EPSILONS = (0.5, 1.0, 5.0, 10.0)
_RATIO_ENDS = (0.2, 0.8)
_RATIO_PLACES = (0.2, 0.5, 0.8)


@dataclass(frozen=True)
class Check:
    """One number about one curve, and the range that a statement asks of it.

    Attributes
    ----------
    figure, mechanism
        Where it is from.
    what
        The number, in words.
    value, low, high
        The mean over the draws and its 95 % interval.
    draws
        How many.
    least, most
        The range that it has to lie in; infinite for no bound.
    percent
        Whether it is a share.
    """

    figure: str
    mechanism: str
    what: str
    value: float
    low: float
    high: float
    draws: int
    least: float
    most: float
    percent: bool

    @property
    def outcome(self) -> str:
        """``HOLDS``, ``FAILS`` or ``OPEN``."""
        if self.low >= self.least and self.high <= self.most:
            return HOLDS
        return FAILS if self.high < self.least or self.low > self.most else OPEN


@dataclass(frozen=True)
class Statement:
    """A statement of the paper with what was measured.

    Attributes
    ----------
    key
        Its name here.
    figures
        Those that it is about.
    claim
        What the paper says.
    rule
        How it is judged.
    checks
        What was measured, at the paper's calibration.
    projected
        The same with OutP's matrix projected on the constraint set after the noise; not part of the verdict.
    why
        The reason where it does not hold, or not for all.
    missing
        The curves that it is about and that were not computed, as "2a GraP": without them it holds in part at most.
    """

    key: str
    figures: tuple[str, ...]
    claim: str
    rule: str
    checks: tuple[Check, ...]
    projected: tuple[Check, ...]
    why: str
    missing: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """One of ``VERDICTS``."""
        outcomes = {check.outcome for check in self.checks}
        if not outcomes:
            return NOT_COMPUTED
        if outcomes == {HOLDS} and not self.missing:
            return HOLDS
        if HOLDS in outcomes:
            return IN_PART
        return FAILS if FAILS in outcomes else OPEN

    @property
    def reason(self) -> str:
        """``why`` where a check is missed or open, else nothing."""
        return self.why if self.counts[FAILS] or self.counts[OPEN] else ""

    @property
    def counts(self) -> dict[str, int]:
        """How many checks have which outcome."""
        return {outcome: sum(check.outcome == outcome for check in self.checks) for outcome in (HOLDS, FAILS, OPEN)}


class Curves:
    """The rows of the figures by mechanism and place, draw by draw: the first metric, at the paper's calibration."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @lazy_property
    def _series(self) -> dict[tuple[str, str, float], dict[float, pd.Series]]:
        """The values by repetition, by (figure, mechanism, epsilon) and ratio."""
        found: dict[tuple[str, str, float], dict[float, pd.Series]] = {}
        for figure, table in self._tables.items():
            rows = table[(table["metric"] == table["metric"].iloc[0]) & table["calibration"].isin(("paper", ""))]
            for (name, options, epsilon, ratio), part in rows.groupby(["mechanism", "options", "epsilon", "ratio"]):
                label = _LABELS.get((name, options))
                if label is not None:
                    values = part.set_index("repetition")["value"]
                    found.setdefault((figure, label, float(epsilon)), {})[float(ratio)] = values
        return found

    def lower_is_better(self, figure: str) -> bool:
        """Whether the figure shows an error."""
        table = self._tables[figure]
        return find_measure(str(table["metric"].iloc[0])).lower_is_better

    def at(self, figure: str, mechanism: str, epsilon: float = math.inf, ratio: float | None = None) -> pd.Series:
        """The values by repetition, at the only ratio where none is given; empty where nothing was computed."""
        places = self._series.get((figure, mechanism, epsilon), {})
        if ratio is None and len(places) == 1:
            (ratio,) = places
        return places.get(ratio, _NOTHING) if ratio is not None else _NOTHING

    def epsilons(self, figure: str, mechanism: str) -> list[float]:
        """Those that were computed, in order."""
        return sorted({key[2] for key in self._series if key[:2] == (figure, mechanism)})


_NOTHING = pd.Series(dtype=np.float64)
_LABELS = {(name, "{}"): name for name in (*FOUR, "Clear", "Majority")} | {
    ("OutP", '{"postprocess":"project"}'): PROJECTED
}


# Numbers with intervals -----------------------------------------------------------------------------------------------


def mean_interval(values: Array) -> tuple[float, float, float]:
    """Mean and 95 % interval by Student's law; nan for the interval of a single draw."""
    found = Mean.of(values)
    return found.value, found.value - found.half, found.value + found.half


def ratio_interval(above: Array, below: Array) -> tuple[float, float, float]:
    """mean(above) / mean(below), with the interval of the linearised ratio (delta method, pairs kept together)."""
    ratio = float(above.mean() / below.mean())
    _, low, high = mean_interval(above - ratio * below)
    scale = abs(float(below.mean()))
    return ratio, ratio + low / scale, ratio + high / scale


def _paired(*series: pd.Series) -> list[Array]:
    """The values of the draws that all have; arrays of length 0 where there are none."""
    table = pd.concat(series, axis=1, join="inner").dropna()
    return [table.iloc[:, place].to_numpy(dtype=np.float64) for place in range(len(series))]


@dataclass(frozen=True)
class _Maker:
    """Makes the checks of one curve; none where its draws are not there."""

    curves: Curves
    figure: str
    mechanism: str

    def difference(
        self, what: str, more: pd.Series, less: pd.Series, least: float = -math.inf, most: float = math.inf
    ) -> Iterator[Check]:
        """``more`` minus ``less``, draw by draw."""
        first, second = _paired(more, less)
        if len(first):
            yield self._made(what, mean_interval(first - second), len(first), least, most, self._shares)

    def excess(
        self, what: str, more: pd.Series, less: pd.Series, least: float = -math.inf, most: float = math.inf
    ) -> Iterator[Check]:
        """How much more ``more`` is than ``less``, as a share of ``less``."""
        first, second = _paired(more, less)
        if len(first):
            yield self._made(what, ratio_interval(first - second, second), len(first), least, most, True)

    def level(self, what: str, values: pd.Series, least: float = -math.inf, most: float = math.inf) -> Iterator[Check]:
        """The value itself."""
        (found,) = _paired(values)
        if len(found):
            yield self._made(what, mean_interval(found), len(found), least, most, self._shares)

    @property
    def _shares(self) -> bool:
        return not self.curves.lower_is_better(self.figure)

    def _made(
        self,
        what: str,
        found: tuple[float, float, float],
        draws: int,
        least: float,
        most: float,
        percent: bool,
    ) -> Check:
        return Check(self.figure, self.mechanism, what, *found, draws, least, most, percent)

    def at(self, epsilon: float, ratio: float | None = None) -> pd.Series:
        return self.curves.at(self.figure, self.mechanism, epsilon, ratio)

    def other(self, mechanism: str, epsilon: float = math.inf, ratio: float | None = None) -> pd.Series:
        return self.curves.at(self.figure, mechanism, epsilon, ratio)


def _each(figures: Iterable[str], mechanisms: Iterable[str]) -> list[tuple[str, str]]:
    return [(figure, mechanism) for figure in figures for mechanism in mechanisms]


def _share(value: float) -> str:
    return f"{100 * value:g} %"


# The statements -------------------------------------------------------------------------------------------------------


def _fall(make: _Maker) -> Iterator[Check]:
    yield from make.difference("error at epsilon 1 minus at 10", make.at(_SHORT), make.at(_LONG), least=0.0)


def _nearer(make: _Maker) -> Iterator[Check]:
    clear, first, last = make.other("Clear"), make.at(_SHORT), make.at(_LONG)
    what = "distance to Clear at epsilon 1 minus at 10"
    start, end, base = _paired(first, last, clear)
    if len(base):
        # Of the means: the distances of single draws carry their noise, whatever its sign.
        sign = np.sign((start - base).mean()), np.sign((end - base).mean())
        distances = sign[0] * (start - base) - sign[1] * (end - base)
        yield make._made(what, mean_interval(distances), len(base), 0.0, math.inf, make._shares)


def _steady(make: _Maker) -> Iterator[Check]:
    least, most = (-LITTLE, LITTLE) if make.mechanism != "OutP" else (LITTLE, math.inf)
    what = "error at epsilon 1 above that at 10, as a share of it"
    yield from make.excess(what, make.at(_SHORT), make.at(_LONG), least, most)


def _worst(make: _Maker) -> Iterator[Check]:
    for other in THREE:
        what = f"error at epsilon 1 minus that of {other}"
        yield from make.difference(what, make.at(_SHORT), make.other(other, _SHORT), least=0.0)


def _comparable(make: _Maker) -> Iterator[Check]:
    for other in THREE:
        what = f"error at epsilon 4 above that of {other}, as a share of it"
        yield from make.excess(what, make.at(4.0), make.other(other, 4.0), most=COMPARABLE)


def _good(make: _Maker) -> Iterator[Check]:
    yield from make.level("accuracy at epsilon 4", make.at(4.0), least=GOOD)


def _best(make: _Maker) -> Iterator[Check]:
    for other in THREE:
        common = [e for e in make.curves.epsilons(make.figure, make.mechanism) if len(make.other(other, e))]
        if common:
            mine = sum((make.at(e) for e in common[1:]), make.at(common[0])) / len(common)
            theirs = sum((make.other(other, e) for e in common[1:]), make.other(other, common[0])) / len(common)
            what = f"mean accuracy over all epsilons minus that of {other}"
            yield from make.difference(what, mine, theirs, least=0.0)


def _inferior(make: _Maker) -> Iterator[Check]:
    for other in THREE:
        what = f"accuracy at epsilon 1 minus that of {other}"
        yield from make.difference(what, make.at(_SHORT), make.other(other, _SHORT), least=0.0)


def _rise(make: _Maker) -> Iterator[Check]:
    yield from make.difference("accuracy at epsilon 10 minus at 1", make.at(_LONG), make.at(_SHORT), least=0.0)


def _rise_to_clear(make: _Maker) -> Iterator[Check]:
    yield from _rise(make)
    yield from _nearer(make)


def _unsatisfactory(make: _Maker) -> Iterator[Check]:
    what = "accuracy at epsilon 1 minus that of the majority class"
    yield from make.difference(what, make.at(_SHORT), make.other("Majority"), most=0.0)


def _more_data(make: _Maker) -> Iterator[Check]:
    few, many = _RATIO_ENDS
    for epsilon in _RATIO_EPSILONS:
        what = f"error at {_share(few)} observed minus at {_share(many)}, epsilon {epsilon:g}"
        yield from make.difference(what, make.at(epsilon, few), make.at(epsilon, many), least=0.0)


def _levels_off(make: _Maker) -> Iterator[Check]:
    for ratio in _RATIO_PLACES:
        first, middle, last = (make.at(epsilon, ratio) for epsilon in (0.5, 5.0, 10.0))
        yield from make.excess(
            f"error at epsilon 5 above that at 10, as a share of it, {_share(ratio)} observed",
            middle,
            last,
            most=LEVEL,
        )
        start, half, end = _paired(first, middle, last)
        if len(end):
            what = f"share of the fall from epsilon 0.5 to 10 that is left after 5, {_share(ratio)} observed"
            yield make._made(what, ratio_interval(half - end, start - end), len(end), -math.inf, LEVEL, True)


def _drastic(make: _Maker) -> Iterator[Check]:
    for ratio in _RATIO_PLACES:
        what = f"error at epsilon 0.5 above that at 10, as a share of it, {_share(ratio)} observed"
        yield from make.excess(what, make.at(0.5, ratio), make.at(10.0, ratio), least=DRASTIC)


def _regardless(make: _Maker) -> Iterator[Check]:
    few, many = _RATIO_ENDS
    for epsilon in (0.5, 1.0):
        what = f"error at {_share(few)} observed above that at {_share(many)}, as a share of it, epsilon {epsilon:g}"
        yield from make.excess(what, make.at(epsilon, few), make.at(epsilon, many), -COMPARABLE, COMPARABLE)


def _marginal(make: _Maker) -> Iterator[Check]:
    clear = make.other("Clear")
    if not len(clear):
        return
    if make.curves.lower_is_better(make.figure):
        what = "error at epsilon 1 above that of Clear, as a share of it"
        yield from make.excess(what, make.at(_SHORT), clear, most=MARGINAL_ERROR)
    else:
        what = "accuracy of Clear minus that at epsilon 1"
        yield from make.difference(what, clear, make.at(_SHORT), most=MARGINAL_ACCURACY)


@dataclass(frozen=True)
class _Rule:
    key: str
    figures: tuple[str, ...]
    mechanisms: tuple[str, ...]
    claim: str
    rule: str
    checks: Callable[[_Maker], Iterator[Check]]
    why: str

    @property
    def curves(self) -> tuple[str, ...]:
        """The mechanisms whose curves it needs: its own, and those that they are compared with."""
        others = THREE if self.checks in (_worst, _comparable, _best, _inferior) else ()
        return tuple(dict.fromkeys((*self.mechanisms, *others)))


_RAW_OUTP = (
    "OutP as the paper describes it adds Laplace noise to every entry of the finished matrix and leaves it there: that "
    "adds 8 alpha²/epsilon² to the squared error of every entry in expectation, whatever the data."
)
_WEAK_GRAP = (
    "GraP looks at the ratings K = 10 times, so that each look has ten times the noise of one; ten noisy steps from "
    "zero leave a shrunken, noisy estimate."
)

_RULES = (
    _Rule(
        "errors-fall",
        SYNTHETIC,
        FOUR,
        "On synthetic data the errors fall as epsilon grows.",
        "The error at epsilon 1 is above that at 10.",
        _fall,
        _WEAK_GRAP + " With the logistic link less noise lets it go further from zero, towards Clear's larger error.",
    ),
    _Rule(
        "errors-approach-clear",
        SYNTHETIC,
        FOUR,
        "On synthetic data the errors approach that of Clear.",
        "The mean error is nearer to Clear's at epsilon 10 than at 1.",
        _nearer,
        "GraP never comes near: its early stop shrinks the estimate, which at this setting looks like accuracy, since "
        "Clear itself does worse than a matrix of zeros (error 1). With less noise it is still further below Clear.",
    ),
    _Rule(
        "little-sensitive",
        SYNTHETIC,
        FOUR,
        "ObjP, GraP and InP are little sensitive to epsilon on synthetic data, in contrast to OutP.",
        f"The error at epsilon 1 is within {_share(LITTLE)} of that at 10; for OutP it is further above.",
        _steady,
        "The noise of these mechanisms goes through the estimator, whose constraints bound what it can do.",
    ),
    _Rule(
        "outp-worst",
        SYNTHETIC,
        ("OutP",),
        "OutP is the worst at small epsilon on synthetic data.",
        "Its error at epsilon 1 is above that of each of the others.",
        _worst,
        _RAW_OUTP,
    ),
    _Rule(
        "outp-comparable",
        SYNTHETIC,
        ("OutP",),
        "At epsilon 4 OutP is comparable to the others on synthetic data.",
        f"Its error is at most {_share(COMPARABLE)} above that of each of the others.",
        _comparable,
        _RAW_OUTP + " At epsilon 4 that alone is more than the error of the estimate. A projection of the noised "
        "matrix on the constraint set, which the paper does not mention, takes most of it away again, "
        "and the guarantee with it.",
    ),
    _Rule(
        "movies-above-68",
        MOVIES,
        FOUR,
        "On ML-100K all four mechanisms have an accuracy above 68 % at epsilon 4.",
        f"The accuracy at epsilon 4 is above {_share(GOOD)}.",
        _good,
        _WEAK_GRAP + " OutP without projection loses by its own noise, as large as the entries that it is added to.",
    ),
    _Rule(
        "movies-outp-best",
        MOVIES,
        ("OutP",),
        "On ML-100K OutP is the best of the four.",
        "Its accuracy, averaged over all epsilons, is above that of each of the others.",
        _best,
        _RAW_OUTP + " A projection on the constraint set averages the noise of 1.6 million entries out; but a "
        "projected matrix is not protected at the epsilon that is printed.",
    ),
    _Rule(
        "small-epsilon-inferior",
        MOVIES + PLACES,
        ("OutP",),
        "On real data InP, ObjP and GraP are inferior at small epsilon.",
        "The accuracy of OutP at epsilon 1 is above that of each of them.",
        _inferior,
        "They are poor at epsilon 1, but so is OutP without projection.",
    ),
    _Rule(
        "movies-approach-clear",
        MOVIES,
        FOUR,
        "On ML-100K all four get better with epsilon and approach Clear.",
        "The accuracy at epsilon 10 is above that at 1, and nearer to Clear's.",
        _rise_to_clear,
        _WEAK_GRAP,
    ),
    _Rule(
        "places-unsatisfactory",
        PLACES,
        THREE,
        "On RC the results of InP, ObjP and GraP at epsilon 1 are unsatisfactory.",
        "The accuracy is not above that of the majority class.",
        _unsatisfactory,
        "With 232 test ratings a draw's accuracy has a standard error of three per cent, so that ten draws leave some "
        "of this open.",
    ),
    _Rule(
        "places-trade-off",
        PLACES,
        FOUR,
        "On RC the mechanisms show the expected trade-off between privacy and accuracy.",
        "The accuracy at epsilon 10 is above that at 1.",
        _rise,
        _WEAK_GRAP + " On RC even Clear is little better than the majority class, so that there is little to trade.",
    ),
    _Rule(
        "more-data",
        RATIO,
        FOUR,
        "The errors fall with the observation ratio for all four mechanisms.",
        "At each of four epsilons the error at 20 % observed is above that at 80 %.",
        _more_data,
        "GraP's estimate is the more shrunken the fewer entries are observed, and a shrunken one looks better than a "
        "poor one. Where noise is most of the error, as for OutP at small epsilon, more data change little of it.",
    ),
    _Rule(
        "levels-off",
        RATIO,
        ("InP", "OutP"),
        "The errors of InP and OutP level off after about epsilon 5.",
        f"The error at epsilon 5 is at most {_share(LEVEL)} above that at 10, and at most {_share(LEVEL)} of the fall "
        "from epsilon 0.5 to 10 is left.",
        _levels_off,
        "What OutP's noise adds falls like 1/epsilon², to a quarter from 5 to 10. On an axis that shows its error at "
        "small epsilon the rest looks level all the same, which the second number says.",
    ),
    _Rule(
        "objp-drastic",
        RATIO,
        ("ObjP",),
        "The error of ObjP changes drastically with epsilon.",
        "The error at epsilon 0.5 is at least twice that at 10.",
        _drastic,
        "The constraints bound what the noise in the objective can do, the less so the more entries carry signal.",
    ),
    _Rule(
        "regardless-of-ratio",
        RATIO,
        ("ObjP", "OutP"),
        "At epsilon 1 and below, ObjP and OutP are insensitive to the observation ratio.",
        f"The error at 20 % observed is within {_share(COMPARABLE)} of that at 80 %.",
        _regardless,
        "For OutP the noise on the entries is nearly all of the error. ObjP's noise is averaged over the observed "
        "entries, so that more of them do help.",
    ),
    _Rule(
        "marginal-loss",
        SYNTHETIC + MOVIES + PLACES,
        FOUR,
        "High privacy costs a marginal loss of accuracy.",
        f"At epsilon 1 the error is at most {_share(MARGINAL_ERROR)} above Clear's (synthetic data), or the accuracy "
        f"at most {100 * MARGINAL_ACCURACY:g} percentage points below it (real data).",
        _marginal,
        "At epsilon 1 the noise is as large as the signal of a rating. On synthetic data the loss looks small because "
        "Clear itself does worse than a matrix of zeros, so that there is little to lose.",
    ),
)  # fmt: skip
_WITH_PROJECTION = frozenset(
    (
        "outp-comparable", "movies-above-68", "movies-outp-best", "small-epsilon-inferior", "movies-approach-clear",
        "levels-off", "marginal-loss",
    )
)  # fmt: skip


def judge(tables: Tables) -> list[Statement]:
    """All statements with what the rows say of them.

    Parameters
    ----------
    tables
        The figures' rows by the figures' names, as from ``figures.shipped_rows``. What is missing is not computed.
    """
    curves = Curves({name: table for name, table in tables.items() if not table.empty})
    present = set(curves._tables)
    found = []
    for rule in _RULES:
        figures = [figure for figure in rule.figures if figure in present]
        checks = [check for where in _each(figures, rule.mechanisms) for check in rule.checks(_Maker(curves, *where))]
        projected = []
        if rule.key in _WITH_PROJECTION:
            projected = [
                check for where in _each(figures, (PROJECTED,)) for check in rule.checks(_Maker(curves, *where))
            ]
        missing = tuple(
            f"{figure} {name}" for figure, name in _each(rule.figures, rule.curves) if not curves.epsilons(figure, name)
        )
        found.append(
            Statement(rule.key, rule.figures, rule.claim, rule.rule, tuple(checks), tuple(projected), rule.why, missing)
        )
    return found
