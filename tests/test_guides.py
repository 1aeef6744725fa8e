"""The guides' examples run as they are printed, and do what the text says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))


def run(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Everything that the guide's blocks define, run one after the other in the repository's folder."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "guides" / f"{name}.md").read_text(encoding="utf-8")
    module = ModuleType(f"guide_{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    made = vars(module)
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(compile(block, f"docs/guides/{name}.md", "exec"), made)
    return made


def test_a_mechanism(monkeypatch):
    made = run("mechanism", monkeypatch)
    means = made["means"]
    # Three answers at a third of epsilon are worse than one at all of it, and less so where epsilon is large.
    assert means["Clear"].iloc[0] < means["InP", 4.0] < means["RepeatedResponse", 4.0] < means["RepeatedResponse", 1.0]
    assert made["found"].lower_bound <= 1.0
    assert not made["found"].refutes


def test_a_data_set(monkeypatch):
    made = run("dataset", monkeypatch)
    assert made["accuracy"]["Clear"] > 0.9 > made["accuracy"]["InP"] > 0.5
    assert len(made["observations"]) == made["table"].n_ratings


def test_a_solver(monkeypatch):
    made = run("solver", monkeypatch)
    slow, fast = made["slow"], made["fast"]
    assert slow.converged and fast.converged
    scale = made["problem"].loss.scale
    assert abs(slow.objective - fast.objective) <= 1e-3 * scale
    # ADMM: one decomposition a step, and few for the certificate.
    assert slow.decompositions > 10 * fast.iterations


def test_every_guide_is_tried():
    assert [guide.stem for guide in GUIDES] == ["dataset", "mechanism", "solver"]
