"""Pinned results: a curve of a chart as a short text, for an address, and as a part of a settings file.

A pin holds settings, never numbers: whoever opens it sees the rows that its settings stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from obmc import limits
from obmc.errors import shown
from obmc.limits import number_text, read_number
from obmc.offers import OFFERS, check_calibration, find_offer
from obmc.plan import Curve, Plan, metrics_for
from obmc.single import Setting

MAX_PINS = 12
MAX_NAME = 60
_BETWEEN_PINS, _BETWEEN_PARTS, _LIST = "|", ";", ","
_SHORT = {
    "name": "name",
    "offer": "mech",
    "calibration": "cal",
    "data": "data",
    "noise": "noise",
    "sigma": "sigma",
    "alpha": "alpha",
    "rank": "rank",
    "radius": "radius",
    "ratio": "obs",
    "size": "size",
    "seed": "seed",
    "epsilons": "eps",
    "repetitions": "draws",
}
_RESERVED = str.maketrans("", "", f"{_BETWEEN_PINS}{_BETWEEN_PARTS}:")


@dataclass(frozen=True)
class Pin:
    """A curve against epsilon that a person keeps. Raises ``ValueError`` naming the field that is wrong.

    Attributes
    ----------
    name
        What the person calls it, at most 60 characters.
    offer, calibration
        The mechanism (a key of ``OFFERS``) and its calibration.
    setting
        Data, noise model and constraints.
    epsilons, repetitions
        Its points and the draws behind each.
    """

    name: str
    offer: str
    calibration: str
    setting: Setting
    epsilons: tuple[float, ...]
    repetitions: int

    def __post_init__(self) -> None:
        find_offer(self.offer)
        check_calibration(self.calibration)
        if not self.name or len(self.name) > MAX_NAME or self.name != self.name.translate(_RESERVED).strip():
            raise ValueError(
                f"a pin's name must have 1 to {MAX_NAME} characters, without | ; : , got {self.name[:80]!r}."
            )
        limits.REPETITIONS.check(self.repetitions)
        if not 1 <= len(self.epsilons) <= len(limits.CURVE_GRID):
            raise ValueError(f"a pin must have 1 to {len(limits.CURVE_GRID)} values of epsilon.")
        for epsilon in self.epsilons:
            limits.EPSILON.check(epsilon)
        if len(set(self.epsilons)) != len(self.epsilons):
            raise ValueError("a pin must name every value of epsilon once.")

    @classmethod
    def of(cls, plan: Plan, curve: Curve, name: str) -> Pin:
        """A curve of a chart against epsilon."""
        calibration = curve.calibration or "rigorous"
        return cls(clean(name), curve.offer.key, calibration, plan.setting, plan.epsilons, plan.repetitions)

    @property
    def plan(self) -> Plan:
        """A chart of it alone, with the paper's measure."""
        curve = Curve(OFFERS[self.offer], self.calibration, self.name)
        metric = metrics_for(self.setting.data)[0]
        return Plan(self.setting.clear(), (curve,), self.epsilons, self.repetitions, metric)

    def to_dict(self) -> dict[str, Any]:
        """All that differs from the defaults, under the short names."""
        usual = Setting()
        found: dict[str, Any] = {"name": self.name, "mech": self.offer}
        if OFFERS[self.offer].calibrated:
            found["cal"] = self.calibration
        for item in fields(Setting):
            value = getattr(self.setting, item.name)
            if item.name in _SHORT and value != getattr(usual, item.name):
                found[_SHORT[item.name]] = value
        return found | {"eps": list(self.epsilons), "draws": self.repetitions}

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Pin:
        """The pin of a mapping as ``to_dict`` gives."""
        long = {short: name for name, short in _SHORT.items()}
        for key in entry:
            if key not in long:
                raise ValueError(f"{shown(key)} is no part of a pin: allowed are {', '.join(long)}.")
        given = {long[key]: value for key, value in entry.items()}
        for needed in ("name", "offer", "epsilons", "repetitions"):
            if needed not in given:
                raise ValueError(f"a pin must have {_SHORT[needed]}.")
        own = {item.name: given[item.name] for item in fields(Setting) if item.name in given}
        epsilons = given["epsilons"]
        if not isinstance(epsilons, list):
            raise ValueError(f"a pin's eps must be a list of numbers, got {shown(epsilons)}.")
        return cls(
            name=str(given["name"]),
            offer=str(given["offer"]),
            calibration=str(given.get("calibration", "rigorous")),
            setting=replace(Setting(), **own),
            epsilons=tuple(float(limits.EPSILON.check(epsilon)) for epsilon in epsilons),
            repetitions=int(limits.REPETITIONS.check(given["repetitions"])),
        )


def clean(name: str) -> str:
    """A name without the signs that separate pins, at most as long as one may be."""
    return " ".join(name.translate(_RESERVED).split())[:MAX_NAME] or "Pin"


# The text in an address -----------------------------------------------------------------------------------------------


def to_text(pins: Iterable[Pin]) -> str:
    """Pins as one line: parts as ``key:value``, numbers of a list by commas, parts by semicolons, pins by bars."""
    return _BETWEEN_PINS.join(
        _BETWEEN_PARTS.join(f"{key}:{_written(value)}" for key, value in pin.to_dict().items()) for pin in pins
    )


def _written(value: Any) -> str:
    if isinstance(value, list):
        return _LIST.join(map(_written, value))
    return str(value) if isinstance(value, str) else number_text(value)


def from_text(text: str) -> tuple[list[Pin], list[str]]:
    """The pins of a text as ``to_text`` gives, and a sentence for each that cannot be read."""
    entries = [part for part in text.split(_BETWEEN_PINS) if part.strip()]
    return _read(entries, lambda part: Pin.from_dict(_parsed(part)))


def _parsed(text: str) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for part in text.split(_BETWEEN_PARTS):
        key, _, value = part.strip().partition(":")
        if key in entry:
            raise ValueError(f"{shown(key)} is there more than once.")
        if key == "eps":
            entry[key] = [read_number(item) for item in value.split(_LIST)]
        else:
            entry[key] = value if key in ("name", "mech", "cal", "data", "noise") else read_number(value)
    return entry


# The settings file ----------------------------------------------------------------------------------------------------


def from_entries(entries: Iterable[Any]) -> tuple[list[Pin], list[str]]:
    """The pins of a settings file, as ``Pin.to_dict`` gives them, and a sentence for each that cannot be read."""
    return _read(list(entries), _pin_of)


def _pin_of(entry: Any) -> Pin:
    if not isinstance(entry, dict):
        raise ValueError("it has no keys.")
    return Pin.from_dict(entry)


def _read(entries: list[Any], one: Callable[[Any], Pin]) -> tuple[list[Pin], list[str]]:
    pins: list[Pin] = []
    notes = []
    for place, entry in enumerate(entries[:MAX_PINS], 1):
        try:
            pin = one(entry)
        except (ValueError, TypeError) as error:
            notes.append(f"Pin {place} was left out: {error}")
            continue
        pins.append(replace(pin, name=unused(pin.name, [other.name for other in pins])))
    if len(entries) > MAX_PINS:
        notes.append(f"Only the first {MAX_PINS} of {len(entries):,} pins were taken.")
    return pins, notes


def unused(name: str, taken: list[str]) -> str:
    """The name, with a number where it is taken."""
    found, count = name, 2
    while found in taken:
        found = f"{name[: MAX_NAME - 4]} {count}"
        count += 1
    return found


def with_pin(pins: list[Pin], pin: Pin) -> list[Pin]:
    """The pins and one more, under a name of its own; ``ValueError`` if there are enough."""
    if len(pins) >= MAX_PINS:
        raise ValueError(f"There are {MAX_PINS} pins already: remove one on the page Compare first.")
    return [*pins, replace(pin, name=unused(pin.name, [other.name for other in pins]))]
