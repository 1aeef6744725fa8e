"""The controls of the privacy check and the ``Check`` that they add up to.

They are this page's own: an attack wants small data, and presets set all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from obmc import limits
from obmc.checks import ABOUT_INSTANCES, INSTANCES, PRESETS, RUNS, Check, Preset, find_preset
from obmc.experiments.mechanisms import MechanismSpec
from obmc.offers import OFFERS, Offer
from obmc.privacy.audit import STATISTICS

_OFFERS = {offer.label: offer for offer in OFFERS.values() if offer.key not in ("effects", "clear-effects")}
_CALIBRATIONS = {"paper": "Paper", "rigorous": "Rigorous", "displayed": "Paper, as displayed"}
_NOISES = {"logistic": "Logistic", "gaussian": "Gaussian"}
_STATISTICS = dict(zip(STATISTICS, ("All that is let out", "The flipped entry alone"), strict=True))
_USUAL = "Usual"
_CHOSEN = "Attacker's choice"
# Of the address; they are taken out of it, since the controls have parameters of their own.
_PRESET, _OPEN = "preset", "open"
MECHANISM, CALIBRATION, EPSILON, DATA = "attack_mech", "attack_cal", "attack_eps", "attack_data"
NOISE, SIGMA, ALPHA, STATISTIC = "attack_noise", "attack_sigma", "attack_alpha", "attack_sees"
ENTRY, RUNS_KEY, SEED = "attack_entry", "attack_runs", "attack_seed"


def take_address(views: tuple[str, ...], usual: str) -> str | None:
    """Set the controls to the preset that the address names, once; called before any of them is drawn.

    Returns the view that the address asks for with it, ``usual`` if it asks for none of ``views``; None without preset.
    """
    key, wanted = st.query_params.get(_PRESET), st.query_params.get(_OPEN)
    for name in (_PRESET, _OPEN):
        if name in st.query_params:
            del st.query_params[name]
    if key is None:
        return None
    if key not in PRESETS:
        st.warning(f"There is no preset of this name. There is: {', '.join(PRESETS)}.")
        return None
    apply(PRESETS[key])
    return wanted if wanted in views else usual


def apply(preset: Preset) -> None:
    """Set all controls to a preset."""
    check = preset.check
    offer = _offer_of(check.mechanism)
    calibration = check.mechanism.calibration
    st.session_state.update(
        {
            MECHANISM: offer.label,
            CALIBRATION: _CALIBRATIONS.get(calibration, _CALIBRATIONS["paper"]),
            EPSILON: check.epsilon,
            DATA: INSTANCES[check.instance],
            NOISE: _NOISES[check.noise],
            SIGMA: check.sigma,
            ALPHA: check.alpha,
            STATISTIC: _STATISTICS[check.statistic],
            ENTRY: _CHOSEN,
            RUNS_KEY: _USUAL,
            SEED: check.seed,
        }
    )


def _offer_of(spec: MechanismSpec) -> Offer:
    return next(offer for offer in _OFFERS.values() if (offer.name, offer.options) == (spec.name, spec.options))


def presets(chosen: Callable[[Preset], None]) -> None:
    """The presets as a list of buttons that opens."""
    with st.popover("Presets", icon=":material/bolt:"):
        for preset in PRESETS.values():
            st.button(
                preset.title,
                key=f"preset-{preset.key}",
                on_click=chosen,
                args=(preset,),
                width="stretch",
                help=preset.about,
            )


def choose() -> Check:
    """Draw the controls; ``ValueError`` where they do not make a check."""
    left, middle, right = st.columns([3, 2, 2], gap="medium")
    with left:
        label = st.pills(
            "Mechanism",
            tuple(_OFFERS),
            default="OutP",
            required=True,
            wrap=True,
            **_kept(MECHANISM),
        )
        offer = _OFFERS[label]
        st.caption(offer.about)
    with middle:
        calibration = _calibration(offer)
        st.select_slider(
            "Epsilon",
            limits.EPSILON_GRID,
            value=1.0,
            format_func="{:g}".format,
            disabled=not offer.private,
            help="What the mechanism is asked to keep, from 0.1 to 20.",
            **_kept(EPSILON),
        )
    with right:
        titles = tuple(INSTANCES.values())
        instance = _key_of(INSTANCES, st.selectbox("Data", titles, **_kept(DATA)))
        st.caption(ABOUT_INSTANCES[instance])
    with st.expander("More settings"):
        return _more(offer, calibration, instance)


def _calibration(offer: Offer) -> str:
    known = [key for key in _CALIBRATIONS if key != "displayed" or offer.name == "ObjP"]
    titles = [_CALIBRATIONS[key] for key in known]
    if st.session_state.get(CALIBRATION) not in titles:
        st.session_state[CALIBRATION] = titles[0]
    title = st.segmented_control(
        "Calibration",
        titles,
        required=True,
        disabled=not offer.calibrated,
        help="How much noise: as in the paper, or as corrected. ObjP also as its formula is displayed in the paper.",
        **_kept(CALIBRATION),
    )
    return _key_of(_CALIBRATIONS, title) if offer.calibrated else ""


def _more(offer: Offer, calibration: str, instance: str) -> Check:
    first, second, third = st.columns(3, gap="medium")
    with first:
        noise = _key_of(
            _NOISES,
            st.segmented_control(
                "Noise model of the ratings", tuple(_NOISES.values()), default="Logistic", required=True, **_kept(NOISE)
            ),
        )
        sigma = limits.SIGMA.default
        if noise == "gaussian":
            sigma = _number("Sigma", limits.SIGMA, SIGMA, "Its standard deviation, from 0.05 to 5.")
        alpha = _number("Alpha", limits.ALPHA, ALPHA, "The bound of the entries, from 0.1 to 10.")
    with second:
        sees = st.segmented_control(
            "The attacker sees",
            tuple(_STATISTICS.values()),
            default=_STATISTICS[STATISTICS[0]],
            required=True,
            help="All that leaves the mechanism, reduced to the number that tells the two worlds apart best; or the "
            "released matrix at one place.",
            **_kept(STATISTIC),
        )
        runs = st.selectbox(
            "Runs in each world",
            (_USUAL, *(f"{count:,}" for count in RUNS)),
            help="The usual number takes a few seconds. The more, the larger the epsilon that can be shown.",
            **_kept(RUNS_KEY),
        )
    with third:
        seed = st.number_input("Seed", 0, int(limits.SEED.high), 0, 1, help="Of data and noise.", **_kept(SEED))
        spec = MechanismSpec(offer.name, calibration, offer.options)
        base = Check(
            mechanism=spec,
            epsilon=float(st.session_state[EPSILON]) if offer.private else limits.EPSILON.default,
            instance=instance,
            noise=noise,
            sigma=sigma,
            alpha=alpha,
            statistic=_key_of(_STATISTICS, sees),
            entry=None,
            runs=None if runs == _USUAL else int(runs.replace(",", "")),
            seed=int(seed),
        )
        return _with_entry(base)


def _with_entry(base: Check) -> Check:
    """The check with the rating to flip, chosen among the observed ones."""
    data = base.data
    obs = data.observations
    order = obs.omega.flat.argsort()
    places = {
        f"row {obs.rows[k]}, column {obs.cols[k]} ({'+1' if obs.signs[k] > 0 else '−1'})": (
            int(obs.rows[k]),
            int(obs.cols[k]),
        )
        for k in order
    }
    if st.session_state.get(ENTRY, _CHOSEN) not in places:
        st.session_state[ENTRY] = _CHOSEN
    own = "the bridging one" if data.entry is not None else "the one that moves the estimate most, of 20"
    chosen = st.selectbox(
        "Rating to flip",
        (_CHOSEN, *places),
        help=f"Left to the attacker: {own}.",
        **_kept(ENTRY, bound=False),
    )
    return base if chosen == _CHOSEN else replace(base, entry=places[chosen])


def _number(label: str, bound: limits.Range, key: str, help: str) -> float:
    return float(
        st.number_input(label, bound.low, bound.high, bound.default, bound.step, format="%g", help=help, **_kept(key))
    )


def _kept(key: str, bound: bool = True) -> dict:
    kept = {"key": key, "persist_state": "session"}
    return {**kept, "bind": "query-params"} if bound else kept


def _key_of(titles: dict[str, str], title: str) -> str:
    return next(key for key, known in titles.items() if known == title)


def about(check: Check) -> None:
    """What to look for, where the controls are at a preset."""
    preset = find_preset(check)
    if preset is not None:
        st.info(f"**{preset.title}.** {preset.about}", icon=":material/lightbulb:")
