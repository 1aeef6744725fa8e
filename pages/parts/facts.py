"""What is known of a solve, in a table; and why some of it is not told."""

from __future__ import annotations

import math

import streamlit as st

from obmc.privacy.guarantee import FACTS_WITHHELD
from obmc.single import Facts
from pages.parts import tables


def show(facts: Facts) -> None:
    """The solver's facts; where the wall hides them, one sentence says so."""
    part = " of the low-rank part" if facts.has_effects else ""
    rows = {
        "Solver": facts.solver,
        "Iterations": _number(facts.iterations, ",.0f"),
        "Certified gap": _number(facts.gap, ".1e"),
        "Rank (singular values above 1 % of the largest)": _number(facts.rank, ".0f"),
        f"Nuclear norm{part}, of at most tau": f"{_number(facts.nuclear_norm, ',.2f')} of {facts.tau:,.2f}",
        "Largest entry, of at most alpha": f"{_number(facts.largest_entry, '.3f')} of {_number(facts.alpha, 'g')}",
        "Entries at the bound alpha": _number(facts.share_at_bound, ".1%"),
        "Seconds": _number(facts.seconds, ".2f"),
    }
    tables.show({"Fact": list(rows), "Value": list(rows.values())})
    if not facts.told:
        st.caption(f"–: {FACTS_WITHHELD}")
    elif math.isnan(facts.gap):
        st.caption("No gap is certified: the objective is not convex here, and the solver found a stationary point.")
    if facts.message:
        st.caption(f"The solver says: {facts.message}.")


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)
