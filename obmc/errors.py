"""The errors that the package raises for bad input, and the checks that raise them.

Every message is one sentence that names the argument, what is wrong with it and what is allowed.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray


class RatingsError(ValueError):
    """A ratings file or table that cannot be used; the message says why and what to do."""


class DataNotFoundError(FileNotFoundError):
    """A data set that is not on this machine; the message says how to get it."""


class ReleaseFailed(RuntimeError):
    """A release that failed after its mechanism had seen the private signs.

    Whether it fails may depend on them, so a ledger counts it as made. A solver that fails on the data is this: a rank
    that does not fit, a decomposition that does not end, arithmetic, memory, a gap that is not reached.
    """


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
        raise ValueError(f"{name} must be a number {allowed}, got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    inside = (number > low if open_low else number >= low) and (number < high if open_high else number <= high)
    if not math.isfinite(number) or not inside:
        raise ValueError(f"{name} must be a finite number {allowed}, got {shown(value)}.")
    return number


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int within [low, high], or raise ``ValueError`` naming ``name``."""
    allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
    whole = isinstance(value, numbers.Integral) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole:
        raise ValueError(f"{name} must be a whole number {allowed}, got {shown(value)}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be a whole number {allowed}, got {shown(value)}.")
    return number


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """Return ``value`` if it is one of ``allowed``, or raise ``ValueError`` listing them."""
    try:
        known = value in allowed
    except (TypeError, ValueError):  # an array compares entry by entry
        known = False
    if not known:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {options}, got {shown(value)}.")
    return value


def check_instance(name: str, value: Any, kind: type, what: str) -> None:
    """Raise ``ValueError`` unless ``value`` is a ``kind``; ``what`` says in words what ``name`` must be."""
    if isinstance(value, type) or not isinstance(value, kind):  # a class may have all that its instances must have
        raise ValueError(f"{name} must be {what}, got a {type(value).__name__}.")


def check_shape(name: str, value: Any, *, high: int | None = None, entries: int | None = None) -> tuple[int, int]:
    """Return ``value`` as a pair of ints of at least 1, or raise ``ValueError`` naming ``name``.

    ``high`` bounds both of them, ``entries`` their product.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"{name} must be a pair (d1, d2) of whole numbers of at least 1, got {shown(value)}.")
    rows = check_integer(f"{name}[0]", value[0], low=1, high=high)
    cols = check_integer(f"{name}[1]", value[1], low=1, high=high)
    if entries is not None and rows * cols > entries:
        raise ValueError(f"{name} must hold at most {entries:,} entries in all, got {rows} x {cols}.")
    return rows, cols


def check_array(name: str, values: Any, *, dimensions: int = 1) -> NDArray[Any]:
    """Return ``values`` as an array of that many dimensions, of whatever type, or raise ``ValueError``."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # nested lists of unequal lengths
        array = np.empty(())
    if array.ndim != dimensions:
        shape = "a one-dimensional array" if dimensions == 1 else f"an array of {dimensions} dimensions"
        raise ValueError(f"{name} must be {shape} of numbers.")
    return array


def check_signs(name: str, values: Any) -> NDArray[Any]:
    """Return ``values`` as a one-dimensional array of -1 and +1, of whatever type, or raise ``ValueError``."""
    array = check_array(name, values)
    if array.dtype.kind not in "iuf" or not np.all(np.abs(array) == 1):
        raise ValueError(f"{name} must contain only -1 and +1.")
    return array


def check_numbers(name: str, values: Any, *, dimensions: int = 1) -> NDArray[np.float64]:
    """Return ``values`` as an array of finite floats of that many dimensions, or raise ``ValueError``."""
    array = check_array(name, values, dimensions=dimensions)
    if array.size and (array.dtype.kind not in "biuf" or not np.all(np.isfinite(array))):
        raise ValueError(f"{name} must hold finite numbers only.")
    return array.astype(np.float64)


def shown(value: Any) -> str:
    """A value as a message quotes it: a long one, as an address from outside may hold, not whole."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:80]} ..."


def _range_text(low: float, high: float, open_low: bool, open_high: bool) -> str:
    above = f"{'above' if open_low else 'of at least'} {low:g}" if low > -math.inf else ""
    below = f"{'below' if open_high else 'at most'} {high:g}" if high < math.inf else ""
    return " and ".join(part for part in (above, below) if part) or "of any finite size"
