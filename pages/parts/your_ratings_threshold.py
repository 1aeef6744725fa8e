"""From ratings to signs: the scale that the visitor declares, and the threshold."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from obmc.datasets.ratings_table import RatingsTable
from obmc.errors import RatingsError
from obmc.plots_ratings import rating_bars
from pages.parts import charts, controls
from pages.parts.your_ratings_reading import PREFIX, show_counts

_SCALES: dict[str, tuple[float, float] | None] = {
    "1 to 5": (1.0, 5.0),
    "0.5 to 5": (0.5, 5.0),
    "1 to 10": (1.0, 10.0),
    "0 to 10": (0.0, 10.0),
    "0 to 100": (0.0, 100.0),
    "0 or 1": (0.0, 1.0),
    "−1 or 1": (-1.0, 1.0),
    "−10 to 10": (-10.0, 10.0),
    "Another scale": None,
}
_HOW = ("Middle of the declared scale", "A number I know beforehand", "The mean of the ratings")


@dataclass(frozen=True)
class Chosen:
    """A threshold: a number or "mean"; the declared scale where it is the middle of one."""

    threshold: float | str
    scale: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """For a sentence."""
        return "the mean" if isinstance(self.threshold, str) else f"{self.threshold:g}"


def choose(table: RatingsTable) -> Chosen | None:
    """The controls; None until something is declared."""
    st.header("From ratings to signs")
    st.markdown("A rating above the threshold becomes +1, any other −1.")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        chosen = _controls()
    if chosen is None:
        return None
    above = table.n_above(chosen.threshold)
    line = table.mean if isinstance(chosen.threshold, str) else chosen.threshold
    with left:
        st.caption(
            f"For your eyes only: {above:,} of {table.n_ratings:,} ratings lie above {chosen.text}, "
            f"{above / table.n_ratings:.1%}; {table.n_equal(chosen.threshold):,} equal it."
        )
        if chosen.scale is not None and not (
            chosen.scale[0] <= table.ratings.min() and table.ratings.max() <= chosen.scale[1]
        ):
            st.warning(
                f"For your eyes only: there are ratings outside the declared scale, from {table.ratings.min():g} to "
                f"{table.ratings.max():g}."
            )
    with right:
        charts.show(
            rating_bars(table.histogram(), line),
            f"{PREFIX}signs",
            f"How often each rating occurs; {above / table.n_ratings:.1%} lie above {chosen.text}.",
            quiet=True,
        )
        show_counts(table, f"{PREFIX}signs-numbers")
    return chosen


def _controls() -> Chosen | None:
    how = st.radio("The threshold", _HOW, key=f"{PREFIX}how", persist_state="session")
    if how == _HOW[2]:
        st.warning(
            "The mean is itself a statistic of the private ratings. You can explore with it; a release needs a "
            "threshold that is fixed without looking at them."
        )
        return Chosen("mean")
    if how == _HOW[1]:
        number = st.number_input(
            "Threshold", value=None, format="%g", key=f"{PREFIX}threshold", persist_state="session"
        )
        if number is None:
            st.info("Type the threshold: a number that you knew before you saw these ratings.")
            return None
        return Chosen(float(number))
    scale = st.selectbox(
        "The scale people rated on",
        list(_SCALES),
        index=None,
        placeholder="Declare the scale",
        key=f"{PREFIX}scale",
        persist_state="session",
        help="As the form or the site offered it, not the smallest and largest rating that occur: those would tell "
        "something of the data.",
    )
    if scale is None:
        st.info("Declare the scale to go on. Its middle is public and tells nothing of your data.")
        return None
    ends = _SCALES[scale]
    if ends is None:
        low_place, high_place = st.columns(2)
        low = low_place.number_input("Lowest", value=None, format="%g", key=f"{PREFIX}low", persist_state="session")
        high = high_place.number_input("Highest", value=None, format="%g", key=f"{PREFIX}high", persist_state="session")
        if low is None or high is None:
            st.info("Type both ends of the scale.")
            return None
        ends = (float(low), float(high))
    try:
        middle = RatingsTable.public_threshold(*ends)
    except RatingsError as error:
        st.error(controls.as_text(str(error)))
        return None
    st.markdown(f"Threshold: **{middle:g}**, public.")
    return Chosen(middle, ends)
