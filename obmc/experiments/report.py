"""The reproduction report: verdicts, the figures' numbers and the unprinted choices, as data and as Markdown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from obmc.experiments.figures import TABLE, choices, figures
from obmc.experiments.inverse import smallest_epsilon
from obmc.experiments.measures import find_measure
from obmc.experiments.statements import FAILS, HOLDS, OPEN, VERDICTS, Check, Statement, judge
from obmc.experiments.sweep import RESULTS_VERSION
from obmc.summary import MAJORITY_LABEL, summarise

# In the report's tables: the ends of the paper's range and the epsilon that it names.
EPSILONS = (1.0, 4.0, 10.0)
# How near to Clear an epsilon is asked for, by metric: of the relative error, and of sign accuracy.
NEAR = {"are": 0.1, "sign_accuracy": 0.01}
DENSITIES = "The density that the paper prints is that of all ratings for ML-100K and that of the training part for RC."


@dataclass(frozen=True, eq=False)
class Report:
    """What was reproduced.

    Attributes
    ----------
    statements
        With their verdicts.
    tables
        The figures' means by figure: a row for each series, a column for each of ``EPSILONS``, or for the ends and the
        middle of the figure's own epsilons.
    choices
        What the unprinted choices change, in the same form.
    needed
        The epsilon that each mechanism needs to come near to Clear.
    draws
        The number of draws by figure and series.
    data
        Table 1, the data sets; empty where it has not been made.
    """

    statements: list[Statement]
    tables: dict[str, pd.DataFrame]
    choices: dict[str, pd.DataFrame]
    needed: pd.DataFrame
    draws: pd.DataFrame
    data: pd.DataFrame

    @property
    def verdicts(self) -> dict[str, int]:
        """How many statements have which verdict; those that none has are left out."""
        counts = {verdict: sum(found.verdict == verdict for found in self.statements) for verdict in VERDICTS}
        return {verdict: count for verdict, count in counts.items() if count}

    @property
    def summary(self) -> str:
        """The counts in words."""
        counts = ", ".join(f"{verdict} {count}" for verdict, count in self.verdicts.items())
        return f"of {len(self.statements)} statements: {counts}."


def make_report(rows: Mapping[str, pd.DataFrame]) -> Report:
    """The report of the rows of figures, choices and Table 1 by their names; what is missing or empty is left out."""
    present = {name: table for name, table in rows.items() if not table.empty}
    shown = {name: present[name] for name in figures() if name in present}
    tables = {name: _means(table) for name, table in shown.items() if figures()[name].against == "epsilon"}
    tables |= {name: _ratio_means(table) for name, table in shown.items() if figures()[name].against == "ratio"}
    tried = {name: varied(present[name], choices()[name].against) for name in choices() if name in present}
    data = data_sets(present[TABLE]) if TABLE in present else pd.DataFrame()
    return Report(judge(shown), tables, tried, _needed(shown), _draws(shown), data)


def series_of(mechanism: str, calibration: str, options: str) -> str:
    """What a curve is called: the mechanism, its calibration, and what differs from its usual options."""
    known = {
        ("InP+", '{"low_rank":false}'): "Effects alone",
        ("Clear", '{"effects":true}'): "Clear with effects",
        ("OutP", '{"postprocess":"project"}'): "OutP projected",
        ("Majority", "{}"): MAJORITY_LABEL,
    }
    if (mechanism, options) in known:
        return known[mechanism, options]
    changed = [f"{key} {value}" for key, value in json.loads(options).items()]
    return ", ".join([" ".join(filter(None, (mechanism, calibration))), *changed])


def _first_metric(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["metric"] == table["metric"].iloc[0]]


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each series, the means with their intervals as text in a column for each epsilon."""
    found = summarise(_first_metric(table))
    found.insert(0, "series", [series_of(row.mechanism, row.calibration, row.options) for row in found.itertuples()])
    form = find_measure(str(found["metric"].iloc[0])).form
    lines = []
    computed = sorted(found.loc[np.isfinite(found["epsilon"]), "epsilon"].unique())
    epsilons = EPSILONS if set(EPSILONS) <= set(computed) else (computed[0], computed[len(computed) // 2], computed[-1])
    for series, part in found.groupby("series", sort=False):
        line: dict[str, Any] = {"series": series}
        for epsilon in epsilons:
            # What has no epsilon stands in every column.
            here = part[part["epsilon"].isin((epsilon, math.inf))]
            line[f"epsilon {epsilon:g}"] = _cell(here.iloc[0], form) if len(here) else ""
        lines.append(line)
    return pd.DataFrame(lines)


def _ratio_means(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each series and each of three epsilons, a column for three ratios."""
    rows = _first_metric(table)
    form = find_measure(str(rows["metric"].iloc[0])).form
    parts = []
    for epsilon in (*EPSILONS, math.inf):
        here = summarise(rows[rows["epsilon"] == epsilon], by="ratio")
        here.insert(0, "epsilon", epsilon)
        parts.append(here)
    found = pd.concat(parts)
    ratios = sorted(found["ratio"].unique())
    lines = []
    for (mechanism, calibration, options, epsilon), part in found.groupby(
        ["mechanism", "calibration", "options", "epsilon"], sort=False
    ):
        level = "none" if math.isinf(epsilon) else f"{epsilon:g}"
        line = {"series": series_of(mechanism, calibration, options), "epsilon": level}
        for ratio in (ratios[0], ratios[len(ratios) // 2], ratios[-1]):
            here = part[part["ratio"] == ratio]
            line[f"{100 * ratio:g} % observed"] = _cell(here.iloc[0], form) if len(here) else ""
        lines.append(line)
    return pd.DataFrame(lines)


def varied(table: pd.DataFrame, against: str) -> pd.DataFrame:
    """A choice's rows as texts: a row for each link, series and value of what is varied, a column for each epsilon."""
    rows = _first_metric(table).copy()
    form = find_measure(str(rows["metric"].iloc[0])).form
    lines = []
    if against == "options":
        rows["varied"] = [_option(options) for options in rows["options"]]
        rows["options"] = "{}"
    else:
        rows["varied"] = [f"{against} {value:g}" for value in rows[against]]
    for (link, value), part in rows.groupby(["link", "varied"], sort=False):
        found = summarise(part)
        for (mechanism, calibration, options), curve in found.groupby(
            ["mechanism", "calibration", "options"], sort=False
        ):
            line = {"link": link, "series": series_of(mechanism, calibration, options), "choice": value}
            for epsilon in EPSILONS:
                here = curve[curve["epsilon"].isin((epsilon, math.inf))]
                line[f"epsilon {epsilon:g}"] = _cell(here.iloc[0], form) if len(here) else ""
            lines.append(line)
    found = pd.DataFrame(lines)
    return found.sort_values(["link", "series"], ascending=[False, True], kind="stable").reset_index(drop=True)


def _option(options: str) -> str:
    given = json.loads(options)
    if "step" in given:
        return f"steps {given['step']:g} times as long"
    if "iterations" in given:
        return f"K = {given['iterations']}"
    return "as usual (K = 10)"


def _needed(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The smallest epsilon that comes near to Clear, by figure and mechanism, with its interval."""
    lines = []
    for name, table in rows.items():
        if figures()[name].against != "epsilon" or not name[0].isdigit():
            continue
        first = _first_metric(table)
        metric = str(first["metric"].iloc[0])
        clear = first[(first["mechanism"] == "Clear") & (first["options"] == "{}")]
        if clear.empty:
            continue
        within = NEAR[metric] * (float(clear["value"].mean()) if metric == "are" else 1.0)
        private = first[np.isfinite(first["epsilon"])]
        keys = private[["mechanism", "calibration", "options"]].drop_duplicates()
        counts = private.groupby(["mechanism", "calibration", "options"])["epsilon"].nunique()
        whole = set(counts[counts == private["epsilon"].nunique()].index)
        for mechanism, calibration, options in keys.itertuples(index=False):
            # Of a curve that is not whole the smallest epsilon is not known.
            if (mechanism, calibration, options) not in whole:
                continue
            found = smallest_epsilon(
                first, mechanism, within, options=options, calibration=calibration, resamples=500, rng=0
            )
            lines.append(
                {
                    "figure": name,
                    "series": series_of(mechanism, calibration, options),
                    "epsilon": ("at most " if found.at_most else "") + _number(found.epsilon),
                    "95 % interval": f"{_number(found.low)} to {_number(found.high)}",
                    "draws": found.draws,
                }
            )
    return pd.DataFrame(lines, columns=["figure", "series", "epsilon", "95 % interval", "draws"])


def _draws(rows: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    lines = []
    for name, table in rows.items():
        for (mechanism, calibration, options), part in table.groupby(
            ["mechanism", "calibration", "options"], sort=False
        ):
            series = series_of(mechanism, calibration, options)
            lines.append({"figure": name, "series": series, "draws": part["repetition"].nunique()})
    return pd.DataFrame(lines, columns=["figure", "series", "draws"])


def data_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Table 1 as texts: what the files have, and beside it the density that is printed."""
    return pd.DataFrame(
        {
            "data set": table["dataset"],
            "users": [f"{value:,}" for value in table["users"]],
            "items": [f"{value:,}" for value in table["items"]],
            "scale": table["scale"].str.replace(" ", ", "),
            "ratings": [f"{value:,}" for value in table["ratings"]],
            "density": [f"{value:.1%}" for value in table["density"]],
            "density of the training part": [f"{value:.1%}" for value in table["training_density"]],
            "density as printed": [f"{value:.1%}" for value in table["printed_density"]],
        }
    )


def _cell(point: Any, form: str) -> str:
    if math.isnan(point["low"]):
        return f"{point['mean']:{form}}"
    return f"{point['mean']:{form}} ({point['low']:{form}} to {point['high']:{form}})"


def _number(value: float) -> str:
    return "none" if math.isnan(value) else "more than 10" if math.isinf(value) else f"{value:.3g}"


# Markdown -------------------------------------------------------------------------------------------------------------

_SIGN = {HOLDS: "yes", FAILS: "no", OPEN: "open"}


def check_line(check: Check) -> dict[str, str]:
    """A check as the texts of a table's row."""
    return {
        "figure": check.figure,
        "mechanism": check.mechanism,
        "what": check.what,
        "measured": _text(check, check.value),
        "95 % interval": f"{_text(check, check.low)} to {_text(check, check.high)}",
        "asked for": _range(check),
        "met": _SIGN[check.outcome],
        "draws": str(check.draws),
    }


def _text(check: Check, value: float) -> str:
    if math.isnan(value):
        return "none"
    text = f"{100 * value:.1f} %" if check.percent else f"{value:.3f}"
    return text.replace("-", "−")


def _range(check: Check) -> str:
    if math.isinf(check.most):
        return f"at least {_text(check, check.least)}"
    if math.isinf(check.least):
        return f"at most {_text(check, check.most)}"
    return f"{_text(check, check.least)} to {_text(check, check.most)}"


def markdown(report: Report) -> str:
    """The whole report as a Markdown text; the same rows give the same text."""
    lines = [
        "# What the paper's figures say, reproduced",
        "",
        "*One-Bit Matrix Completion with Differential Privacy* (Li, Wei, Huang, Mao, Wang) draws conclusions from",
        "its Figures 1 to 5. Here each of them is put to the same experiments, computed again with the paper's",
        "settings and, but for what the last section lists, its numbers of draws. Made by",
        "`python -m obmc reproduce --report`; every verdict is computed from the rows in `data/results/` (version",
        f"{RESULTS_VERSION}), which `python -m obmc reproduce` makes again from their seeds.",
        "",
        report.summary.capitalize(),
        "",
        "A statement is a list of checks: one number about one curve, with its 95 % interval over the draws (Student's",
        "law, draws paired), and the range that it has to lie in. A check is met where the whole interval lies in the",
        "range, missed where it lies outside, and open where it lies across an end. All checks met: *holds*; some, or",
        "all of those that were computed: *holds in part*; none: *does not hold*, or *open* where no interval decides.",
        "The mechanisms are those of the paper at its own calibration. On ML-100K all draws share the published split,",
        "so that an interval there says what other noise would give, not what other ratings would.",
        "",
        "| statement | figures | verdict | met | missed | open |",
        "|---|---|---|---|---|---|",
    ]
    for found in report.statements:
        counted = found.counts
        lines.append(
            f"| {found.claim} | {', '.join(found.figures)} | **{found.verdict}** | {counted[HOLDS]} | {counted[FAILS]} "
            f"| {counted[OPEN]} |"
        )
    lines += ["", "## Statement by statement"]
    for found in report.statements:
        lines += ["", f"### {found.claim}", "", f"**{found.verdict.capitalize()}.** Judged by: {found.rule}"]
        if found.reason:
            lines += ["", f"Why: {found.reason}"]
        if found.missing:
            lines += ["", f"Not computed: {', '.join(found.missing)}."]
        if found.checks:
            lines += ["", *_table(pd.DataFrame([check_line(check) for check in found.checks]))]
        if found.projected:
            text = "With OutP's noised matrix projected on the constraint set (not protected at the printed epsilon):"
            lines += ["", text, "", *_table(pd.DataFrame([check_line(check) for check in found.projected]))]
    if len(report.data):
        lines += ["", "## The data sets, Table 1", "", DENSITIES, "", *_table(report.data)]
    lines += ["", "## The figures in numbers", "", "Means over the draws with their 95 % intervals."]
    for name, table in report.tables.items():
        lines += ["", f"### {_heading(name)}", "", *_table(table)]
    lines += [
        "",
        "## The epsilon that comes near to Clear",
        "",
        f"The smallest epsilon at which the mean error is at most {100 * NEAR['are']:g} % above Clear's, or the",
        "accuracy at most one percentage point below it. A mechanism that is better than Clear counts as near.",
        "",
        *_table(report.needed),
        "",
        "## What the paper does not print",
        "",
        "Rank and alpha on real data, and GraP's number of steps and their length, each varied with the others as",
        "usual (1, 1, 10 and once the usual length).",
    ]
    for name, table in report.choices.items():
        lines += ["", f"### {choices()[name].title}", "", *spread_lines(table), "", *_table(table)]
    lines += ["", "## Draws", "", *_draws_lines(report.draws), ""]
    return "\n".join(lines)


def spread_lines(table: pd.DataFrame) -> list[str]:
    """How much a choice changes at each epsilon, series by series, in a sentence each."""
    lines = []
    for (link, series), part in table.groupby(["link", "series"], sort=False):
        spans = []
        for epsilon in EPSILONS:
            cells = [cell for cell in part[f"epsilon {epsilon:g}"] if cell]
            if cells:
                means = sorted((_leading(cell), cell.partition(" ")[0]) for cell in cells)
                spans.append(f"{means[0][1]} to {means[-1][1]} at epsilon {epsilon:g}")
        if series == MAJORITY_LABEL or not spans:
            continue
        if series == "Clear":
            spans = [spans[0].partition(" at epsilon")[0]]
        lines.append(f"- {series}, {link}: {', '.join(spans)}.")
    return lines


def _leading(cell: str) -> float:
    return float(cell.partition(" ")[0].rstrip("%"))


def _heading(name: str) -> str:
    figure = figures()[name]
    return f"Figure {name}: {figure.title}" if name[0].isdigit() else figure.title


def _draws_lines(draws: pd.DataFrame) -> list[str]:
    lines = []
    for figure, part in draws.groupby("figure", sort=False):
        counts: dict[int, list[str]] = {}
        for row in part.itertuples():
            counts.setdefault(int(row.draws), []).append(str(row.series))
        many = max(counts, key=lambda count: len(counts[count]))
        text = f"- Figure {figure}: {many} draws"
        few = [f"{', '.join(names)}: {count}" for count, names in counts.items() if count != many]
        lines.append(text + (f"; {'; '.join(few)}" if few else "") + ".")
    return lines


def _table(table: pd.DataFrame) -> list[str]:
    head = [str(name) for name in table.columns]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in table.itertuples(index=False)]
    return lines


# Reading --------------------------------------------------------------------------------------------------------------


def read_tables(folder: Path, names: Iterable[str] | None = None) -> dict[str, pd.DataFrame]:
    """The tables that ``reproduce`` wrote to a folder, Parquet or CSV, by figure; ``OSError`` if there is none."""
    found = {}
    for name in names or (*figures(), *choices(), TABLE):
        stem = "table-1" if name == TABLE else f"figure-{name}"
        for path in (folder / f"{stem}.parquet", folder / f"{stem}.csv"):
            if path.exists():
                found[name] = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
                break
    if not set(found) - {TABLE}:
        raise OSError(f"there are no tables of figures in {folder}: make some with `python -m obmc reproduce`.")
    return found
