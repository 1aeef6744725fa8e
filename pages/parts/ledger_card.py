"""What the results looked at so far would have cost, were the ratings private: a ledger for every table of ratings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import streamlit as st

from obmc import limits
from obmc.observations import Observations
from obmc.privacy import Guarantee, Ledger
from obmc.privacy.guarantee import number
from obmc.privacy.ledger import AS_IF_PRIVATE
from pages.parts import tables

_LEDGERS = "_ledgers"


def show(table: str, draw: Hashable, observations: Observations, guarantee: Guarantee) -> None:
    """Book a result once, and show what its table has spent; ``draw`` names the noise, never the data."""
    ledgers = st.session_state.setdefault(_LEDGERS, {})
    ledger: Ledger = ledgers.setdefault(table, Ledger.for_observations(table, observations))
    if guarantee.trust != "none":
        ledger.reuse(draw, guarantee, lambda: True, label=guarantee.calibration)
    with st.expander("What it has cost so far, were these ratings private"):
        st.markdown(AS_IF_PRIVATE)
        st.markdown(ledger.statement)
        if not ledger.entries:
            return
        users = {"median": ledger.median_ratings, "most ratings": ledger.largest_ratings}
        costs(ledger, {f"a user with {m} ratings ({name})": m for name, m in users.items()})
        releases(ledger, "Calibration")


def costs(ledger: Ledger, users: Mapping[str, int]) -> None:
    """What all of a ledger's releases together cost one rating, and users by their numbers of ratings."""
    tables.show(
        {
            "Whom": ["one rating's sign", *users],
            "epsilon": [number(ledger.epsilon), *(number(ledger.user_epsilon(count)) for count in users.values())],
            "delta": [number(ledger.delta)] * (1 + len(users)),
        }
    )


def releases(ledger: Ledger, label: str, *, times: bool = False) -> None:
    """The last releases of a ledger, a line each; ``label`` is what their labels tell."""
    entries = ledger.entries[-limits.LEDGER_ROWS :]
    tables.show(
        {
            "Mechanism": [entry.mechanism for entry in entries],
            label: [entry.label for entry in entries],
            "epsilon": [number(entry.epsilon) for entry in entries],
            "delta": [number(entry.delta) for entry in entries],
            **({"UTC": [entry.time for entry in entries]} if times else {}),
        }
    )
