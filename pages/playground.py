"""One run, seen: the truth, what is observed of it, the estimate, and how far off it is."""

from __future__ import annotations

import streamlit as st

from obmc.errors import DataNotFoundError
from obmc.offers import Offer
from obmc.single import Problem, Run, Setting, find_problem, known_matrices, matrices
from obmc.views import OneRun, RunView
from pages.parts import (
    controls,
    data_offer,
    facts,
    guarantee_card,
    ledger_card,
    likes,
    pictures,
    scores,
    taking,
    waiting,
)

_SHOWN = "_playground_shown"


def page() -> None:
    st.title("Playground")
    offer, setting = controls.mechanism_and_epsilon()
    try:
        problem = find_problem(setting)
        found = waiting.ask_runs(run=setting, clear=setting.clear())
    except DataNotFoundError:
        data_offer.show(setting.data)
        return
    except (ValueError, RuntimeError, OSError) as error:
        # A worker that died is one of these; whoever moves a control, or comes back, asks anew.
        st.error(controls.as_text(str(error)))
        return
    if found is not None:
        st.session_state[_SHOWN] = (offer, setting, found["run"], found["clear"].score)
        show(problem, *st.session_state[_SHOWN])
        return
    waiting.poll("run", "clear")
    if _SHOWN in st.session_state:
        # Nothing jumps while the next result is computed.
        st.caption("Until then, the last finished result:")
        shown = st.session_state[_SHOWN]
        show(find_problem(shown[1]), *shown, current=False)
    else:
        pictures.show(problem, known_matrices(problem, setting.alpha), setting.alpha, f"known {setting.point.key}")
        guarantee(setting)


def show(problem: Problem, offer: Offer, setting: Setting, run: Run, clear: float, current: bool = True) -> None:
    """One finished run beside the score of the one without noise; to be taken away where it is that of the controls."""
    scores.show(offer, problem, run, clear)
    shown = matrices(problem, run)
    pictures.show(problem, shown, setting.alpha, setting.point.key)
    charts = {f"picture-{order}": title for order, title in enumerate(shown)}
    if current:
        # One run has no single draws. Of an older run files would hold other settings than the controls do.
        taking.offer(RunView(offer, setting), OneRun(problem, run, clear), charts, without=("draws",))
    left, right = st.columns(2, gap="large")
    with left:
        guarantee(setting)
        ledger_card.show(setting.table, setting, problem.train, setting.guarantee)
    with right:
        st.header("The solver")
        facts.show(run.facts)
    if problem.rated is not None:
        st.header("What one person is predicted to like")
        likes.show(problem, run)
    st.caption(f"Seed {setting.seed}: the same settings give the same numbers again.")


def guarantee(setting: Setting) -> None:
    """What the run guarantees; known before it is computed."""
    st.header("What is guaranteed")
    guarantee_card.show(setting.guarantee)


page()
