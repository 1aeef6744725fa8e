"""The shared controls, each bound to one parameter of the address, and the ``Setting`` that they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import streamlit as st

from obmc import limits
from obmc.errors import check_choice
from obmc.offers import CALIBRATIONS, OFFERS, Offer, find_offer
from obmc.single import Setting

_SETTING = "_setting"
_NOTES = "_notes"
_SLIDER = "eps_slider"


@dataclass(frozen=True)
class Control:
    """One parameter of the address: its key there, what it is called on the page, and what it may be.

    ``titles``: what a choice's values are called, on the page and, since Streamlit binds that, in the address.
    """

    key: str
    label: str
    bound: limits.Range | limits.Choice
    titles: Mapping[str, str] = field(default_factory=dict)

    def read(self, text: str) -> str | float:
        """What the widget holds for a text of the address; ``ValueError`` naming what is allowed."""
        if isinstance(self.bound, limits.Range):
            return self.bound.parse(text)
        known = {name.casefold(): title for value, title in self.titles.items() for name in (value, title)}
        if text.casefold() not in known:
            check_choice(self.bound.name, text, tuple(self.titles.values()))
        return known[text.casefold()]

    @property
    def default(self) -> str:
        """The default as a text."""
        value = self.bound.default
        return self.titles[value] if isinstance(value, str) else f"{value:g}"


DATA = Control(
    "data", "Data set", limits.DATA, {"synthetic": "Synthetic", "ml-100k": "MovieLens-100K", "rc": "Restaurants"}
)
NOISE = Control("noise", "Noise model", limits.LINK, {"logistic": "Logistic", "gaussian": "Gaussian"})
SIGMA = Control("sigma", "Sigma, the noise's standard deviation", limits.SIGMA)
MECHANISM = Control(
    "mech",
    "Mechanism",
    limits.Choice("mechanism", tuple(OFFERS)),
    {offer.key: offer.label for offer in OFFERS.values()},
)
CALIBRATION = Control(
    "cal", "Calibration", limits.Choice("calibration", CALIBRATIONS), {"rigorous": "Rigorous", "paper": "Paper"}
)
EPSILON = Control("eps", "Epsilon", limits.EPSILON)
ALPHA = Control("alpha", "Alpha, the bound of the entries", limits.ALPHA)
RANK = Control("rank", "Rank", limits.RANK)
RADIUS = Control("radius", "Radius, in multiples of tau", limits.RADIUS)
RATIO = Control("obs", "Share of entries observed", limits.RATIO)
SIZE = Control("size", "Rows and columns", limits.SIZE)
SEED = Control("seed", "Seed", limits.SEED)
CONTROLS = (DATA, NOISE, SIGMA, MECHANISM, CALIBRATION, EPSILON, ALPHA, RANK, RADIUS, RATIO, SIZE, SEED)
# Switches of the frame: texts that teach, and large type with a code to follow the talk.
EXPLAIN, PROJECTOR = "explain", "projector"


# The address ----------------------------------------------------------------------------------------------------------


def _read_address() -> None:
    """Keep a sentence for every value of the address that its control cannot take; called before the widgets.

    The widgets themselves fall back to their defaults and drop the parameter without a word; and they know a choice
    by its title in the right case only, so another way of writing it is handed to them.
    """
    notes = []
    for control in CONTROLS:
        text = st.query_params.get(control.key)
        if text is None:
            continue
        try:
            value = control.read(text)
        except ValueError as error:
            notes.append(f"The address has {control.key}={text[:40]}. {error} Used instead: {control.default}.")
            continue
        if isinstance(value, str) and value != text:
            st.session_state[control.key] = value
    if notes:
        st.session_state[_NOTES] = notes


def show_notes() -> None:
    """The sentences about the address, until a control is moved."""
    for note in st.session_state.get(_NOTES, ()):
        st.warning(as_text(note))


def as_text(note: str) -> str:
    """A text without Markdown: it quotes what somebody else may have written."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]()<>#+-!|$~:" else sign for sign in note)


def _forget_notes() -> None:
    st.session_state.pop(_NOTES, None)


# Widgets --------------------------------------------------------------------------------------------------------------


def _shared(control: Control, help: str) -> dict:
    """What all shared widgets have in common."""
    return {
        "label": control.label,
        "key": control.key,
        "bind": "query-params",
        "persist_state": "session",
        "on_change": _forget_notes,
        "help": help,
    }


def _value_of(control: Control, title: str) -> str:
    return next(value for value, known in control.titles.items() if known == title)


def _choose(control: Control, help: str) -> str:
    options = tuple(control.titles.values())
    return _value_of(control, st.selectbox(options=options, **_shared(control, help)))


def _numbers(control: Control) -> dict:
    bound = control.bound
    assert isinstance(bound, limits.Range)
    kind = int if bound.whole else float
    ends = {"min_value": kind(bound.low), "max_value": kind(bound.high)}
    return {**ends, "value": kind(bound.default), "step": kind(bound.step)}


def _slide(control: Control, help: str, form: str | None = None) -> float:
    return st.slider(format=form, **_numbers(control), **_shared(control, help))


def _type(control: Control, help: str, form: str | None = None) -> float:
    return st.number_input(format=form, **_numbers(control), **_shared(control, help))


def sidebar() -> None:
    """Draw the controls that all pages share and keep what they say for ``current``."""
    _read_address()
    with st.sidebar:
        data = _choose(DATA, "Made data with a known truth, or one of the paper's two real data sets.")
        noise = _choose(
            NOISE,
            "How an entry x becomes +1: with probability 1/(1 + exp(−x)) (logistic) or Φ(x/sigma) (Gaussian).",
        )
        sigma = limits.SIGMA.default
        if noise == "gaussian":
            sigma = _type(
                SIGMA,
                "The standard deviation of the Gaussian noise model, from 0.05 to 5. The smaller, the more a sign "
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
            "rating grow at most e^epsilon-fold where it is proven for the whole output.",
            "%g",
        )
        alpha = _slide(
            ALPHA, "The bound of the entries, from 0.1 to 10: none of the estimate is larger in absolute value.", "%g"
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
        switch(EXPLAIN, "Explain", "Short boxes that say how to read what is on the page; off for presenters.", True)
        switch(PROJECTOR, "Projector view", "Large type, and a QR code with the link to this view for the audience.")
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


def switch(key: str, label: str, help: str, value: bool = False) -> bool:
    """A switch that is part of the address."""
    return st.toggle(label, value, key=key, bind="query-params", persist_state="session", help=help)


def explains() -> bool:
    """Whether the boxes that teach are wanted."""
    return bool(st.session_state.get(EXPLAIN, True))


def scale() -> float:
    """How much larger than usual figures are drawn."""
    return 1.5 if st.session_state.get(PROJECTOR) else 1.0


def current() -> Setting:
    """What the shared controls say; without privacy, since not every page chooses one mechanism."""
    return st.session_state[_SETTING]


def calibration() -> str:
    """The chosen calibration."""
    return _value_of(CALIBRATION, st.session_state[CALIBRATION.key])


def mechanism_and_epsilon() -> tuple[Offer, Setting]:
    """The main controls of a page about one run, outside the sidebar so that a phone shows them."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        title = st.pills(
            options=tuple(MECHANISM.titles.values()),
            default=MECHANISM.default,
            required=True,
            wrap=True,
            **_shared(MECHANISM, "Where the noise comes in: nowhere, or at one of four places."),
        )
        offer = find_offer(_value_of(MECHANISM, title))
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
    st.session_state[_SLIDER] = limits.nearest_epsilon(typed)
    st.select_slider(
        label,
        limits.EPSILON_GRID,
        key=_SLIDER,
        format_func="{:g}".format,
        on_change=_take_slider,
        disabled=disabled,
        help="From 0.1 (most noise) to 20. Any other value can be typed into the sidebar.",
    )
    st.caption("Without noise epsilon has no effect." if disabled else f"Epsilon is {typed:g}.")


def _take_slider() -> None:
    st.session_state[EPSILON.key] = st.session_state[_SLIDER]
    _forget_notes()
