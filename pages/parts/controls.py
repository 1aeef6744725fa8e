"""The shared controls in the sidebar, each bound to one parameter of the address, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from obmc import limits
from obmc.single import Setting

SETTING = "_setting"
NOTES = "_notes"

TITLES = {
    "synthetic": "Synthetic",
    "ml-100k": "MovieLens 100K",
    "rc": "Restaurants (RC)",
    "logistic": "Logistic",
    "gaussian": "Gaussian",
}


@dataclass(frozen=True)
class Control:
    """One parameter of the address: its key there, what it is called on the page, and what it may be."""

    key: str
    label: str
    bound: limits.Range | limits.Choice


DATA = Control("data", "Data set", limits.DATA)
NOISE = Control("noise", "Noise model", limits.LINK)
SIGMA = Control("sigma", "Sigma, the noise's standard deviation", limits.SIGMA)
EPSILON = Control("eps", "Epsilon", limits.EPSILON)
ALPHA = Control("alpha", "Alpha, bound of the entries", limits.ALPHA)
RANK = Control("rank", "Rank", limits.RANK)
RADIUS = Control("radius", "Radius, as a multiple of the paper's", limits.RADIUS)
RATIO = Control("obs", "Share of entries observed", limits.RATIO)
SIZE = Control("size", "Rows and columns", limits.SIZE)
SEED = Control("seed", "Seed", limits.SEED)
CONTROLS = (DATA, NOISE, SIGMA, EPSILON, ALPHA, RANK, RADIUS, RATIO, SIZE, SEED)


def note_bad_address() -> None:
    """Keep a sentence for every value of the address that its control cannot take; called before the widgets.

    The widgets themselves fall back to their defaults and drop the parameter without a word.
    """
    notes = []
    for control in CONTROLS:
        text = st.query_params.get(control.key)
        if text is not None:
            try:
                control.bound.parse(text)
            except ValueError as error:
                notes.append(f"In the address, {control.key}: {error} The default, {control.bound.default:}, is used.")
    if notes:
        st.session_state[NOTES] = notes


def show_notes() -> None:
    """The sentences about the address, until a control is moved."""
    for note in st.session_state.get(NOTES, ()):
        st.warning(note)


def _forget_notes() -> None:
    st.session_state.pop(NOTES, None)


def _choose(control: Control, help: str) -> str:
    assert isinstance(control.bound, limits.Choice)
    return st.selectbox(
        control.label,
        control.bound.allowed,
        format_func=lambda name: TITLES.get(name, name),
        key=control.key,
        bind="query-params",
        persist_state="session",
        on_change=_forget_notes,
        help=help,
    )


def _slide(control: Control, help: str, form: str | None = None) -> float:
    bound = control.bound
    assert isinstance(bound, limits.Range)
    kind = int if bound.whole else float
    return st.slider(
        control.label,
        kind(bound.low),
        kind(bound.high),
        kind(bound.default),
        kind(bound.step),
        format=form,
        key=control.key,
        bind="query-params",
        persist_state="session",
        on_change=_forget_notes,
        help=help,
    )


def _type(control: Control, help: str, form: str | None = None) -> float:
    bound = control.bound
    assert isinstance(bound, limits.Range)
    kind = int if bound.whole else float
    return st.number_input(
        control.label,
        kind(bound.low),
        kind(bound.high),
        kind(bound.default),
        kind(bound.step),
        format=form,
        key=control.key,
        bind="query-params",
        persist_state="session",
        on_change=_forget_notes,
        help=help,
    )


def sidebar() -> Setting:
    """Draw the shared controls and return what they say."""
    note_bad_address()
    with st.sidebar:
        data = _choose(DATA, "Made data with a known truth, or one of the paper's two real data sets.")
        noise = _choose(
            NOISE,
            "How an entry x becomes +1: with probability 1/(1 + e^-x) (logistic), or Φ(x/sigma) (Gaussian).",
        )
        sigma = limits.SIGMA.default
        if noise == "gaussian":
            sigma = _type(SIGMA, "Of the Gaussian noise before the sign, 0.05 to 5. Small: the signs are nearly exact.")
        epsilon = _type(
            EPSILON,
            "The privacy budget, 0.1 to 20: small protects more and blurs more.",
            form="%g",
        )
        alpha = _slide(ALPHA, "No entry of the estimate is larger than this, 0.1 to 10.")
        rank = _slide(RANK, "Of the truth (synthetic data), and in the paper's radius tau = alpha √(rank d1 d2).")
        radius = _slide(
            RADIUS,
            "The nuclear norm of the estimate is at most this many times tau. The paper's tau is 3 to 4 times the true "
            "nuclear norm of its synthetic matrices, so less can be better.",
        )
        ratio, size = limits.RATIO.default, int(limits.SIZE.default)
        if data == "synthetic":
            ratio = _slide(RATIO, "Every entry is observed with this probability, 1 % to 100 %.", form="percent")
            size = int(_slide(SIZE, "Of the synthetic matrix, 20 to 500. The paper's has 100."))
        seed = int(_type(SEED, "The same seed and settings give the same numbers again, on every machine."))
    return Setting(
        data=data,
        noise=noise,
        sigma=sigma,
        epsilon=epsilon,
        alpha=alpha,
        rank=int(rank),
        radius=radius,
        ratio=ratio,
        size=size,
        seed=seed,
    )
