"""The controls of the privacy check and the ``Check`` that they add up to.

They are this page's own: an attack wants small data, and presets set all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import streamlit as st

from obmc import limits
from obmc.checks import ABOUT_INSTANCES, INSTANCES, PRESETS, RUNS, AttackPreset, Check, find_attack
from obmc.experiments.mechanisms import MechanismSpec
from obmc.links import has_sigma
from obmc.offers import CALIBRATION_TITLES, NOISE_TITLES, OFFERS, Offer
from obmc.privacy.audit import STATISTICS
from pages.parts import address
from pages.parts.address import Control

_OFFERS = {offer.label: offer for offer in OFFERS.values() if offer.key not in ("effects", "clear-effects")}
_CALIBRATIONS = {**dict(reversed(CALIBRATION_TITLES.items())), "displayed": "Paper, as displayed"}
_STATISTICS = dict(zip(STATISTICS, ("All that is let out", "The flipped entry alone"), strict=True))
_USUAL = "Usual"
_CHOSEN = "Attacker's choice"


def _calibration_of(known: Collection[str]) -> Control:
    titles = {key: title for key, title in _CALIBRATIONS.items() if key in known}
    return address.choice("attack_cal", "Calibration", "calibration", titles)


VIEWS = OVERVIEW, ATTACK, MATRIX, GAME = (
    "All mechanisms",
    "One attack",
    "What a reader learns",
    "Guess the rating",
)
# Of the address alone: taken out of it, since the controls have parameters of their own.
_PRESET = address.choice("preset", "Preset", "preset", tuple(PRESETS))
_OPEN = address.choice("open", "What to look at", "open", VIEWS)
VIEW = address.choice("look", "What to look at", "look", VIEWS)
MECHANISM = address.choice("attack_mech", "Mechanism", "mechanism", tuple(_OFFERS), "OutP")
CALIBRATION = _calibration_of(_CALIBRATIONS)
EPSILON = address.stops("attack_eps", "Epsilon", "epsilon", limits.EPSILON_GRID, limits.EPSILON.default, "{:g}".format)
DATA = address.choice("attack_data", "Data", "data", INSTANCES)
NOISE = address.choice("attack_noise", "Noise model of the ratings", "noise model", NOISE_TITLES)
SIGMA = address.number("attack_sigma", "Sigma", limits.SIGMA)
ALPHA = address.number("attack_alpha", "Alpha", limits.ALPHA)
STATISTIC = address.choice("attack_sees", "The attacker sees", "what the attacker sees", _STATISTICS)
RUNS_WANTED = address.choice("attack_runs", "Runs in each world", "runs", (_USUAL, *(f"{count:,}" for count in RUNS)))
SEED = address.number("attack_seed", "Seed", limits.SEED)
CONTROLS = (VIEW, MECHANISM, CALIBRATION, EPSILON, DATA, NOISE, SIGMA, ALPHA, STATISTIC, RUNS_WANTED, SEED)
# Which ratings there are depends on the data.
ENTRY = Control("attack_entry", "Rating to flip", _CHOSEN, str)
# Parameters that set controls.
SHORTCUTS = (_PRESET, _OPEN)


def take_address() -> None:
    """Set the controls to the preset that the address names, once; called before any of them is drawn."""
    preset = address.take(_PRESET)
    view = address.take(_OPEN)
    if preset is None:
        return
    apply(PRESETS[preset])
    st.session_state[VIEW.key] = ATTACK if view is None else view


def apply(preset: AttackPreset) -> None:
    """Set all controls to a preset."""
    check = preset.check
    offer = _offer_of(check.mechanism)
    calibration = check.mechanism.calibration
    st.session_state.update(
        {
            MECHANISM.key: offer.label,
            CALIBRATION.key: _CALIBRATIONS.get(calibration, CALIBRATION.default),
            EPSILON.key: check.epsilon,
            DATA.key: INSTANCES[check.instance],
            NOISE.key: NOISE_TITLES[check.noise],
            SIGMA.key: check.sigma,
            ALPHA.key: check.alpha,
            STATISTIC.key: _STATISTICS[check.statistic],
            ENTRY.key: _CHOSEN,
            RUNS_WANTED.key: _USUAL,
            SEED.key: check.seed,
        }
    )


def _offer_of(spec: MechanismSpec) -> Offer:
    return next(offer for offer in _OFFERS.values() if (offer.name, offer.options) == (spec.name, spec.options))


def presets(chosen: Callable[[AttackPreset], None]) -> None:
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
        label = address.pick(st.pills, MECHANISM, tuple(_OFFERS))
        offer = _OFFERS[label]
        st.caption(offer.about)
    with middle:
        calibration = _calibration(offer)
        st.select_slider(
            EPSILON.label,
            limits.EPSILON_GRID,
            value=EPSILON.default,
            format_func=EPSILON.form,
            disabled=not offer.private,
            help="What the mechanism is asked to keep, from 0.1 to 20.",
            **address.bind(EPSILON),
        )
    with right:
        titles = tuple(INSTANCES.values())
        instance = DATA.value_of(st.selectbox(DATA.label, titles, **address.bind(DATA)))
        st.caption(ABOUT_INSTANCES[instance])
    with st.expander("More settings"):
        return _more(offer, calibration, instance)


def _calibration(offer: Offer) -> str:
    control = _calibration_of({key for key in _CALIBRATIONS if key != "displayed" or offer.name == "ObjP"})
    titles = tuple(control.titles.values())
    if st.session_state.get(control.key) not in titles:
        st.session_state[control.key] = titles[0]
    title = address.pick(
        st.segmented_control,
        control,
        titles,
        disabled=not offer.calibrated,
        help="How much noise: as in the paper, or as corrected. ObjP also as its formula is displayed in the paper.",
    )
    return control.value_of(title) if offer.calibrated else ""


def _more(offer: Offer, calibration: str, instance: str) -> Check:
    first, second, third = st.columns(3, gap="medium")
    with first:
        noise = NOISE.value_of(address.pick(st.segmented_control, NOISE, tuple(NOISE_TITLES.values())))
        sigma = limits.SIGMA.default
        if has_sigma(noise):
            sigma = _number(SIGMA, "Its standard deviation, from 0.05 to 5.")
        alpha = _number(ALPHA, "The bound of the entries, from 0.1 to 10.")
    with second:
        sees = address.pick(
            st.segmented_control,
            STATISTIC,
            tuple(_STATISTICS.values()),
            help="All that leaves the mechanism, reduced to the number that tells the two worlds apart best; or the "
            "released matrix at one place.",
        )
        runs = st.selectbox(
            RUNS_WANTED.label,
            tuple(RUNS_WANTED.titles),
            help="The usual number takes a few seconds. The more, the larger the epsilon that can be shown.",
            **address.bind(RUNS_WANTED),
        )
    with third:
        seed = st.number_input(SEED.label, **SEED.numbers, help="Of data and noise.", **address.bind(SEED))
        spec = MechanismSpec(offer.name, calibration, offer.options)
        base = Check(
            mechanism=spec,
            epsilon=float(st.session_state[EPSILON.key]) if offer.private else limits.EPSILON.default,
            instance=instance,
            noise=noise,
            sigma=sigma,
            alpha=alpha,
            statistic=STATISTIC.value_of(sees),
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
    offered = (_CHOSEN, *places)
    if st.session_state.get(ENTRY.key) not in offered:
        # Of other data.
        st.session_state.pop(ENTRY.key, None)
    own = "the bridging one" if data.entry is not None else "the one that moves the estimate most, of 20"
    chosen = st.selectbox(
        ENTRY.label,
        offered,
        help=f"Left to the attacker: {own}.",
        **address.bind(address.choice(ENTRY.key, ENTRY.label, "rating to flip", offered)),
    )
    return base if chosen == _CHOSEN else replace(base, entry=places[chosen])


def _number(control: Control, help: str) -> float:
    return float(st.number_input(control.label, **control.numbers, format="%g", help=help, **address.bind(control)))


def about(check: Check) -> None:
    """What to look for, where the controls are at a preset."""
    preset = find_attack(check)
    if preset is not None:
        st.info(f"**{preset.title}.** {preset.about}", icon=":material/lightbulb:")
