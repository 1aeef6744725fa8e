"""The guides' examples run as they are printed, and do what the text says."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import pytest

from obmc.losses import FlippedLikelihood, is_convex
from obmc.privacy import accounting
from obmc.privacy.noise import flip_probability

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


def test_a_link(monkeypatch):
    made = run("link", monkeypatch)
    link = made["link"]
    assert made["done"].converged and made["done"].gap <= 1e-4
    assert (made["release"].guarantee.holds, made["release"].guarantee.epsilon) == (True, 3.0)
    assert made["errors"][0] < made["errors"][1] < 1.0
    assert (made["paper"].status, made["rigorous"].status) == ("violated", "proven")
    for x in (-60.0, -2.9, -0.5, 0.0, 1.5, 60.0):
        with mpmath.workdps(120):
            h = 2 / mpmath.pi * mpmath.atan(mpmath.exp(mpmath.pi * mpmath.mpf(x) / 2))
            score = mpmath.sech(mpmath.pi * mpmath.mpf(x) / 2) / 2 / h
            curvature = score * (score + mpmath.pi / 2 * mpmath.tanh(mpmath.pi * mpmath.mpf(x) / 2))
        for name, true in (("probability", h), ("score", score), ("curvature", curvature)):
            assert float(getattr(link, name)(x)) == pytest.approx(float(true), rel=1e-12), (name, x)
    assert link.quantile(link.probability(-3.0)) == pytest.approx(-3.0)


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_the_accounts_hold_for_the_link_of_the_guide(monkeypatch, alpha):
    link = run("link", monkeypatch)["link"]
    x = np.linspace(-alpha, alpha, 4001)
    plus, minus = link.score(x), link.score(-x)
    for clip in (0.3, 1.1, 1.3, 1.5, 5.0, None):
        limit = math.inf if clip is None else clip
        moved = float((np.minimum(plus, limit) + np.minimum(minus, limit)).max())
        assert moved <= accounting.clamp_sensitivity(link, alpha, clip) * (1 + 1e-12) <= moved * 1.001
    scale = accounting.paper_sensitivity(link, alpha)
    for epsilon, breaks in ((0.999, True), (1.001, False)):
        nominal = epsilon * accounting.paper_violated_below(link, alpha)
        assert (accounting.likelihood_epsilon_at_least(link, alpha, scale / nominal) > nominal) is breaks
    assert accounting.paper_violated_below(link, alpha) < accounting.paper_proven_from(link, alpha)
    threshold = accounting.flipped_convexity_threshold(link, alpha)
    for epsilon, convex in ((0.999 * threshold, False), (1.001 * threshold, True)):
        loss = FlippedLikelihood(link, np.ones(1), flip_probability(epsilon))
        assert is_convex(loss, alpha) is convex
        assert loss.min_curvature(alpha) == pytest.approx(float(loss.curvature(x).min()), rel=1e-3, abs=1e-9)


def test_every_guide_is_tried():
    # The page is tried with the others, in tests/pages.
    assert [guide.stem for guide in GUIDES] == ["dataset", "link", "mechanism", "page", "solver"]


def test_the_class_of_a_mechanism_passes_make_check_as_it_is_printed(tmp_path):
    """It goes into the package, where mypy is strict."""
    text = (ROOT / "docs" / "guides" / "mechanism.md").read_text(encoding="utf-8")
    block = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)[0]
    path = tmp_path / "repeated.py"
    path.write_text(block, encoding="utf-8")
    assert block.startswith('"""') and "Raises ``ValueError``" in block  # what tests ask of every file and class
    for command in (["mypy"], ["ruff", "check", "--config", str(ROOT / "pyproject.toml")]):
        done = subprocess.run(
            [sys.executable, "-m", *command, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
