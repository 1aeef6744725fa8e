"""What the results looked at so far would have cost, were the ratings private: a ledger for every table of ratings."""

from __future__ import annotations

from collections.abc import Hashable

import pandas as pd
import streamlit as st

from obmc import limits
from obmc.observations import Observations
from obmc.privacy import Guarantee, Ledger
from obmc.privacy.guarantee import number
from obmc.privacy.ledger import AS_IF_PRIVATE

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
        st.table(
            pd.DataFrame(
                {
                    "Whom": ["one rating's sign"] + [f"a user with {m} ratings ({name})" for name, m in users.items()],
                    "epsilon": [number(ledger.epsilon)] + [number(ledger.user_epsilon(m)) for m in users.values()],
                    "delta": [number(ledger.delta)] * (1 + len(users)),
                }
            ).set_index("Whom")
        )
        releases = pd.DataFrame(
            [
                {
                    "Mechanism": entry.mechanism,
                    "Calibration": entry.label,
                    "epsilon": number(entry.epsilon),
                    "delta": number(entry.delta),
                }
                for entry in ledger.entries[-limits.LEDGER_ROWS :]
            ]
        )
        st.table(releases.set_index("Mechanism"))
