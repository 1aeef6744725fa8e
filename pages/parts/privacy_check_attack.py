"""One attack: the two worlds filling in, then the ROC, the epsilons side by side, and the verdict."""

from __future__ import annotations

import math

import streamlit as st

from obmc import plots, plots_privacy
from obmc.checks import Check, Found, verdict
from obmc.privacy.audit import Audit
from obmc.privacy.guarantee import level, number
from pages.parts import charts, guarantee_card, privacy_check_runs


def show(check: Check) -> None:
    """The attack as far as it is; goes on by itself."""
    watched = privacy_check_runs.look_briefly(check)
    if watched.error:
        st.error(watched.error)
        return
    if watched.stopped:
        st.button("Go on", type="primary", on_click=privacy_check_runs.restart, args=(check,), key="attack-go-on")
    if watched.is_live:
        st.button(
            "Cancel", icon=":material/stop:", on_click=privacy_check_runs.stop, args=(check,), key="attack-cancel"
        )
        _live(check)
        return
    if watched.found is not None:
        _draw(check, watched.found)


@st.fragment(run_every=privacy_check_runs.POLL_SECONDS)
def _live(check: Check) -> None:
    """The runs so far; when the last is there, the page runs again without this clock."""
    watched = privacy_check_runs.look(check)
    if not watched.is_live:
        st.rerun()
    if watched.found is None:
        st.progress(0.0, "Computing: the attacker prepares.")
        return
    run = watched.found.run
    st.progress(watched.share, f"Computing: {run.done:,} of {run.runs:,} runs in each world.")
    _draw(check, watched.found)


def _draw(check: Check, found: Found) -> None:
    audit, run = found.audit, found.run
    if audit is not None:
        _verdict(check, audit)
    left, right = st.columns(2, gap="large")
    row, col = run.pair.entry
    signs = ["+1" if sign > 0 else "−1" for sign in run.pair.signs]
    with left:
        st.header("Two worlds")
        names = (f"The rating is {signs[0]} (as given)", f"The rating is {signs[1]} (flipped)")
        figure = plots_privacy.worlds(run.scores, names, "Attacker's statistic", None if audit is None else audit.event)
        charts.show(figure, "worlds", _alt_worlds(run.scores, names))
        share = st.column_config.NumberColumn(format="percent")
        charts.show_numbers(plots.numbers_of(figure, "Statistic"), "worlds-numbers", dict.fromkeys(names, share))
        st.caption(
            f"The rating in row {row}, column {col} is {signs[0]} in one world and {signs[1]} in the other; all else "
            f"is the same. {run.done:,} of {run.runs:,} runs in each."
            + (
                ""
                if audit is None
                else f" The attacker looks at {audit.observed}; the dashed line is the threshold chosen on the first "
                "quarter of the runs."
            )
        )
    with right:
        st.header("What the attacker can tell")
        if audit is None:
            st.caption(
                "The curve and the verdict wait for the last run: whoever looked earlier, and stopped when it pleased, "
                "would void the confidence."
            )
            return
        charts.show(plots_privacy.roc(audit), "roc", _alt_roc(audit))
        labels = {"false_alarms": "False alarms", "hits": "Hits", "low": "Band from", "high": "to"}
        columns = {key: st.column_config.NumberColumn(label, format="percent") for key, label in labels.items()}
        charts.show_numbers(plots_privacy.roc_numbers(audit), "roc-numbers", columns)
        st.caption(
            f"On the {audit.evaluated:,} runs in each world that judge. The band holds the true curve with "
            f"{100 * audit.confidence:g} % confidence, at all thresholds at once. A bound (cross) outside the dotted "
            "region refutes the claim."
        )
    with st.expander("What is guaranteed here, by theory"):
        guarantee_card.show(check.guarantee)


def _verdict(check: Check, audit: Audit) -> None:
    text = verdict(audit, check.guarantee)
    if audit.refutes:
        st.error(text, icon=":material/gpp_bad:")
    else:
        st.info(text, icon=":material/policy:")
    grid = st.grid(3, min_column_width=100)
    delta = f", delta {number(audit.delta)}" if audit.delta else ""
    grid.metric("Asked for", f"{number(audit.claimed)}{delta}")
    grid.metric("Exact, for this pair", _exact(audit))
    grid.metric("Audited, at least", number(audit.lower_bound))
    st.caption(
        f"Epsilon. Audited with {100 * audit.confidence:g} % confidence from {audit.runs:,} runs in each world, seed "
        f"{check.seed}; the most that so many runs can show is {number(audit.ceiling)}. Exact: the privacy loss of "
        "what the attacker may look at, where there is a formula for it."
    )


def _exact(audit: Audit) -> str:
    if not math.isnan(audit.exact):
        return number(float(f"{audit.exact:.3g}"))
    return "unknown" if math.isnan(audit.at_least) else f"at least {number(audit.at_least)}"


def _alt_worlds(scores, names) -> str:
    said = ", ".join(
        f"{name}: mean {values.mean():.3g}, from {values.min():.3g} to {values.max():.3g}"
        for name, values in zip(names, scores, strict=True)
        if len(values)
    )
    return f"Overlapping histograms of the attacker's statistic. {said}."


def _alt_roc(audit: Audit) -> str:
    (false, true), (at_most, at_least) = audit.operating_point()
    return (
        f"ROC curve of the attacker. The chosen event happens in {true:.1%} of the runs of the world it speaks for and "
        f"in {false:.1%} of the other's; bounded: at least {at_least:.1%} and at most {at_most:.1%}. Claimed: "
        f"{level(audit.claimed, audit.delta)}; shown: epsilon at least {number(audit.lower_bound)}."
    )
