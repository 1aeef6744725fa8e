"""Which rating values are no ratings: codes such as 99, -1 or 0 that stand for "not rated"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obmc.datasets.reader.values import plain_number
from obmc.errors import RatingsError

NEGATIVE_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0)
HIGH_CODES = {99.0: 20.0, 999.0: 100.0, 9999.0: 1000.0, 99999.0: 10000.0}


def given_codes(missing: Any) -> tuple[list[float], list[str]]:
    """The numbers and the texts of the ``missing`` argument: one of either or several."""
    several = [missing] if isinstance(missing, str | int | float | np.number) else missing
    if not isinstance(several, Iterable):
        raise RatingsError(f"missing must be a number, a text or several of them, got {missing!r}.")
    numbers, texts = [], []
    for code in several:
        if isinstance(code, bool) or not isinstance(code, str | int | float | np.number):
            raise RatingsError(f"missing must hold numbers and texts only, got {code!r}.")
        value = plain_number(code.strip()) if isinstance(code, str) else float(code)
        if np.isfinite(value):
            numbers.append(value)
        else:
            texts.append(str(code).strip())
    return numbers, texts


def guess_codes(
    values: NDArray[np.float64], counts: NDArray[np.int64], *, filled: bool
) -> tuple[list[float], list[str]]:
    """The values that are codes, and what to note of them and of others that look odd but stay.

    ``values`` are the different ratings, sorted; ``counts`` how often each occurs; ``filled`` says that they are a
    matrix without an empty cell, where 0 is more likely to stand for one.

    -1 and the like are codes where nothing else is negative and the rest is a scale; 99, 999 where they lie far above
    the rest; 0 where the rest is a scale that starts at 1 (or 0.5) and zeros outnumber every rating by half again,
    beyond chance.
    """
    codes: list[float] = []
    notes: list[str] = []
    for value, bound in HIGH_CODES.items():
        rest = values[values != value]
        if value in values and len(rest) >= 2 and float(np.abs(rest).max()) <= bound:
            codes.append(value)
    for value in NEGATIVE_CODES:
        rest = values[~np.isin(values, [*codes, value])]
        if value in values and len(rest) >= 3 and float(rest.min()) >= 0 and float(rest.max()) >= 3:
            codes.append(value)
    zero, zero_note = _zero(values, counts, codes, filled)
    codes += zero
    for code in codes:
        count = int(counts[values == code][0])
        rest = values[~np.isin(values, codes)]
        notes.append(
            f"Ratings of {code:g} dropped: {count:,}; {code:g} stands apart from the other ratings, {rest.min():g} to "
            f"{rest.max():g}, and was taken for 'not rated' (to keep it: missing=())."
        )
    return codes, notes + zero_note + _outliers(values, counts, codes)


def _zero(
    values: NDArray[np.float64], counts: NDArray[np.int64], codes: list[float], filled: bool
) -> tuple[list[float], list[str]]:
    rest = ~np.isin(values, [*codes, 0.0])
    if (
        0.0 not in values
        or rest.sum() < 3
        or not 3 <= float(values[rest].max()) <= 10
        or float(values[rest].min()) < 0.5
    ):
        return [], []
    zeros, most = int(counts[values == 0][0]), int(counts[rest].max())
    if zeros > 1.5 * most + 2 * most**0.5 or (filled and zeros > most):
        return [0.0], []
    if zeros > 1.25 * most:
        return [], [f"0 is the most frequent rating ({zeros:,} rows) and was kept; if it means 'not rated': missing=0."]
    return [], []


def _outliers(values: NDArray[np.float64], counts: NDArray[np.int64], codes: list[float]) -> list[str]:
    """Values far outside a short scale, which may be slips of the keyboard; they stay, and are shown."""
    kept = ~np.isin(values, codes)
    left, often = values[kept], counts[kept]
    usual = left[often >= max(2, 0.01 * often.sum())]
    if not 2 <= len(usual) <= 21 or float(np.abs(usual).max()) > 10:
        return []
    span = float(usual.max() - usual.min())
    far = (left > usual.max() + 2 * max(span, 1)) | (left < usual.min() - 2 * max(span, 1))
    if not far.any() or often[far].sum() > 0.05 * often.sum():
        return []
    shown = ", ".join(f"{value:g}" for value in left[far][:4])
    return [
        f"Ratings far outside {usual.min():g} to {usual.max():g}, kept: {int(often[far].sum()):,} ({shown}); to "
        f"leave them out: missing=({left[far][0]:g}, ...)."
    ]
