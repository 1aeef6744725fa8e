"""A view as one HTML file: charts, numbers, guarantees, settings and seeds, without anything from outside.

The file carries its own policy, which lets it ask nothing of any network, and everything that it quotes is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from plotly import io as plotly_io
from plotly.offline import get_plotlyjs

from obmc.experiments.measures import MEASURES
from obmc.privacy.guarantee import ASSUMPTIONS, Guarantee, number
from obmc.views import PinView, SeriesGuarantee, View

# Scripts and styles of the file itself, pictures that plotly makes, and nothing else.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_STYLE = """
:root { color-scheme: light dark; background: #fff; color: #0f0f0f; }
@media (prefers-color-scheme: dark) { :root { background: #000; color: #fff; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 66rem; padding: 1rem; }
h1 { font-size: 1.9rem; } h2 { font-size: 1.4rem; margin-top: 2.5rem; } h3 { font-size: 1.1rem; }
.wide { overflow-x: auto; } figure { margin: 1.5rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .875rem; }
th, td { border-bottom: 1px solid #8888; padding: .25rem .6rem; text-align: left; vertical-align: top; }
td.number { text-align: right; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8888; border-radius: .4rem; font-size: .8125rem; }
dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; }
summary { cursor: pointer; }
"""
_CONFIG = {
    "displaylogo": False,
    # Else there is a button that sends the chart and its data to a service of plotly's maker.
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "responsive": True,
    "toImageButtonOptions": {"format": "svg"},
}
_NUMBERS = ("series", "epsilon", "delta", "ratio", "mean", "low", "high", "count")
_HEADS = {
    "series": "Series",
    "epsilon": "Epsilon",
    "delta": "Delta",
    "ratio": "Ratio",
    "mean": "Mean",
    "low": "95 % from",
    "high": "to",
    "count": "Draws",
    "pin": "Pin",
    "difference": "Difference",
    "draws": "Draws",
    "paired": "Paired",
}


def page_of(
    view: View, data: Any, *, settings: str, address: str, missing: int, script: str, program: str
) -> Iterator[str]:
    """The file in parts.

    Parameters
    ----------
    view, data
        What is shown, and what it is drawn from.
    settings, script
        The settings file and the script of the view, which the report quotes.
    address
        The link to the view; "" for none.
    missing
        How many runs were not there yet.
    program
        What wrote it, with its version.
    """
    title = escape(view.title)
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n<body>\n<main>\n"
    )
    yield f"<h1>{title}</h1>\n{_paragraph(view.caption())}"
    if missing:
        yield _paragraph(f"{missing:,} runs of this chart had not been computed when the report was written.")
    for place, picture in enumerate(view.pictures(data)):
        yield _figure(place, picture.title, picture.figure, picture.alt)
    yield "<h2>The numbers</h2>\n"
    table = view.table(data)
    yield _table(table[list(_NUMBERS)], _form(table))
    if isinstance(view, PinView) and len(found := view.differences(data)):
        yield "<h2>Differences</h2>\n" + _paragraph(f"Each pin minus {view.base}. Paired: both saw the same draws.")
        yield _table(found, dict.fromkeys(("difference", "low", "high"), MEASURES[view.metric].form))
    yield from _guarantees(view.statements(), view.at)
    yield "<h2>Settings and seeds</h2>\n" + _paragraph(
        f"Seed: {view.seed}. Every draw of data and noise comes from it, so the numbers can be had again. Written by "
        f"{program}."
    )
    if address:
        yield f"<p>The same view on the dashboard: <code>{escape(address)}</code></p>\n"
    for summary, text in (("Settings file", settings), ("Python script that computes all of it anew", script)):
        if text:
            yield f"<details>\n<summary>{summary}</summary>\n<pre>{escape(text)}</pre>\n</details>\n"
    yield "</main>\n</body>\n</html>\n"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>\n"


def _figure(place: int, title: str, figure: Any, alt: str) -> str:
    chart = plotly_io.to_html(
        figure, config=_CONFIG, include_plotlyjs=False, full_html=False, div_id=f"chart-{place}", validate=False
    )
    label = escape(f"{title}. {alt}")
    return f'<figure role="figure" aria-label="{label}">\n{chart}\n<figcaption>{escape(alt)}</figcaption>\n</figure>\n'


def _form(table: pd.DataFrame) -> dict[str, str]:
    form = MEASURES[table["metric"].iloc[0]].form if len(table) else "g"
    return dict.fromkeys(("mean", "low", "high"), form)


def _table(frame: pd.DataFrame, forms: Mapping[str, str]) -> str:
    """Rounded for reading; the ``data`` elements hold all digits."""
    heads = "".join(f'<th scope="col">{escape(_HEADS.get(str(name), str(name)))}</th>' for name in frame.columns)
    lines = []
    for row in frame.itertuples(index=False):
        cells = (_cell(value, forms.get(str(name), "g")) for name, value in zip(frame.columns, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(lines)
    return f'<div class="wide"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n'


def _cell(value: Any, form: str) -> str:
    if isinstance(value, bool | np.bool_):
        return f"<td>{'yes' if value else 'no'}</td>"
    if not isinstance(value, int | float | np.number):
        return f"<td>{escape(str(value))}</td>"
    exact = float(value)
    if not math.isfinite(exact):
        return f'<td class="number">{"–" if math.isnan(exact) else "none"}</td>'
    return f'<td class="number"><data value="{exact!r}">{exact:{form}}</data></td>'


# Guarantees -----------------------------------------------------------------------------------------------------------


def _guarantees(statements: list[SeriesGuarantee], at: float | None) -> Iterator[str]:
    """For every series its statement in words at the epsilon nearest to ``at``, and for all epsilons in a table."""
    yield "<h2>What is guaranteed</h2>\n"
    groups: dict[str, list[SeriesGuarantee]] = {}
    for statement in statements:
        groups.setdefault(statement.series, []).append(statement)
    for series, group in groups.items():
        yield f"<h3>{escape(series)}</h3>\n"
        made = {found.epsilon: found.guarantee for found in group if found.guarantee is not None}
        if made:
            middle = sorted(made)[len(made) // 2]
            yield _card(made[middle if at is None else min(made, key=lambda epsilon: abs(math.log(epsilon / at)))])
        yield _lines(group)
    private = any(found.guarantee is not None and found.guarantee.trust != "none" for found in statements)
    if private:
        yield "<h3>What all of it takes for granted</h3>\n<ul>\n"
        yield "".join(f"<li>{escape(text)}</li>\n" for text in ASSUMPTIONS) + "</ul>\n"


def _card(guarantee: Guarantee) -> str:
    words = "".join(
        f"<dt>{escape(topic)}</dt><dd>{escape(text)}</dd>\n" for topic, text in guarantee.sentences("student")
    )
    formulas = "".join(
        f"<dt>{escape(topic)}</dt><dd>{escape(text)}</dd>\n" for topic, text in guarantee.sentences("expert")
    )
    return (
        f"<p><strong>{escape(guarantee.headline)}</strong></p>\n<dl>\n{words}</dl>\n"
        f"<details>\n<summary>The same in formulas (LaTeX)</summary>\n<dl>\n{formulas}</dl>\n</details>\n"
    )


def _lines(group: list[SeriesGuarantee]) -> str:
    lines = []
    for found in group:
        made = found.guarantee
        asked = "none" if math.isinf(found.epsilon) else number(found.epsilon)
        if made is None:
            lines.append({"Asked": asked, "What is guaranteed": f"Refused: {found.refusal}"})
            continue
        lines.append(
            {
                "Asked": asked,
                "What is guaranteed": made.headline,
                "Epsilon": number(made.epsilon),
                "Delta": number(made.delta),
                "Whole output": number(made.total_epsilon),
                "Unit": made.unit,
                "Scope": made.scope,
                "Trust": made.trust,
                "Status": made.status,
                "Conditions": made.conditions,
            }
        )
    frame = pd.DataFrame(lines).fillna("")
    return f"<details>\n<summary>At every epsilon</summary>\n{_table(frame, {})}</details>\n"
