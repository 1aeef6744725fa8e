"""A guard against slow decay: what fixed problems cost, in counts, against what they cost when last written down."""

from __future__ import annotations

import json

import pytest
from effort import STORED, measure, problems

FIGURES = json.loads(STORED.read_text(encoding="utf-8"))
PROBLEMS = problems()
# Another BLAS rounds differently, which moves an iteration here and there.
SLACK = 0.15
LEAST = {"decompositions": 1.0, "passes": 2.0, "megabytes": 0.05}


def test_every_problem_has_its_figures() -> None:
    assert list(FIGURES) == list(PROBLEMS)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_more_decompositions_passes_and_memory_than_before(name: str) -> None:
    for what, value in measure(*PROBLEMS[name]).items():
        stored = FIGURES[name][what]
        assert value <= stored * (1.0 + SLACK) + LEAST[what], f"{what}: {value:g}, and {stored:g} before"
        # The figures follow what gets cheaper, or the guard would let all of that be lost again.
        assert value >= stored * (1.0 - 2.0 * SLACK) - LEAST[what], (
            f"{what}: {value:g}, down from {stored:g}: write it down by python tests/solvers/effort.py"
        )
