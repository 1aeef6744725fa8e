"""Which rating values are no ratings: codes such as 99, -1 or 0 that stand for "not rated"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obmc.datasets.reader.values import plain_number
from obmc.errors import RatingsError

NEGATIVE_CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0)
# Codes of surveys for "no answer" or "does not know", beside a scale that ends two steps or more below.
SURVEY_CODES = frozenset((8.0, 9.0, 66.0, 77.0, 88.0, 97.0, 98.0, 99.0))
# Days of the years 1968 to 2064 as spreadsheets count them, which they make of 4.5 where that is the 4th of May.
SERIAL_DAYS = (25_000, 60_000)
# A scale has at most so many steps; what has more is counted or measured.
MOST_LEVELS = 41
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


def serial_days(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of the different ratings are days counted by a spreadsheet: none unless the others are small."""
    days = (values >= SERIAL_DAYS[0]) & (values <= SERIAL_DAYS[1]) & (values % 1 == 0)
    rest = np.abs(values[~days])
    return days if len(rest) >= 2 and float(rest.max()) <= 20 else np.zeros(len(values), dtype=bool)


def guess_codes(
    values: NDArray[np.float64], counts: NDArray[np.int64], *, filled: bool
) -> tuple[list[float], list[str]]:
    """The values that are codes, and what to note of them and of others that look odd but stay.

    ``values`` are the different ratings, sorted; ``counts`` how often each occurs; ``filled`` says that they are a
    matrix without an empty cell, where 0 is more likely to stand for one.

    -1 and the like are codes where nothing else is negative and the rest is a scale; 99, 999 where they lie far above
    the rest; 8, 9, 88 and the like above whole numbers up to 7 at most if no cell is empty; 0 where the rest is a scale
    that starts at 1 (or 0.5) and zeros outnumber every rating by half again, beyond chance. Days counted by a
    spreadsheet among small ratings were ratings once. Raises ``RatingsError`` if they are more than half.
    """
    days = serial_days(values)
    if days.any():
        return _without_days(values, counts, days, filled)
    codes: list[float] = []
    notes: list[str] = []
    # What is typed is taken for a day of the running year.
    if SERIAL_DAYS[0] <= values[0] <= values[-1] <= min(SERIAL_DAYS[1], values[0] + 366) and not (values % 1).any():
        notes.append(
            f"Ratings such as {values[0]:g} may be days that a spreadsheet made of ratings such as 4.5; if so, undo "
            "the conversion in the spreadsheet."
        )
    survey, odd = _survey(values, counts, filled)
    codes += survey
    for value, bound in HIGH_CODES.items():
        rest = values[values != value]
        if value not in codes and value in values and len(rest) >= 2 and float(np.abs(rest).max()) <= bound:
            codes.append(value)
    for value in NEGATIVE_CODES:
        rest = ~np.isin(values, [*codes, value])
        if value in values and _is_negative_code(value, values, counts, rest, filled):
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
    return codes, notes + odd + zero_note + (_outliers(values, counts, codes) if not odd else [])


def _is_negative_code(
    value: float, values: NDArray[np.float64], counts: NDArray[np.int64], rest: NDArray[np.bool_], filled: bool
) -> bool:
    """Does a negative value stand apart: nothing else is negative, or it lies far below; or it fills a matrix?"""
    if rest.sum() < 2:
        return False
    low, high = float(values[rest].min()), float(values[rest].max())
    if max(-low, high) <= HIGH_CODES.get(-value, 0.0):
        return True
    if low < 0 or high < 1:
        return False
    often, most = int(counts[values == value][0]), int(counts[rest].max())
    return (rest.sum() >= 3 and high >= 3) or (filled and value == -1 and _outnumbers(often, most))


def _outnumbers(often: int, most: int) -> bool:
    """By half again, and beyond chance."""
    return often > 1.5 * most + 2 * most**0.5


def _without_days(
    values: NDArray[np.float64], counts: NDArray[np.int64], days: NDArray[np.bool_], filled: bool
) -> tuple[list[float], list[str]]:
    found = values[days].tolist()
    count, total = int(counts[days].sum()), int(counts.sum())
    if count > total / 2:
        raise RatingsError(
            f"{count:,} of {total:,} ratings are day numbers such as {found[0]:g}, which a spreadsheet makes of "
            "ratings such as 4.5: undo the conversion in the spreadsheet, where the column must be text before "
            "it is filled."
        )
    codes, notes = guess_codes(values[~days], counts[~days], filled=filled)
    note = (
        f"Ratings dropped because a spreadsheet seems to have made days of them, such as {found[0]:g}: {count:,} (to "
        "keep them: missing=())."
    )
    return [*codes, *found], [note, *notes]


def _survey(values: NDArray[np.float64], counts: NDArray[np.int64], filled: bool) -> tuple[list[float], list[str]]:
    """Codes above a scale of whole numbers without gaps that starts at 0 or 1 and ends at 7 at most."""
    scale = [value for value in values.tolist() if value >= 0]
    top = next((k for k in range(1, len(scale)) if scale[k] != scale[k - 1] + 1), len(scale)) - 1
    above = scale[top + 1 :]
    if top < 2 or scale[0] not in (0.0, 1.0):
        return [], []
    if not above:
        # 1 to 5 and a sixth step, which surveys have for "does not know", look the same as 1 to 6.
        often, most = int(counts[-1]), int(counts[:-1].max())
        if filled and scale[top] in (6.0, 8.0) and _outnumbers(often, most):
            return [], [_kept(scale[-1:], often)]
        return [], []
    if scale[top] > 7 or above[0] < scale[top] + 2 or not SURVEY_CODES.issuperset(above):
        return [], []
    # From 0 on they may be counts. Two codes at the end of two digits are a survey's in any table.
    if scale[0] == 1 and (filled or {98.0, 99.0} <= set(above)):
        return above, []
    doubtful = [value for value in above if value not in HIGH_CODES and value >= scale[top] + 3]
    return [], [_kept(doubtful, int(counts[np.isin(values, doubtful)].sum()))] if doubtful else []


def _kept(values: list[float], count: int) -> str:
    shown = ", ".join(f"{value:g}" for value in values)
    argument = shown if len(values) == 1 else f"({shown})"
    return f"Ratings of {shown} kept: {count:,}; if that means 'not rated': missing={argument}."


def _zero(
    values: NDArray[np.float64], counts: NDArray[np.int64], codes: list[float], filled: bool
) -> tuple[list[float], list[str]]:
    rest = ~np.isin(values, [*codes, 0.0])
    if 0.0 not in values or not 2 <= rest.sum() <= MOST_LEVELS:
        return [], []
    low, high = float(values[rest].min()), float(values[rest].max())
    zeros, most = int(counts[values == 0][0]), int(counts[rest].max())
    kept = f"0 is the most frequent rating ({zeros:,} rows) and was kept; if it means 'not rated': missing=0."
    if rest.sum() < 3 or not 3 <= high <= 10 or low < 0.5:
        # Likes and dislikes with nothing in between, 1 or 2, 20 to 100: in a matrix what most cells hold is no rating.
        if not (low == -high or low >= 0.5) or high > 100:
            return [], []
        if filled and _outnumbers(zeros, most):
            return [0.0], []
        # What goes up in steps of 1 may be counts.
        return [], [kept] if zeros > most and (low < 0 or low >= 5) else []
    if _outnumbers(zeros, most) or (filled and zeros > most):
        return [0.0], []
    if zeros > 1.25 * most:
        return [], [kept]
    # Book-Crossing and its kind: 1 to 10, and 0 for who has the book but did not rate it.
    if filled or (high > 7 and bool((values[rest] % 1 == 0).all())):
        return [], [_kept([0.0], zeros)]
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
