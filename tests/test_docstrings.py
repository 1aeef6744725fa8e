"""The docstrings of public names: each has one, and says that it refuses what it refuses."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import obmc
from obmc import bounds, datasets, experiments, mechanisms, metrics, privacy, solvers

MODULES = (obmc, datasets, experiments, mechanisms, privacy, solvers, bounds, metrics)
CHECKS = re.compile(r"\bcheck_\w+\(|\braise [A-Z]|\b_indices\(|\brequire_")
TELLS = re.compile(r"Raises|Error\b|[Rr]efus")


def public() -> Iterator[tuple[str, Any]]:
    """Every function and class that a package lists, or a module defines, once, and the public parts of the classes."""
    found = {}
    for module in MODULES:
        for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
            item = getattr(module, name)
            if (inspect.isclass(item) or inspect.isfunction(item)) and item.__module__.startswith("obmc"):
                found[id(item)] = item
    for item in found.values():
        yield item.__qualname__, item
        if inspect.isclass(item):
            for name, part in vars(item).items():
                whole = getattr(part, "fget", None) or getattr(part, "__func__", None) or part
                if not name.startswith("_") and inspect.isfunction(whole):
                    yield whole.__qualname__, getattr(item, name) if not isinstance(part, property) else part


def sources(item: Any) -> Iterator[Callable[..., Any]]:
    """The functions whose refusals the docstring has to tell: of a class, what makes an object of it."""
    if inspect.isclass(item):
        made = ("__post_init__",) if dataclasses.is_dataclass(item) else ("__init__",)
        yield from (
            vars(item)[name] for name in made if getattr(vars(item).get(name), "__module__", "") == item.__module__
        )
    else:
        yield item.fget if isinstance(item, property) else inspect.unwrap(item)


def test_every_public_name_says_what_it_is() -> None:
    names = dict(public())
    assert len(names) > 300
    assert [name for name, item in names.items() if not inspect.getdoc(item)] == []


def test_what_refuses_an_argument_says_so() -> None:
    silent = []
    for name, item in public():
        text = "".join(inspect.getsource(function) for function in sources(item))
        if CHECKS.search(text) and not TELLS.search(inspect.getdoc(item) or ""):
            silent.append(name)
    assert silent == []
