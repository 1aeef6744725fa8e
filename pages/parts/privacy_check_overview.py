"""The default audit of every mechanism, drawn as it is computed."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import streamlit as st

from obmc import plots_privacy
from obmc.checks import PRESETS, AttackPreset
from obmc.privacy.guarantee import number
from pages.parts import charts, privacy_check_runs
from pages.parts.privacy_check_runs import Watched


def show(open_preset: Callable[[AttackPreset], None]) -> None:
    """All presets side by side."""
    st.markdown(
        "Every mechanism attacked at a small epsilon: what was asked for, what is exactly true where there is a "
        "formula, and what the attack proves. **A triangle to the right of the bar refutes the claim.** An attack that "
        "stays to the left proves nothing."
    )
    checks = tuple(preset.check for preset in PRESETS.values())
    watched = [privacy_check_runs.look(check) for check in checks]
    live = any(found.is_live for found in watched)
    if any(found.stopped for found in watched):
        st.button("Go on", type="primary", on_click=privacy_check_runs.restart, args=checks, key="overview-go-on")
    if live:
        st.button(
            "Cancel", icon=":material/stop:", on_click=privacy_check_runs.stop, args=checks, key="overview-cancel"
        )
        _live()
    else:
        _draw({key: privacy_check_runs.look(preset.check) for key, preset in PRESETS.items()})
    st.header("Look closer")
    grid = st.grid(3, min_column_width=220)
    for preset in PRESETS.values():
        with grid.cell():
            st.button(
                preset.title,
                key=f"open-{preset.key}",
                on_click=open_preset,
                args=(preset,),
                width="stretch",
                help=preset.about,
            )


@st.fragment(run_every=privacy_check_runs.POLL_SECONDS)
def _live() -> None:
    watched = {key: privacy_check_runs.look(preset.check) for key, preset in PRESETS.items()}
    if not any(found.is_live for found in watched.values()):
        st.rerun()
    done = sum(not found.is_live for found in watched.values())
    share = sum(1.0 if not found.is_live else found.share for found in watched.values()) / len(watched)
    st.progress(share, f"Computing: {done} of {len(watched)} audits done.")
    _draw(watched)


def _draw(watched: dict[str, Watched]) -> None:
    rungs = [_rung(PRESETS[key], found) for key, found in watched.items()]
    done = [rung for rung in rungs if not math.isnan(rung.audited)]
    said = "; ".join(f"{rung.label}: asked {rung.asked}, audited at least {number(rung.audited)}" for rung in done)
    deltas = "".join(f" {rung.label}: at delta = {number(rung.delta)}." for rung in rungs if rung.delta > 0.0)
    charts.show(plots_privacy.ladder(rungs), "ladder", f"Epsilons side by side. {said or 'No audit is done yet'}.")
    st.caption(
        f"Epsilon on a logarithmic axis. Each bound holds with 95 % confidence for all {len(PRESETS)} audits together, "
        "so it is a little lower than that of one attack looked at alone. What is infinite, as without noise, is drawn "
        f"at the right edge.{deltas} Seed 0."
    )
    charts.show_numbers(_table(watched), "ladder-numbers")
    for key, found in watched.items():
        if found.error:
            st.error(f"{PRESETS[key].title}: {found.error}")


def _rung(preset: AttackPreset, watched: Watched) -> plots_privacy.Rung:
    check, joint = preset.check, None if watched.found is None else watched.found.joint
    if joint is None:
        nominal = check.epsilon if check.mechanism.is_private else math.inf
        return plots_privacy.Rung(preset.short, nominal, math.nan, math.nan)
    exact, at_least = joint.exact, math.isnan(joint.exact)
    return plots_privacy.Rung(
        preset.short, joint.claimed, joint.at_least if at_least else exact, joint.lower_bound, at_least, joint.delta
    )


def _table(watched: dict[str, Watched]) -> pd.DataFrame:
    rows = []
    for key, found in watched.items():
        joint = None if found.found is None else found.found.joint
        rung = _rung(PRESETS[key], found)
        exact = "unknown" if math.isnan(rung.exact) else number(float(f"{rung.exact:.3g}"))
        if joint is None:
            verdict = "stopped" if found.stopped else "running"
        elif math.isinf(joint.claimed):
            verdict = "nothing was promised"
        else:
            verdict = "refuted" if joint.refutes else "not refuted"
        rows.append(
            {
                "Mechanism": PRESETS[key].short,
                "Asked for": rung.asked,
                "Exact": ""
                if joint is None
                else f"at least {exact}"
                if rung.at_least and exact != "unknown"
                else exact,
                "Audited, at least": "" if joint is None else number(rung.audited),
                "Runs": "" if joint is None else f"{joint.runs:,}",
                "Verdict": verdict,
            }
        )
    return pd.DataFrame(rows)
