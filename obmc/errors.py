"""The errors that the package raises for bad input, and the checks that raise them.

Every message is one sentence that names the argument, what is wrong with it and what is allowed.
"""

from __future__ import annotations

import math
import numbers
from typing import Any


class RatingsError(ValueError):
    """A ratings file or table that cannot be used; the message says why and what to do."""


class DataNotFoundError(FileNotFoundError):
    """A data set that is not on this machine; the message says how to get it."""


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Return ``value`` as a finite float within the range, or raise ``ValueError`` naming ``name``."""
    allowed = _range_text(low, high, open_low, open_high)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name} must be a number {allowed}, got {value!r}.")
    number = float(value)
    inside = (number > low if open_low else number >= low) and (number < high if open_high else number <= high)
    if not math.isfinite(number) or not inside:
        raise ValueError(f"{name} must be a finite number {allowed}, got {value!r}.")
    return number


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int within [low, high], or raise ``ValueError`` naming ``name``."""
    allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
    whole = isinstance(value, numbers.Integral) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole:
        raise ValueError(f"{name} must be a whole number {allowed}, got {value!r}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be a whole number {allowed}, got {value!r}.")
    return number


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """Return ``value`` if it is one of ``allowed``, or raise ``ValueError`` listing them."""
    if value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {options}, got {value!r}.")
    return value


def _range_text(low: float, high: float, open_low: bool, open_high: bool) -> str:
    above = f"{'above' if open_low else 'of at least'} {low:g}" if low > -math.inf else ""
    below = f"{'below' if open_high else 'at most'} {high:g}" if high < math.inf else ""
    return " and ".join(part for part in (above, below) if part) or "of any finite size"
