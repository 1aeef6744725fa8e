"""One run, seen: the truth, what is observed of it, the estimate, and how far off it is."""

from __future__ import annotations

import streamlit as st

from obmc.errors import DataNotFoundError
from obmc.offers import Offer
from obmc.single import Problem, Run, Setting, find_problem
from pages.parts import controls, data_offer, facts, guarantee_card, likes, pictures, scores, waiting

_SHOWN = "_playground_shown"


def page() -> None:
    st.title("Playground")
    offer, setting = controls.mechanism_and_epsilon()
    try:
        problem = find_problem(setting)
        found = waiting.ask(run=setting, clear=setting.clear())
    except DataNotFoundError:
        data_offer.show(setting.data)
        return
    except (ValueError, RuntimeError) as error:
        st.error(str(error))
        return
    if found is not None:
        shown = (offer, setting, found["run"], found["clear"].score)
        st.session_state[_SHOWN] = shown
    else:
        waiting.poll()
        shown = st.session_state.get(_SHOWN)
        if shown is None:
            return
        # Nothing jumps while the next result is computed.
        st.caption("Until then, the last finished result:")
        problem = find_problem(shown[1])
    show(problem, *shown)


def show(problem: Problem, offer: Offer, setting: Setting, run: Run, clear: float) -> None:
    """One finished run beside the score of the one without noise."""
    scores.show(offer, problem, run, clear)
    row, col = ("row", "column") if problem.rated is None else ("user", likes.NOUNS[setting.data][0])
    pictures.show(pictures.of_run(problem, run), setting.alpha, row, col)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("What is guaranteed")
        guarantee_card.show(setting.guarantee)
    with right:
        st.subheader("The solver")
        facts.show(run.facts)
    if problem.rated is not None:
        st.subheader("What one person is predicted to like")
        likes.show(problem, run)
    st.caption(f"Seed {setting.seed}: the same settings give the same numbers again.")


page()
