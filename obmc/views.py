"""What a page shows, as a value: charts, numbers, words and guarantees, the same for pages and for files to take away.

A view is frozen and holds settings only. ``compute`` gives the data that it is drawn from, the same numbers wherever it
is called; a page that has the data already hands them to the other methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from obmc import plots, summary
from obmc.errors import check_choice
from obmc.experiments.executors import open_executor
from obmc.experiments.measures import MEASURES
from obmc.experiments.runner import one_blas_thread, run
from obmc.experiments.sweep import FIELDS
from obmc.lazy import lazy_property
from obmc.offers import DATA_TITLES, Offer, noise_text
from obmc.pins import Pin
from obmc.plan import Curve, Plan, key_of, metrics_for
from obmc.privacy import Guarantee
from obmc.reading import rows_of
from obmc.single import Problem, Run, Setting, find_problem, matrices
from obmc.single import run as run_single
from obmc.summary import KEYS, Chart, as_frame

KINDS = ("mechanism", "epsilon", "heat")
TITLES = {"epsilon": "Epsilon", "ratio": "Share of entries observed"}
# Of the table of a chart's numbers. The last ones are the settings behind each number.
_SETTINGS = ("dataset", "link", "sigma", "alpha", "rank", "tau", "seed", "version")
COLUMNS = (
    *("series", "mechanism", "calibration", "options", "epsilon", "delta", "ratio"),
    *("metric", "quantity", "mean", "low", "high", "count", *_SETTINGS),
)
VALUE, LOSS = "value", "loss against Clear"


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, what it is called, and what it shows in words."""

    title: str
    figure: go.Figure
    alt: str


@dataclass(frozen=True)
class SeriesGuarantee:
    """What one series guarantees at one epsilon (infinite: none); ``refusal`` says why where it is not made at all."""

    series: str
    epsilon: float
    guarantee: Guarantee | None
    refusal: str = ""

    @property
    def text(self) -> str:
        """The statement in a line."""
        asked = "" if math.isinf(self.epsilon) else f" at epsilon = {self.epsilon:g}"
        said = f"refused: {self.refusal}" if self.guarantee is None else self.guarantee.headline
        return f"{self.series}{asked}: {said}"


class View(Protocol):
    """What all views can do. ``data`` is what ``compute`` gives."""

    @property
    def name(self) -> str:
        """For files and addresses."""

    @property
    def title(self) -> str:
        """Of the page."""

    @property
    def seed(self) -> str:
        """The seeds of data and noise, in words."""

    @property
    def at(self) -> float | None:
        """The epsilon that it is read at; None for none."""

    def compute(self, executor: Executor | None = None) -> Any:
        """All that is drawn, computed anew: curves by the executor, by default worker processes; one run right here."""

    def table(self, data: Any) -> pd.DataFrame:
        """Every number that is drawn, exactly, with the columns ``COLUMNS``."""

    def draws(self, data: Any) -> pd.DataFrame:
        """The single runs behind the numbers."""

    def pictures(self, data: Any, scale: float = 1.0) -> list[Picture]:
        """The charts; ``scale`` of text and lines."""

    def caption(self) -> str:
        """What the numbers are of, and that they can be had again."""

    def statements(self) -> list[SeriesGuarantee]:
        """What is guaranteed, for every series at every epsilon."""


# Many draws -----------------------------------------------------------------------------------------------------------


def compute(plans: Iterable[Plan], executor: Executor | None = None) -> list[pd.DataFrame]:
    """The rows of every run of each plan, one table a plan. ``executor`` as for ``obmc.experiments.run``."""
    with ExitStack() as stack:
        pool = stack.enter_context(open_executor()) if executor is None else executor
        return [as_frame(row for sweep in plan.sweeps for row in run(sweep, pool)) for plan in plans]


def ordered(rows: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """The rows in the order of the plan's own runs, whichever finished first.

    A mean depends in its last digit on the order in which its draws are added: in this order it is always the same.
    """
    places = {key_of(spec): place for place, (spec, _) in reversed(list(enumerate(plan.cells())))}
    keys = zip(*(rows[name].tolist() for name in KEYS), strict=True)
    place = [places.get(key, len(places)) for key in keys]
    order = np.lexsort([rows["ratio"], rows["repetition"], rows["epsilon"], place])
    return rows.iloc[order].reset_index(drop=True)


@dataclass(frozen=True)
class CurveView:
    """A chart of a plan. Raises ``ValueError`` naming what is wrong.

    Attributes
    ----------
    plan
        What is computed.
    kind
        "mechanism": a curve for each; "epsilon", "heat" (against the observation ratio only): a curve, or a row of
        colours, for each epsilon of one mechanism.
    epsilon
        Against epsilon: where it is read, drawn as a vertical line; None for none. Against the ratio: that of the
        curves, one of the plan's.
    curve
        The one mechanism of the kinds "epsilon" and "heat".
    loss
        Whether losses against Clear are drawn in place of values.
    singles
        Whether single draws are drawn too.
    log
        Whether epsilon and the error are on logarithmic axes, where these can be.
    """

    plan: Plan
    kind: str = "mechanism"
    epsilon: float | None = None
    curve: Curve | None = None
    loss: bool = False
    singles: bool = False
    log: tuple[bool, bool] = (True, True)

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        if self.kind != "mechanism" and (self.plan.by != "ratio" or self.curve not in self.plan.private):
            raise ValueError(f"kind {self.kind!r} needs a plan against the ratio, and curve one of its private curves.")
        if self.kind == "mechanism" and self.plan.by == "ratio" and self.epsilon not in self.plan.epsilons:
            raise ValueError(f"epsilon must be one of the plan's, {self.plan.epsilons}, got {self.epsilon!r}.")

    @property
    def name(self) -> str:
        return "trade-off" if self.plan.by == "epsilon" else "observation-ratio"

    @property
    def title(self) -> str:
        return "Trade-off" if self.plan.by == "epsilon" else "Observation ratio"

    @property
    def seed(self) -> str:
        return f"{self.plan.setting.seed}"

    @property
    def at(self) -> float | None:
        return self.epsilon

    def compute(self, executor: Executor | None = None) -> pd.DataFrame:
        return compute([self.plan], executor)[0]

    @lazy_property
    def _names(self) -> dict[float, str]:
        return {epsilon: f"epsilon = {epsilon:g}" for epsilon in self.plan.epsilons}

    def _drawn(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows that are drawn, as losses where these are wanted."""
        plan = self.plan
        found = plan.rows_of_metric(ordered(rows[rows["metric"] == plan.metric], plan))
        if self.kind == "mechanism" and plan.by == "ratio":
            found = found[found["epsilon"].isin([self.epsilon, math.inf])]
        return summary.losses(found, common=plan.one_reference) if self.loss else found

    def chart(self, rows: pd.DataFrame) -> Chart:
        """Means with their intervals of what is there of the plan's rows."""
        return self._chart(self._drawn(rows))

    def _chart(self, drawn: pd.DataFrame) -> Chart:
        plan = self.plan
        if self.kind == "mechanism":
            return summary.chart_of(drawn, plan.label, plan.by, loss=self.loss)
        return summary.chart_of(drawn, self._label, "ratio", (*KEYS, "epsilon"), loss=self.loss)

    def _label(self, mechanism: str, calibration: str, options: str, epsilon: float) -> str:
        """One mechanism with a series for each epsilon, beside the lines."""
        assert self.curve is not None
        if (mechanism, calibration, options) == key_of(self.curve.spec):
            return self._names.get(epsilon, "")
        if self.kind == "heat" or not math.isinf(epsilon):
            return ""
        return self.plan.label(mechanism, calibration, options)

    def table(self, data: pd.DataFrame) -> pd.DataFrame:
        drawn = self._drawn(data)
        return _table([self._chart(drawn)], drawn)

    def draws(self, data: pd.DataFrame) -> pd.DataFrame:
        drawn = self._drawn(data)
        if self.kind == "mechanism":
            series = [self.plan.label(*key) for key in zip(*(drawn[name] for name in KEYS), strict=True)]
        else:
            series = [self._label(*key) for key in zip(*(drawn[name] for name in (*KEYS, "epsilon")), strict=True)]
        named = drawn.assign(series=pd.Series(series, index=drawn.index, dtype=object))
        return _draws(named[named["series"] != ""], self.loss)

    def pictures(self, data: pd.DataFrame, scale: float = 1.0) -> list[Picture]:
        found = self.picture(self.chart(data), scale)
        return [] if found is None else [found]

    def picture(self, chart: Chart, scale: float = 1.0) -> Picture | None:
        """The figure of a chart; None where there is nothing to draw yet."""
        if chart.curves.empty and chart.levels.empty:
            return None
        if self.kind == "heat":
            return self._heat(chart, scale)
        plan, form = self.plan, self._form
        figure = plots.curves(
            chart.curves,
            x=plan.by,
            titles=(self.across, self._measured),
            levels=plots.Level.all_of(chart.levels),
            log=self._logarithmic,
            percent=MEASURES[plan.metric].is_share,
            draws=chart.draws if self.singles else None,
            marker=self.epsilon if plan.by == "epsilon" else None,
            stops=plan.epsilons if plan.by == "epsilon" else plan.ratios or (),
            scale=scale,
            styles=None if self.kind == "mechanism" else plots.sequential_styles(list(self._names.values())),
            height=_height(scale),
        )
        return Picture(self.subtitle or self.title, figure, summary.describe(chart, form))

    def _heat(self, chart: Chart, scale: float) -> Picture | None:
        cells, form = chart.curves, self._form
        if cells.empty:
            return None
        assert self.curve is not None
        title = "Loss" if self.loss else MEASURES[self.plan.metric].label
        figure = plots.heat_map(cells, title=title, percent=MEASURES[self.plan.metric].is_share, scale=scale)
        ends = cells.sort_values("mean")
        said = ", ".join(
            f"{cell['mean']:{form}} at epsilon {cell['epsilon']:g} and {cell['ratio']:.0%}"
            for cell in (ends.iloc[0], ends.iloc[-1])
        )
        return Picture(self.subtitle, figure, f"{title} of {self.curve.label} by epsilon and ratio, from {said}.")

    @property
    def _form(self) -> str:
        return MEASURES[self.plan.metric].form

    @property
    def across(self) -> str:
        """What is on the horizontal axis."""
        plan = self.plan
        return (
            "Share of training ratings kept"
            if plan.by == "ratio" and not plan.setting.is_synthetic
            else TITLES[plan.by]
        )

    @property
    def _measured(self) -> str:
        measure = MEASURES[self.plan.metric].label
        return f"Loss in {measure.lower()} against Clear" if self.loss else measure

    @property
    def _logarithmic(self) -> tuple[bool, bool]:
        # Shares are not of very different size, and losses may be negative.
        return (
            self.plan.by == "epsilon" and self.log[0],
            self.plan.metric in ("are", "log_loss") and not self.loss and self.log[1],
        )

    @property
    def subtitle(self) -> str:
        """Which part of the plan is drawn; "" for all of it."""
        if self.plan.by == "epsilon":
            return ""
        if self.kind == "mechanism":
            return f"At epsilon = {self.epsilon:g}."
        assert self.curve is not None
        return f"{self.curve.label}{', a curve for each epsilon' if self.kind == 'epsilon' else ''}."

    def caption(self) -> str:
        return describe_plan(self.plan, loss=self.loss)

    def statements(self) -> list[SeriesGuarantee]:
        plan = self.plan
        if self.kind != "mechanism" and self.curve is not None:
            curves: Sequence[Curve] = (self.curve,)
        else:
            curves = plan.curves
        one = self.kind == "mechanism" and plan.by == "ratio"
        epsilons = (self.epsilon,) if one and self.epsilon is not None else plan.epsilons
        return [found for curve in curves for found in _statements(plan, curve, curve.label, epsilons)]


def describe_plan(plan: Plan, *, loss: bool = False) -> str:
    """What the numbers of a plan are of, and that they can be had again."""
    setting = plan.setting
    used = dict.fromkeys(curve.calibration for curve in plan.curves if curve.offer.calibrated)
    parts = [DATA_TITLES[setting.data], noise_text(setting.noise, setting.sigma)]
    parts += [f"{' and '.join(used)} calibration"] if used else []
    parts += [f"alpha {setting.alpha:g}", f"rank {setting.rank}", f"radius {setting.radius:g} tau"]
    if setting.is_synthetic:
        size = f"{setting.size} x {setting.size} entries"
        parts += [size if plan.by == "ratio" else f"{setting.ratio:.0%} of {size} observed"]
    means = "Means of paired differences to Clear" if loss else "Means"
    return (
        f"{means} over draws with their 95 % intervals. {', '.join(parts)}. Seed {setting.seed}: the same settings "
        "give the same numbers again."
    )


def picture_grid(problem: Problem) -> tuple[int, int]:
    """In how many columns the matrices of a problem are drawn, and how high each is in pixels."""
    rows, cols = problem.train.shape
    return (2, round(400 * min(max(rows / cols, 0.4), 1.0))) if problem.truth is None else (4, 220)


def _height(scale: float) -> int:
    return round(460 * (1.0 if scale == 1.0 else 1.3))


def _statements(plan: Plan, curve: Curve, series: str, epsilons: Iterable[float]) -> list[SeriesGuarantee]:
    found = []
    for epsilon in epsilons if curve.offer.private else (math.inf,):
        try:
            guarantee = plan.guarantee(curve, epsilon if curve.offer.private else plan.setting.epsilon)
        except ValueError as error:
            found.append(SeriesGuarantee(series, epsilon, None, str(error)))
            continue
        found.append(SeriesGuarantee(series, epsilon, guarantee))
    return found


def _table(charts: Sequence[Chart], rows: pd.DataFrame) -> pd.DataFrame:
    """The means of charts with the settings of the rows that they are of."""
    both = pd.concat([part for chart in charts for part in (chart.curves, chart.levels)], ignore_index=True)
    own = [name for name in ("series", *KEYS, "epsilon", "ratio") if name in both.columns and name in rows.columns]
    rest = [name for name in COLUMNS if name in rows.columns and name not in both.columns]
    settings = rows.drop_duplicates(own)[[*own, *rest]]
    loss = any(chart.loss for chart in charts)
    found = both.merge(settings, on=own, how="left").assign(quantity=LOSS if loss else VALUE)
    return found[list(COLUMNS)]


def _draws(rows: pd.DataFrame, loss: bool) -> pd.DataFrame:
    found = rows[rows["series"] != ""].assign(quantity=LOSS if loss else VALUE)
    return found[["series", "quantity", *FIELDS]].reset_index(drop=True)


# Pinned results -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PinView:
    """Pinned curves of any settings in one chart, and their differences to one of them.

    ``pins`` have names of their own. ``metric``: a measure that all their data sets have. ``base``: the name of the pin
    that is subtracted from the others; "" for no differences.
    """

    pins: tuple[Pin, ...]
    metric: str
    base: str = ""

    def __post_init__(self) -> None:
        names = [pin.name for pin in self.pins]
        if not names or len(set(names)) < len(names):
            raise ValueError("pins must be at least one, and each must have a name of its own.")
        check_choice("metric", self.metric, common_metrics(self.pins))
        check_choice("base", self.base, ("", *names))

    @property
    def name(self) -> str:
        return "compare"

    @property
    def title(self) -> str:
        return "Compare"

    @property
    def seed(self) -> str:
        return ", ".join(f"{pin.setting.seed} ({pin.name})" for pin in self.pins)

    @property
    def at(self) -> float | None:
        return None

    @lazy_property
    def plans(self) -> dict[str, Plan]:
        """The plan of each pin by its name."""
        return {pin.name: replace(pin.plan, metric=self.metric) for pin in self.pins}

    def compute(self, executor: Executor | None = None) -> pd.DataFrame:
        plans = self.plans
        return self.gather(dict(zip(plans, compute(plans.values(), executor), strict=True)))

    def gather(self, rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        """The pins' own rows out of those of their plans, by name, with the pin's name as ``series``."""
        found = []
        for name, plan in self.plans.items():
            mine = rows_of(rows[name][rows[name]["metric"] == self.metric], plan.curves[0].spec)
            found.append(ordered(mine, plan).assign(series=name))
        return pd.concat(found, ignore_index=True)

    def rows(self, data: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The rows of each pin that has some."""
        found = {pin.name: data[data["series"] == pin.name] for pin in self.pins}
        return {name: mine.drop(columns="series") for name, mine in found.items() if len(mine)}

    def charts(self, data: pd.DataFrame) -> list[Chart]:
        """One for each pin that has rows."""
        return [summary.chart_of(mine, lambda *_, name=name: name) for name, mine in self.rows(data).items()]

    def table(self, data: pd.DataFrame) -> pd.DataFrame:
        charts = self.charts(data)
        return _table(charts, data) if charts else pd.DataFrame(columns=list(COLUMNS))

    def draws(self, data: pd.DataFrame) -> pd.DataFrame:
        return _draws(data, loss=False)

    def pictures(self, data: pd.DataFrame, scale: float = 1.0) -> list[Picture]:
        charts = self.charts(data)
        if not charts:
            return []
        form = MEASURES[self.metric].form
        table = pd.concat([chart.curves for chart in charts], ignore_index=True)
        figure = plots.curves(
            table,
            x="epsilon",
            titles=(TITLES["epsilon"], MEASURES[self.metric].label),
            levels=[level for chart in charts for level in plots.Level.all_of(chart.levels)],
            log=(True, self.metric == "are"),
            percent=form.endswith("%"),
            scale=scale,
            styles=plots.pin_styles([pin.name for pin in self.pins]),
            height=_height(scale),
        )
        words = "; ".join(
            f"{row.series}: {row.mean:{form}} at epsilon {row.epsilon:g}"
            for row in table.drop_duplicates("series").itertuples()
        )
        return [Picture(self.title, figure, f"Means against epsilon. {words}.")]

    def differences(self, data: pd.DataFrame) -> pd.DataFrame:
        """Each pin minus ``base``: as from ``summary.differences``, with the column ``pin``."""
        rows = self.rows(data)
        columns = ["pin", "epsilon", "difference", "low", "high", "draws", "paired"]
        if self.base not in rows:
            return pd.DataFrame(columns=columns)
        tables = [
            summary.differences(mine, rows[self.base]).assign(pin=name)
            for name, mine in rows.items()
            if name != self.base
        ]
        return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)

    def caption(self) -> str:
        return "Means over draws with their 95 % intervals; each pin has its own settings and seed."

    def statements(self) -> list[SeriesGuarantee]:
        plans = self.plans
        return [
            found
            for pin in self.pins
            for found in _statements(plans[pin.name], plans[pin.name].curves[0], pin.name, pin.epsilons)
        ]


def common_metrics(pins: Iterable[Pin]) -> tuple[str, ...]:
    """The measures that the data sets of all pins have."""
    known = list(pins)
    return tuple(name for name in MEASURES if all(name in metrics_for(pin.setting.data) for pin in known))


# One run --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OneRun:
    """The data of a ``RunView``: the problem, the run, and the measure of the estimator without noise."""

    problem: Problem
    run: Run
    clear: float


@dataclass(frozen=True)
class RunView:
    """One run of a mechanism, beside the estimator without noise and what knowing nothing scores."""

    offer: Offer
    setting: Setting = field(default_factory=Setting)

    @property
    def name(self) -> str:
        return "playground"

    @property
    def title(self) -> str:
        return "Playground"

    @property
    def seed(self) -> str:
        return f"{self.setting.seed}"

    @property
    def at(self) -> float | None:
        return self.setting.epsilon

    def compute(self, executor: Executor | None = None) -> OneRun:
        with one_blas_thread():
            problem, mine, clear = (
                find_problem(self.setting),
                run_single(self.setting),
                run_single(self.setting.clear()),
            )
        return OneRun(problem, mine, clear.score)

    def table(self, data: OneRun) -> pd.DataFrame:
        measure = data.problem.measure.name
        nothing = data.problem.baseline_label
        point, clear = self.setting.point, self.setting.clear().point
        guarantee = self.setting.guarantee
        lines = [{**clear.settings_row(), "series": "Clear", "delta": 0.0, "mean": data.clear}]
        if not self.setting.mechanism.is_plain_clear:
            own = {**point.settings_row(), "series": self.offer.label, "delta": guarantee.delta, "mean": data.run.score}
            lines.insert(0, own)
        line = {"mechanism": nothing, "calibration": "", "options": "{}", "series": nothing}
        lines.append({**clear.settings_row(), **line, "delta": 0.0, "mean": data.problem.baseline})
        found = pd.DataFrame(lines).assign(metric=measure, quantity=VALUE, low=math.nan, high=math.nan, count=1)
        return found[list(COLUMNS)]

    def draws(self, data: OneRun) -> pd.DataFrame:
        return self.table(data)

    def pictures(self, data: OneRun, scale: float = 1.0) -> list[Picture]:
        alpha = self.setting.alpha
        shown = matrices(data.problem, data.run)
        numbers = plots.matrix_numbers(shown, alpha)
        _, height = picture_grid(data.problem)
        found = []
        for order, (title, matrix) in enumerate(shown.items()):
            alt = plots.describe_matrix(title, matrix.shape, numbers.iloc[order])
            found.append(Picture(title, plots.picture(matrix, alpha, height), alt))
        return [*found, Picture("Colour scale", plots.colour_key(alpha), plots.describe_key(alpha))]

    def caption(self) -> str:
        setting = self.setting
        parts = [DATA_TITLES[setting.data], noise_text(setting.noise, setting.sigma)]
        parts += [f"{setting.mechanism.calibration} calibration"] if setting.mechanism.calibration else []
        parts += [f"alpha {setting.alpha:g}", f"rank {setting.rank}", f"radius {setting.radius:g} tau"]
        if setting.is_synthetic:
            parts += [f"{setting.ratio:.0%} of {setting.size} x {setting.size} entries observed"]
        return f"One run. {', '.join(parts)}. Seed {setting.seed}: the same settings give the same numbers again."

    def statements(self) -> list[SeriesGuarantee]:
        private = self.setting.mechanism.is_private
        epsilon = self.setting.epsilon if private else math.inf
        return [SeriesGuarantee(self.offer.label, epsilon, self.setting.guarantee)]
