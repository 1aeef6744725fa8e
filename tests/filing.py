"""When a file of measured values may be written anew: a part of the tests must not take the place of all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from types import ModuleType

import pytest


def is_whole(module: ModuleType, items: Iterable[pytest.Item]) -> bool:
    """Whether these are all tests of the module, each with all its parameters."""
    wanted = {
        name: math.prod(len(mark.args[1]) for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize")
        for name, test in vars(module).items()
        if name.startswith("test_")
    }
    found = Counter(item.originalname for item in items if isinstance(item, pytest.Function) and item.module is module)
    return found == wanted
