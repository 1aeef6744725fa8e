"""A property that is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy_property(Generic[Value]):
    """A property whose value is computed when it is first asked for, and kept in the object.

    ``functools.cached_property`` holds a lock for this in Python 3.11: one for all objects of a class, so that the
    threads of a server, each with objects of its own, wait for each other. Here two threads that ask the same object
    for the first time may both compute the value, and must not mind.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> lazy_property[Value]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...
    def __get__(self, owner: object | None, kind: type) -> lazy_property[Value] | Value:
        if owner is None:
            return self
        # From now on the object's own dictionary answers, and this is not asked again.
        value = owner.__dict__[self._name] = self._function(owner)
        return value
