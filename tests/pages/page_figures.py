"""What the figures of a page hold, as Streamlit's test harness has them."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest


def drawn(at: AppTest) -> dict[str, dict[str, Any]]:
    """The figures of a page by the name they are drawn under, as plotly takes them, with ``alt`` beside."""
    found = {}
    for element in at.get("bidi_component"):
        data = json.loads(element.proto.json)
        if "figure" not in data:
            continue
        found[data["name"]] = {**json.loads(data["figure"]), "alt": data["alt"]}
    return found


def numbers(array: Any) -> np.ndarray:
    """An array of a figure, whether written as a list or as bytes."""
    if not isinstance(array, dict):
        return np.asarray(array, dtype=float)
    values = np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])
    return values.reshape(tuple(int(n) for n in array["shape"].split(","))) if "shape" in array else values


def traces(figure: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The parts of a figure by their names."""
    return {trace["name"]: trace for trace in figure["data"]}
