"""What the reader of the matrix learns: how far one flip moves the whole of it, and what that makes of OutP."""

from __future__ import annotations

import streamlit as st

from obmc import plots, plots_privacy
from obmc.checks import Change, Check
from obmc.privacy.guarantee import PRIVATE_VIEW
from pages.parts import charts, waiting

_PLACE = "change"


def show(check: Check) -> None:
    """The picture of |Mhat - Mhat'| and its reading."""
    wanted = (check.instance, check.noise, check.sigma, check.alpha, check.entry, check.seed, check.epsilon)
    try:
        change: Change | None = waiting.ask(_PLACE, wanted, Check.change, check)
    except (ValueError, OSError, RuntimeError) as error:
        st.error(str(error))
        return
    if change is None:
        waiting.poll(_PLACE)
        return
    st.markdown(
        "Complete the matrix twice, once with one rating flipped, and look at what moved. Output perturbation adds "
        "noise that hides a move of **one** entry; a reader of the matrix sees **all** of them."
    )
    left, right = st.columns([3, 2], gap="large")
    rows, cols = change.matrix.shape
    with left:
        charts.show(
            plots_privacy.change(change.matrix, change.alpha, change.entry),
            "change",
            f"Heat map of how far each of {rows * cols} entries moves when the rating in row {change.entry[0]}, column "
            f"{change.entry[1]} is flipped: {change.moved} of them by more than 1 % of their range, the largest by "
            f"{change.matrix.max():.3g} of at most {2 * change.alpha:g}.",
        )
        charts.show_numbers(plots.numbers_of_matrix(change.matrix), "change-numbers")
        st.caption(
            f"How far each entry moves when the framed rating (row {change.entry[0]}, column {change.entry[1]}) is "
            f"flipped. {change.moved:,} of {rows * cols:,} entries move by more than 1 % of their range."
        )
    with right:
        st.metric("Multiplier", f"{change.multiplier:.3g}")
        st.caption("All moves together, in parts of the range 2 alpha of one entry.")
        st.metric("Epsilon of the whole matrix", f"{change.whole:.3g}")
        st.caption(
            f"Exactly, for this pair of data sets, where OutP at the paper's calibration is asked for "
            f"{check.epsilon:g}: the multiplier times that."
        )
        st.metric("Epsilon of the entry that moves most", f"{change.largest_entry:.3g}")
        st.caption(
            f"A reader of one entry fixed in advance learns at most this, and never more than {check.epsilon:g}: for a "
            "single entry the paper's promise is true."
        )
    st.caption(PRIVATE_VIEW + " The multiplier, too, depends on the ratings.")
