"""What one user of a real data set is predicted to like."""

from __future__ import annotations

import streamlit as st

from obmc.datasets.registry import find_data_set
from obmc.single import Problem, Run
from pages.parts import address, tables
from pages.parts.address import Control

COUNT = 10
# Which users there are depends on the data.
USER = Control("user", "User", "", str)


def show(problem: Problem, run: Run) -> None:
    """Choose a user; the items not rated in training that the estimate puts first, with their probabilities."""
    assert problem.rated is not None
    one, many = find_data_set(run.setting.data).noun
    users = {name: row for row, name in enumerate(problem.rated.users["user"].astype(str))}
    if st.session_state.get(USER.key) not in users:
        # Of other data.
        st.session_state.pop(USER.key, None)
    chosen = st.selectbox(
        USER.label,
        tuple(users),
        help="Whose row of the matrix to read.",
        **address.bind(address.choice(USER.key, USER.label, "user", tuple(users))),
    )
    table = run.likes(users[chosen], problem, COUNT)
    if table.empty:
        st.info(f"No {one} outside the training set is predicted to be liked by this user.")
        return
    tables.show(
        {
            one.capitalize(): table["title"].tolist(),
            "Probability of liking": table["probability"].map("{:.0%}".format).tolist(),
            "In the test set": table["sign"].map({1: "liked", -1: "not liked", 0: "not rated"}).tolist(),
        }
    )
    st.caption(
        f"The {many} with the largest entries in this user's row, without those in the training set. The probability "
        "is the noise model's at that entry."
    )
