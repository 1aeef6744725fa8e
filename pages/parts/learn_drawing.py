"""The one drawing of the lessons: the way of a rating to the reader of a matrix, and where noise can come in."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from obmc.plots import STYLES

WIDTH, HEIGHT = 380, 612
_BOX = 176
_ALT = (
    "The way of the data, from top to bottom. One person's rating becomes a sign; InP and InP+ reverse it at random "
    "here, before anybody else sees it. Below the line of trust the signs of all people form a matrix with holes; ObjP "
    "adds a random linear term to the objective made of it; GraP adds noise to every gradient step of the solver; OutP "
    "adds noise to the entries of the completed matrix, which goes to the reader."
)


@dataclass(frozen=True)
class _Stage:
    """A box on the way: its title, a line beneath, and what comes in below it."""

    title: str
    line: str
    mechanism: str = ""
    noise: tuple[str, ...] = ()


_STAGES = (
    _Stage("A person's rating", "★★★★☆ is above 3.5: +1", "InP", ("InP and InP+", "reverse the sign")),
    _Stage("A matrix with holes", "all signs, +1 and −1"),
    _Stage("The objective", "how badly X fits the signs", "ObjP", ("ObjP", "adds a random", "linear term")),
    _Stage("The solver", "steps along gradients", "GraP", ("GraP", "adds noise to", "every gradient")),
    _Stage("The completed matrix", "a value in every hole", "OutP", ("OutP", "adds noise to", "every entry")),
    _Stage("The reader", "anybody at all"),
)
_STEP = 108
_TRUST_AFTER = 0


def svg() -> str:
    """The drawing as a text."""
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" role="img" aria-label="{_ALT}" '
        'fill="currentColor" stroke="none" font-family="inherit" font-size="13">'
    ]
    for order, stage in enumerate(_STAGES):
        top = 8 + order * _STEP
        parts.append(_box(stage, top))
        if order + 1 < len(_STAGES):
            parts.append(_arrow(top + 62, top + _STEP - 4))
        if stage.mechanism:
            parts.append(_noise(stage, top + 62))
        if order == _TRUST_AFTER:
            parts.append(_trust(top + 96))
    return "".join([*parts, "</svg>"])


def _box(stage: _Stage, top: int) -> str:
    middle = 2 + _BOX // 2
    return (
        f'<rect x="2" y="{top}" width="{_BOX}" height="58" rx="8" fill="none" stroke="currentColor" '
        'stroke-width="1.5"></rect>'
        f'<text x="{middle}" y="{top + 25}" text-anchor="middle" font-weight="600" font-size="14">{stage.title}</text>'
        f'<text x="{middle}" y="{top + 45}" text-anchor="middle">{stage.line}</text>'
    )


def _arrow(start: int, end: int) -> str:
    x = 2 + _BOX // 2
    return (
        f'<line x1="{x}" y1="{start}" x2="{x}" y2="{end - 7}" stroke="currentColor" stroke-width="1.5"></line>'
        f'<path d="M {x - 5} {end - 8} L {x + 5} {end - 8} L {x} {end} Z"></path>'
    )


def _noise(stage: _Stage, top: int) -> str:
    """A wavy arrow from the right into the way below a box."""
    x, y = 2 + _BOX // 2, top + 14
    colour = STYLES[stage.mechanism].colour
    wave = " ".join(f"q 4 {-7 if k % 2 == 0 else 7} 8 0" for k in range(12))
    lines = "".join(
        f'<text x="218" y="{y - 11 + 17 * k}" {"font-weight=" + chr(34) + "700" + chr(34) if k == 0 else ""}>'
        f"{text}</text>"
        for k, text in enumerate(stage.noise)
    )
    return (
        f'<path d="M {x + 16} {y} {wave}" fill="none" stroke="{colour}" stroke-width="2.5"></path>'
        f'<path d="M {x + 17} {y - 6} L {x + 17} {y + 6} L {x + 5} {y} Z" fill="{colour}"></path>{lines}'
    )


def _trust(y: int) -> str:
    """Above it a person's own device, below it somebody who has to be trusted, or not."""
    return (
        f'<line x1="2" y1="{y}" x2="{WIDTH - 2}" y2="{y}" stroke="currentColor" stroke-width="1" '
        'stroke-dasharray="5 4" opacity="0.75"></line>'
        f'<text x="{WIDTH - 4}" y="{y + 15}" text-anchor="end" font-style="italic" font-size="12">'
        "below: somebody’s server</text>"
    )


# Streamlit's own HTML has no drawings; a component's has, and inherits the theme's colour and type.
_drawing = st.components.v2.component(
    "obmc-drawing",
    html=f'<div class="obmc-drawing">{svg()}</div>',
    css=".obmc-drawing { max-width: 460px; color: inherit; }",
    isolate_styles=False,
)


def show() -> None:
    """Draw it; the text has the theme's colour, the mechanisms have their own."""
    _drawing(key="drawing")
