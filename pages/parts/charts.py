"""How a figure is shown on every page: with a key, a text alternative, the same menu, and its numbers in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

CONFIG = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}
# A key or a picture that is not zoomed needs no menu.
QUIET = {**CONFIG, "displayModeBar": False}


def show(figure: go.Figure, key: str, alt: str, *, quiet: bool = False) -> None:
    """A figure; ``alt`` states what it shows in a sentence or two."""
    st.plotly_chart(figure, key=key, alt=alt, config=QUIET if quiet else CONFIG, width="stretch")


def show_table(frame: pd.DataFrame, key: str, columns: Mapping[str, Any] | None = None) -> None:
    """The numbers of the figure above."""
    st.dataframe(frame, key=key, column_config=dict(columns or {}), hide_index=True, width="stretch")
