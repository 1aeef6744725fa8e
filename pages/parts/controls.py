"""The shared controls, each bound to one parameter of the address, and the ``Setting`` that they add up to."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from obmc import limits
from obmc.links import has_sigma
from obmc.offers import CALIBRATION_TITLES, DATA_TITLES, NOISE_TITLES, OFFERS, Offer, find_offer
from obmc.single import Setting
from pages.parts import address
from pages.parts.address import Control

_SETTING = "_setting"
_SLIDER = "eps_slider"


DATA = address.choice("data", "Data set", "data", DATA_TITLES)
NOISE = address.choice("noise", "Noise model", "noise model", NOISE_TITLES)
SIGMA = address.number("sigma", "Sigma, the noise's standard deviation", limits.SIGMA)
MECHANISM = address.choice("mech", "Mechanism", "mechanism", {offer.key: offer.label for offer in OFFERS.values()})
CALIBRATION = address.choice("cal", "Calibration", "calibration", CALIBRATION_TITLES)
EPSILON = address.number("eps", "Epsilon", limits.EPSILON)
ALPHA = address.number("alpha", "Alpha, the bound of the entries", limits.ALPHA)
RANK = address.number("rank", "Rank", limits.RANK)
RADIUS = address.number("radius", "Radius, in multiples of tau", limits.RADIUS)
RATIO = address.number("obs", "Share of entries observed", limits.RATIO)
SIZE = address.number("size", "Rows and columns", limits.SIZE)
SEED = address.number("seed", "Seed", limits.SEED)
CONTROLS = (DATA, NOISE, SIGMA, MECHANISM, CALIBRATION, EPSILON, ALPHA, RANK, RADIUS, RATIO, SIZE, SEED)
# Switches of the frame: texts that teach, and large type with a code to follow the talk.
EXPLAIN = address.switch("explain", "Explain", True)
PROJECTOR = address.switch("projector", "Projector view", False)
SWITCHES = (EXPLAIN, PROJECTOR)


def show_notes(place: DeltaGenerator) -> None:
    """The sentences about the address, until a control is moved. To be called when all controls are there."""
    for note in address.notes():
        place.warning(as_text(note))


# Of Markdown, and what the page would make a link of by itself.
_SIGNS = re.compile(r"[\\`*_{}\[\]()<>#+\-!|$~:@]|(?<=www)\.", re.IGNORECASE)


def as_text(note: str) -> str:
    """A text without Markdown: it quotes what somebody else may have written."""
    return _SIGNS.sub(lambda found: f"\\{found.group()}", note)


# Widgets --------------------------------------------------------------------------------------------------------------


def _shared(control: Control, help: str) -> dict:
    """What all shared widgets have in common."""
    return {"label": control.label, "help": help, **address.bind(control)}


def _choose(control: Control, help: str) -> str:
    return control.value_of(st.selectbox(options=tuple(control.titles.values()), **_shared(control, help)))


def _slide(control: Control, help: str, form: str | None = None) -> float:
    return st.slider(format=form, **control.numbers, **_shared(control, help))


def _type(control: Control, help: str, form: str | None = None) -> float:
    return st.number_input(format=form, **control.numbers, **_shared(control, help))


def sidebar() -> None:
    """Draw the controls that all pages share and keep what they say for ``current``."""
    with st.sidebar:
        data = _choose(DATA, "Made data with a known truth, or one of the paper's two real data sets.")
        noise = _choose(
            NOISE,
            "How an entry x becomes +1: with probability 1/(1 + exp(−x)) (logistic) or Φ(x/sigma) (Gaussian).",
        )
        sigma = limits.SIGMA.default
        if has_sigma(noise):
            sigma = _type(
                SIGMA,
                "The standard deviation of the noise model, from 0.05 to 5. The smaller, the more a sign "
                "says about its entry.",
                "%g",
            )
        st.radio(
            options=tuple(CALIBRATION.titles.values()),
            horizontal=True,
            **_shared(
                CALIBRATION,
                "How much noise, and which estimator: as in the paper, or as corrected. The Playground says what each "
                "guarantees.",
            ),
        )
        epsilon = _type(
            EPSILON,
            "The privacy parameter, from 0.1 to 20: the smaller, the more noise. An adversary's odds about one "
            "rating's sign grow at most e^epsilon-fold where it is proven for the whole output without a delta.",
            "%g",
        )
        alpha = _slide(
            ALPHA,
            "The bound of the entries, from 0.1 to 10: before OutP's noise none of the estimate is larger "
            "in absolute value.",
            "%g",
        )
        rank = _slide(
            RANK,
            "The rank r in the radius tau = alpha √(r · rows · columns), from 1 to 20; on synthetic data the "
            "truth's, too.",
        )
        radius = _slide(
            RADIUS,
            "The estimate's nuclear norm is at most this many times tau, from 0.05 to 2. The paper's choice is 1, "
            "three to four times the norm of its synthetic matrices, so that less is often better.",
            "%g",
        )
        ratio, size = limits.RATIO.default, limits.SIZE.default
        if data == "synthetic":
            ratio = _slide(
                RATIO,
                "The observation ratio: every entry is observed with this probability, from 1 % to 100 %. The page "
                "Observation ratio varies it.",
                "percent",
            )
            size = _slide(
                SIZE, "How many rows, and columns, the synthetic matrix has, from 20 to 500; the paper's: 100."
            )
        seed = _type(
            SEED,
            "A whole number from 0 to 2,147,483,647 that data and noise are drawn from: with the same seed and "
            "settings the numbers are the same again.",
        )
        switch(EXPLAIN, "Short boxes that say how to read what is on the page; off for presenters.")
        switch(PROJECTOR, "Large type, and a QR code with the link to this view for the audience.")
    st.session_state[_SETTING] = Setting(
        data=data,
        noise=noise,
        sigma=sigma,
        epsilon=epsilon,
        alpha=alpha,
        rank=int(rank),
        radius=radius,
        ratio=ratio,
        size=int(size),
        seed=int(seed),
    )


def switch(control: Control, help: str) -> bool:
    """A switch that is part of the address."""
    return st.toggle(control.label, control.default, help=help, **address.bind(control))


def explains() -> bool:
    """Whether the boxes that teach are wanted."""
    return bool(st.session_state.get(EXPLAIN.key, EXPLAIN.default))


def scale() -> float:
    """How much larger than usual figures are drawn."""
    return 1.5 if st.session_state.get(PROJECTOR.key) else 1.0


def current() -> Setting:
    """What the shared controls say; without privacy, since not every page chooses one mechanism."""
    return st.session_state[_SETTING]


def calibration() -> str:
    """The chosen calibration."""
    return CALIBRATION.value_of(st.session_state[CALIBRATION.key])


def mechanism_and_epsilon() -> tuple[Offer, Setting]:
    """The main controls of a page about one run, outside the sidebar so that a phone shows them."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        title = address.pick(
            st.pills,
            MECHANISM,
            tuple(MECHANISM.titles.values()),
            help="Where the noise comes in: nowhere, or at one of four places.",
        )
        offer = find_offer(MECHANISM.value_of(title))
        fixed = offer.private and not offer.calibrated
        st.caption(f"{offer.about} It has no calibrations to choose from." if fixed else offer.about)
    with right:
        _epsilon_slider(disabled=not offer.private)
    return offer, replace(current(), mechanism=offer.spec(calibration()))


def reading_epsilon() -> float:
    """The epsilon at which a chart is read: the sidebar's, moved by a slider beside the chart."""
    _epsilon_slider(disabled=False, label="Read the chart at epsilon")
    return float(st.session_state[EPSILON.key])


def _epsilon_slider(disabled: bool, label: str = "Epsilon") -> None:
    """A logarithmic slider that moves the number in the sidebar and follows it."""
    typed = st.session_state[EPSILON.key]
    st.session_state[_SLIDER] = nearest = limits.nearest_epsilon(typed)
    between = "" if nearest == typed else f" The slider's nearest stop is {nearest:g}."
    st.select_slider(
        label,
        limits.EPSILON_GRID,
        key=_SLIDER,
        format_func="{:g}".format,
        on_change=_take_slider,
        disabled=disabled,
        help="From 0.1 (most noise) to 20. Any other value can be typed into the sidebar.",
    )
    st.caption("Without noise epsilon has no effect." if disabled else f"Epsilon is {typed:g}.{between}")


def _take_slider() -> None:
    st.session_state[EPSILON.key] = st.session_state[_SLIDER]
    address.forget()
