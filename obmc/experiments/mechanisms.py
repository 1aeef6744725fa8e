"""Mechanisms by name: how a sweep, a file and a table say which mechanism, at which calibration, with which options."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from obmc.errors import check_choice
from obmc.experiments.seeds import canonical
from obmc.lazy import lazy_property

CLEAR = "Clear"
MAJORITY = "Majority"
# The key of the estimator's own solution, which output perturbation without a ridge starts from.
CLEAR_SOLUTION = ("ridge", 0.0)

# The label of the paper, and the class in obmc.mechanisms. Majority is no mechanism but the line that every mechanism
# has to beat: the constant matrix whose probability of +1 is the training set's share of it.
MECHANISMS: dict[str, str] = {
    CLEAR: "Clear",
    "InP": "InputPerturbation",
    "ObjP": "ObjectivePerturbation",
    "GraP": "GradientPerturbation",
    "OutP": "OutputPerturbation",
    "InP+": "InputPerturbationPlus",
    MAJORITY: "",
}

_NAMES = {name.lower(): name for name in MECHANISMS} | {made.lower(): name for name, made in MECHANISMS.items() if made}
_GIVEN = ("self", "epsilon", "calibration")


@cache
def find_class(name: str) -> type:
    """The class of a mechanism of the table."""
    from obmc import mechanisms

    return getattr(mechanisms, MECHANISMS[name])


@cache
def _parameters(made: type) -> dict[str, Any]:
    """The constructor's arguments and their defaults, in order."""
    return {name: parameter.default for name, parameter in inspect.signature(made).parameters.items() if name != "self"}


@dataclass(frozen=True)
class MechanismSpec:
    """A mechanism without its epsilon: what a sweep varies epsilon over.

    Attributes
    ----------
    name
        The paper's label: "Clear", "InP", "ObjP", "GraP", "OutP"; "InP+"; "Majority". Class names are understood too.
    calibration
        "paper", "rigorous" (the default) or another one of the mechanism; "" where it has only one.
    options
        The constructor's other arguments as sorted (name, value) pairs, without those at their default, so that equal
        mechanisms are equal here. A mapping is accepted.
    made
        A class of one's own with a constructor taking ``epsilon`` and the ``release`` method of the package's
        mechanisms. Its results are never stored, because its code is not part of the results' version.

    Raises
    ------
    ValueError
        Naming the mechanism, for an unknown name, calibration or option.
    """

    name: str
    calibration: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    made: type | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.made is None:
            if not isinstance(self.name, str) or self.name.lower() not in _NAMES:
                check_choice("mechanism", self.name, tuple(MECHANISMS))
            object.__setattr__(self, "name", _NAMES[self.name.lower()])
        given = dict(self.options)
        if "calibration" in given:
            object.__setattr__(self, "calibration", given.pop("calibration"))
        if self.is_plain_clear or self.name == MAJORITY:
            # Neither needs a mechanism's class: the estimator itself, and a constant.
            self._refuse_unknown(given, ("effects",) if self.name == CLEAR else ())
            given.pop("effects", None)
            object.__setattr__(self, "calibration", "")
            object.__setattr__(self, "options", tuple(sorted(given.items())))
            return
        known = _parameters(self.maker)
        self._refuse_unknown(given, tuple(name for name in known if name not in _GIVEN))
        if "calibration" not in known:
            if self.calibration:
                raise ValueError(f"{self.name} has no calibration to choose, got {self.calibration!r}.")
        elif not self.calibration:
            object.__setattr__(self, "calibration", known["calibration"])
        changed = {name: _plain(value) for name, value in given.items() if value != known[name]}
        object.__setattr__(self, "options", tuple(sorted(changed.items())))

    def _refuse_unknown(self, given: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
        unknown = sorted(set(given) - set(allowed))
        if unknown:
            choice = (
                f"the options of {self.name} are {', '.join(allowed)}" if allowed else f"{self.name} has no options"
            )
            raise ValueError(f"{self.name} got the unknown option {unknown[0]!r}: {choice}.")

    @classmethod
    def of(cls, value: Any) -> MechanismSpec:
        """From a name, a mapping with ``name`` (and calibration, options), a mechanism or a mechanism's class.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        if isinstance(value, MechanismSpec):
            return value
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, Mapping):
            given = dict(value)
            if "name" not in given:
                raise ValueError(f"a mechanism must have a name, got {value!r}.")
            options = given.pop("options", {})
            if not isinstance(options, Mapping):
                raise ValueError(f"options of {given['name']} must be a table of names and values, got {options!r}.")
            return cls(given.pop("name"), given.pop("calibration", ""), tuple({**options, **given}.items()))
        made = value if isinstance(value, type) else type(value)
        name = made.__name__
        if not hasattr(made, "release"):
            raise ValueError(
                f"a mechanism must be a name ({', '.join(MECHANISMS)}), a table with one or an object, got {value!r}."
            )
        options = {}
        if not isinstance(value, type):
            options = {key: getattr(value, key) for key in _parameters(made) if key != "epsilon"}
        own = None if name.lower() in _NAMES and made.__module__.startswith("obmc.") else made
        return cls(name, "", tuple(options.items()), own)

    @property
    def maker(self) -> type:
        """The class that makes the mechanism."""
        return find_class(self.name) if self.made is None else self.made

    @property
    def is_plain_clear(self) -> bool:
        """Whether this is the paper's estimator without privacy, which output perturbation starts from."""
        return self.name == CLEAR and self.made is None and not dict(self.options).get("effects", False)

    @property
    def is_private(self) -> bool:
        """Whether it takes an epsilon; the others are run once per draw, at epsilon = infinity."""
        if self.name in (CLEAR, MAJORITY) and self.made is None:
            return False
        return "epsilon" in _parameters(self.maker)

    @property
    def solution_key(self) -> tuple[Any, ...] | None:
        """Equal for mechanisms that start from the same solve on the true data, None for those that do not.

        Output perturbation noises a finished solution, so that one solve serves all its epsilons, and Clear itself.
        """
        return _solution_key(self)

    @lazy_property
    def options_text(self) -> str:
        """The options as JSON, "{}" for none: the rows' ``options``."""
        return canonical(dict(self.options))

    @property
    def label(self) -> str:
        """A short name that tells the specs of a chart apart, such as ``OutP (paper, postprocess=project)``."""
        details = ([self.calibration] if self.calibration else []) + [f"{key}={value}" for key, value in self.options]
        return f"{self.name} ({', '.join(details)})" if details else self.name

    def build(self, epsilon: float) -> Any:
        """The mechanism at this epsilon (infinity for those without one); ``ValueError`` from its own checks."""
        arguments = dict(self.options)
        if self.calibration:
            arguments["calibration"] = self.calibration
        if self.is_private:
            arguments["epsilon"] = epsilon
        return self.maker(**arguments)

    def to_dict(self) -> dict[str, Any]:
        """For a file: the name, and calibration and options where there are any.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        if self.made is not None:
            raise ValueError(f"{self.name} is a mechanism of one's own and cannot be written to a file.")
        entry: dict[str, Any] = {"name": self.name}
        if self.calibration:
            entry["calibration"] = self.calibration
        if self.options:
            entry["options"] = dict(self.options)
        return entry


@cache
def _solution_key(spec: MechanismSpec) -> tuple[Any, ...] | None:
    if spec.name == MAJORITY and spec.made is None:
        return None
    return CLEAR_SOLUTION if spec.is_plain_clear else getattr(spec.build(1.0), "solution_key", None)


def _plain(value: Any) -> Any:
    """An option's value as it comes back from JSON, so that a spec read from a file equals the one written."""
    if isinstance(value, tuple | list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"an option's value must be finite, got {value!r}.")
    return value.item() if hasattr(value, "item") else value
