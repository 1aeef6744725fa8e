"""Results to take away: one table of formats, and what each of them holds.

Every format is made of an ``Exhibit``: a view (``obmc.views``), the data it is drawn from, and the page's settings.
Script and notebook hold the view as Python, so that whoever runs them gets the same numbers from ``obmc`` alone.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from textwrap import wrap
from typing import Any

from obmc.experiments.sweep import RESULTS_VERSION
from obmc.offers import Offer
from obmc.report import page_of
from obmc.table_files import as_csv, as_parquet
from obmc.version import VERSION
from obmc.views import View

_WIDTH = 100
# Where the names of a view's Python text come from.
_HOMES = {
    "CurveView": "obmc.views",
    "PinView": "obmc.views",
    "RunView": "obmc.views",
    "Plan": "obmc.plan",
    "Curve": "obmc.plan",
    "Pin": "obmc.pins",
    "Setting": "obmc.single",
    "MechanismSpec": "obmc.experiments",
    "OFFERS": "obmc.offers",
}


@dataclass(frozen=True, eq=False)
class Exhibit:
    """What is taken away.

    Attributes
    ----------
    view, data
        What is shown, and what it is drawn from (``view.compute()``, or what a page has of it already).
    settings
        The settings of the dashboard as a file that it opens again.
    address
        The link to the same view; "" for none.
    missing
        How many of the view's runs had not been computed when it was taken.
    """

    view: View
    data: Any
    settings: str = ""
    address: str = ""
    missing: int = 0


@dataclass(frozen=True)
class Export:
    """A format.

    Attributes
    ----------
    key, label, help
        For addresses, on its button, and what it holds in a sentence or two.
    ending
        What follows the view's name in the name of the file.
    media_type
        Of the file.
    make
        The content of the file; None for pictures, which the browser makes of the chart as it is on the page.
    """

    key: str
    label: str
    help: str
    ending: str
    media_type: str
    make: Callable[[Exhibit], bytes] | None

    def file(self, name: str) -> str:
        """The name of the file for a view of this name."""
        return f"{name}{self.ending}"


@cache
def _program() -> str:
    return f"obmc {VERSION}, results version {RESULTS_VERSION}"


# Tables ---------------------------------------------------------------------------------------------------------------


def _numbers_csv(exhibit: Exhibit) -> bytes:
    return as_csv(exhibit.view.table(exhibit.data))


def _numbers_parquet(exhibit: Exhibit) -> bytes:
    return as_parquet(exhibit.view.table(exhibit.data))


def _draws_csv(exhibit: Exhibit) -> bytes:
    return as_csv(exhibit.view.draws(exhibit.data))


# Python ---------------------------------------------------------------------------------------------------------------


def source(value: Any, indent: int = 0) -> str:
    """A frozen object of settings as the Python text that makes it again.

    Texts are written as literals: whatever stands in a name stays a text.
    """
    if isinstance(value, Offer):
        return f"OFFERS[{_text(value.key)}]"
    if is_dataclass(value) and not isinstance(value, type):
        names = [item.name for item in fields(value) if _is_told(value, item)]
        values = [getattr(value, name) for name in names]
        return _block(f"{type(value).__name__}(", ")", [f"{name}=" for name in names], values, indent)
    if isinstance(value, tuple):
        return _block("(", ",)" if len(value) == 1 else ")", [""] * len(value), list(value), indent)
    return _text(value) if isinstance(value, str) else repr(value)


def _is_told(value: Any, item: Field[Any]) -> bool:
    """Whether a field is written: numbers and names always, whatever else where it is not at its default."""
    own = getattr(value, item.name)
    if not item.init:
        return False
    if isinstance(own, bool | int | float) or (isinstance(own, str) and own):
        return True
    return own != (item.default if item.default_factory is MISSING else item.default_factory())


def _block(head: str, tail: str, names: list[str], values: list[Any], indent: int) -> str:
    """A call or a tuple, in one line where it fits, else a line for each part."""
    parts = [f"{name}{source(value, indent + 4)}" for name, value in zip(names, values, strict=True)]
    line = f"{head}{', '.join(parts)}{tail}"
    if "\n" not in line and len(line) + indent <= _WIDTH:
        return line
    pad = " " * (indent + 4)
    return "\n".join([head, *(f"{pad}{part}," for part in parts), f"{' ' * indent}{tail.lstrip(',')}"])


def _text(value: str) -> str:
    return json.dumps(value) if value.isascii() and value.isprintable() else repr(value)


def _imports(text: str) -> str:
    """The imports of the names in a Python text."""
    homes: dict[str, list[str]] = {}
    for name, home in _HOMES.items():
        if f"{name}(" in text or f"{name}[" in text:
            homes.setdefault(home, []).append(name)
    return "\n".join(f"from {home} import {', '.join(sorted(homes[home]))}" for home in sorted(homes))


def script_of(view: View) -> str:
    """A Python script that computes a view anew and writes its numbers and charts."""
    name = view.name
    made = f"VIEW = {source(view)}"
    about = (
        f"Run it where the package obmc is installed: it prints the numbers and writes {name}.csv and the charts, "
        f"{name}-1.html and so on. Data and noise have the seeds of the page, so the numbers are the same; on another "
        "kind of processor the last digits may differ."
    )
    return "\n".join(
        [
            f'"""{view.title}: the numbers and the charts of the page, computed anew. Written by {_program()}.',
            "",
            *wrap(about, _WIDTH),
            '"""',
            "",
            _imports(made),
            "",
            made,
            "",
            "",
            "def main() -> None:",
            "    data = VIEW.compute()",
            "    table = VIEW.table(data)",
            "    print(table.to_string(index=False))",
            f'    table.to_csv("{name}.csv", index=False)',
            "    for place, picture in enumerate(VIEW.pictures(data), 1):",
            f'        picture.figure.write_html(f"{name}-{{place}}.html")',
            "    for statement in VIEW.statements():",
            "        print(statement.text)",
            "",
            "",
            'if __name__ == "__main__":',
            "    main()",
            "",
        ]
    )


def notebook_of(view: View) -> str:
    """A Jupyter notebook (format 4.5) that computes a view anew, without outputs."""
    made = f"view = {source(view)}"
    texts = [
        (
            "markdown",
            f"# {view.title}\n\n{view.caption()}\n\nWritten by {_program()}; it needs the package `obmc` alone.",
        ),
        ("code", f"{_imports(made)}\n\n{made}"),
        ("code", "data = view.compute()\ntable = view.table(data)\ntable"),
        ("code", "pictures = view.pictures(data)\npictures[0].figure"),
        ("code", "for statement in view.statements():\n    print(statement.text)"),
    ]
    cells = []
    for place, (kind, text) in enumerate(texts):
        name = hashlib.sha256(f"{place} {text}".encode()).hexdigest()[:12]
        cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
        cells.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _report(exhibit: Exhibit) -> bytes:
    stream = io.StringIO()
    for part in page_of(
        exhibit.view,
        exhibit.data,
        settings=exhibit.settings,
        address=exhibit.address,
        missing=exhibit.missing,
        script=script_of(exhibit.view),
        program=_program(),
    ):
        stream.write(part)
    return stream.getvalue().encode()


# The table ------------------------------------------------------------------------------------------------------------

EXPORTS: dict[str, Export] = {
    export.key: export
    for export in (
        Export(
            "csv",
            "Numbers, CSV",
            "Every number of the chart with all its digits, and beside each the settings and the seed behind it.",
            ".csv",
            "text/csv",
            _numbers_csv,
        ),
        Export(
            "parquet",
            "Numbers, Parquet",
            "The same table for pandas, R or DuckDB: types and numbers exactly.",
            ".parquet",
            "application/vnd.apache.parquet",
            _numbers_parquet,
        ),
        Export(
            "draws",
            "Single draws, CSV",
            "The runs behind the means, one line each: value, seeds, guarantee's delta, solver's gap and seconds.",
            "-draws.csv",
            "text/csv",
            _draws_csv,
        ),
        Export(
            "svg",
            "Chart, SVG",
            "The chart as it is on the page, zoom included, as a drawing that stays sharp at any size; for papers.",
            ".svg",
            "image/svg+xml",
            None,
        ),
        Export(
            "png",
            "Chart, PNG",
            "The chart as it is on the page, zoom included, as a picture of 2,000 x 1,100 points; for slides.",
            ".png",
            "image/png",
            None,
        ),
        Export(
            "script",
            "Python script",
            "Computes the numbers and the chart anew with the package obmc alone, from the same seeds.",
            ".py",
            "text/x-python",
            lambda exhibit: script_of(exhibit.view).encode(),
        ),
        Export(
            "notebook",
            "Notebook",
            "The same as the script, as a Jupyter notebook.",
            ".ipynb",
            "application/x-ipynb+json",
            lambda exhibit: notebook_of(exhibit.view).encode(),
        ),
        Export(
            "report",
            "Report, HTML",
            "One file with charts, numbers, guarantees, settings and seeds; it opens without a network.",
            ".html",
            "text/html",
            _report,
        ),
        Export(
            "settings",
            "Settings file",
            "All settings of the dashboard as a small text file: “Open a settings file” takes it, on any machine.",
            ".json",
            "application/json",
            lambda exhibit: exhibit.settings.encode(),
        ),
    )
}
