"""How a figure is shown on every page: changed in place, with a text alternative, the same menu, and its numbers.

``st.plotly_chart`` builds a figure anew whenever a number changes, which flashes and loses the reader's zoom. The few
lines of ``figure.js`` hand each new version to ``Plotly.react``, from the plotly.js that the plotly package brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.parts.server import PLOTLY_PATH

_MENU = {
    "displaylogo": False,
    # Else there is a button that sends the chart and its data to a service of plotly's maker.
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "responsive": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg"},
}
_HEIGHT = 450
# A key or a picture that is not zoomed needs no menu.
_QUIET = {**_MENU, "displayModeBar": False}

_figure = st.components.v2.component(
    "obmc-figure",
    html='<div class="obmc-figure" role="figure"></div>',
    css=".obmc-figure { width: 100%; }",
    js=(Path(__file__).parent / "figure.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


@dataclass(frozen=True)
class Drawing:
    """A figure as the browser takes it, with its text alternative: made once, it may be shown many times.

    The height is known before the figure is drawn, so that nothing below it jumps.
    """

    text: str
    alt: str
    height: int

    @classmethod
    def of(cls, figure: go.Figure, alt: str) -> Drawing:
        """``alt`` states what the figure shows in a sentence or two."""
        return cls(figure.to_json(), alt, int(figure.layout.height or _HEIGHT))


def show(figure: go.Figure, key: str, alt: str, *, quiet: bool = False) -> None:
    """A figure with its text alternative."""
    show_drawing(Drawing.of(figure, alt), key, quiet=quiet)


def show_drawing(drawing: Drawing, key: str, *, quiet: bool = False) -> None:
    """A figure that was drawn before."""
    data = {
        "figure": drawing.text,
        "alt": drawing.alt,
        "name": key,
        "config": _QUIET if quiet else _MENU,
        "plotly": PLOTLY_PATH.removeprefix("/"),
    }
    _figure(key=key, data=data, height=drawing.height)


def show_numbers(frame: pd.DataFrame, key: str, columns: Mapping[str, Any] | None = None) -> None:
    """The numbers of the figure above, in a box that opens.

    They are sent when it is open: what a browser needs to draw a table costs it more time than the figure.
    """
    box = st.expander("The numbers", key=f"{key}-open", on_change="rerun")
    if box.open:
        with box:
            show_table(frame, key, columns)


def show_table(frame: pd.DataFrame, key: str, columns: Mapping[str, Any] | None = None) -> None:
    """The numbers of the figure above."""
    st.dataframe(frame, key=key, column_config=dict(columns or {}), hide_index=True, width="stretch")
