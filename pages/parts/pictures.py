"""Matrices as pictures on one colour scale, with the scale and the numbers beneath."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from obmc import plots
from obmc.single import ERROR, Problem
from obmc.views import picture_grid
from pages.parts import charts, tables


def show(problem: Problem, matrices: Mapping[str, np.ndarray], alpha: float, name: str) -> None:
    """Draw the matrices in a grid that wraps, then the common scale and the numbers.

    ``name``: the same for the same matrices and for no others, which are then drawn once.
    """
    columns, height = picture_grid(problem)
    grid = st.grid(columns, min_column_width=150, gap="small")
    table, beyond, drawings, scale = _drawn(name, alpha, height, _matrices=matrices)
    for order, (title, drawing) in enumerate(zip(matrices, drawings, strict=True)):
        with grid.cell():
            st.markdown(f"**{title}**")
            charts.show_drawing(drawing, f"picture-{order}")
    charts.show_drawing(scale, "colour-key", quiet=True)
    blocks = max(max(matrix.shape) for matrix in matrices.values()) > plots.MAX_CELLS
    st.caption(
        "One colour scale for all. Grey: not observed; signs have the colours of the two ends."
        + (" The error is the estimate minus the truth." if ERROR in matrices else "")
        + (" Each cell is the mean of a block of entries." if blocks else "")
        + beyond
    )
    with st.expander("The pictures in numbers"):
        tables.show(table)


# Of public and made-up data alone, and a megabyte at most each.
@st.cache_resource(show_spinner=False, max_entries=64)
def _drawn(
    name: str, alpha: float, height: int, *, _matrices: Mapping[str, np.ndarray]
) -> tuple[dict[str, list[str]], str, list[charts.Drawing], charts.Drawing]:
    """The numbers of the matrices, which of them go beyond the scale, the matrices, and their colour scale."""
    numbers = plots.matrix_numbers(_matrices, alpha)
    drawings = []
    for order, (title, matrix) in enumerate(_matrices.items()):
        alt = plots.describe_matrix(title, matrix.shape, numbers.iloc[order])
        drawings.append(charts.Drawing.of(plots.picture(matrix, alpha, height), alt))
    beyond = "".join(
        f" {row.picture}: {row.beyond:.0%} lie beyond the scale." for row in numbers.itertuples() if row.beyond > 0
    )
    key = charts.Drawing.of(plots.colour_key(alpha), plots.describe_key(alpha))
    return _texts(numbers), beyond, drawings, key


_FORMS = {"entries": "{:,}", "smallest": "{:.3f}", "mean": "{:.3f}", "largest": "{:.3f}", "beyond": "{:.1%}"}
_NAMES = {"picture": "Picture", "beyond": "beyond the scale"}


def _texts(numbers: pd.DataFrame) -> dict[str, list[str]]:
    return {
        _NAMES.get(name, name): [_FORMS.get(name, "{}").format(value) for value in numbers[name]] for name in numbers
    }
