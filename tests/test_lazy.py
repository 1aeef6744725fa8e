"""A lazy property is computed once for each object, and no object waits for another's."""

from __future__ import annotations

import threading
from dataclasses import FrozenInstanceError, dataclass

import pytest

from obmc.lazy import lazy_property


@dataclass(frozen=True)
class Square:
    side: int
    asked: list[int]

    @lazy_property
    def area(self) -> int:
        """Side times side."""
        self.asked.append(self.side)
        return self.side**2


def test_the_value_is_computed_once_for_each_object() -> None:
    small, large = Square(2, []), Square(3, [])
    assert [small.area, large.area, small.area] == [4, 9, 4]
    assert small.asked == [2] and large.asked == [3]
    assert Square.area.__doc__ == "Side times side."
    assert isinstance(Square.area, lazy_property)
    with pytest.raises(FrozenInstanceError):
        small.area = 5  # type: ignore[misc]


def test_objects_of_a_class_do_not_wait_for_each_other() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, waits: bool) -> None:
            self.waits = waits

        @lazy_property
        def value(self) -> bool:
            if self.waits:
                begun.set()
                assert go_on.wait(30.0)
            return self.waits

    first = Slow(True)
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    assert begun.wait(30.0)
    # While the first is at work, in this thread:
    assert Slow(False).value is False
    assert thread.is_alive()
    go_on.set()
    thread.join(30.0)
    assert first.__dict__["value"] is True
