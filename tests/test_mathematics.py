"""The numbers that docs/mathematics.md prints are values of functions of the package."""

from __future__ import annotations

from pathlib import Path

import pytest

import obmc
from obmc.privacy import accounting

TEXT = (Path(__file__).parents[1] / "docs" / "mathematics.md").read_text(encoding="utf-8")
GAUSSIAN = obmc.Gaussian()


def bridge_multiplier() -> float:
    bridge = obmc.datasets.bridge(20)
    return obmc.output_multiplier(bridge.observations, obmc.Logistic(), bridge.constraints, bridge.entry)


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        (r"= 4.094 \qquad", lambda: f"= {accounting.rr_epsilon(0.01, 0.4):.3f} " + r"\qquad"),
        ("$(56.5, 10^{-5})$", lambda: f"$({accounting.rr_user_epsilon(1.0, 65, 1e-5):.1f}, 10^{{-5}})$"),
        (r"$\Delta = 1.813$", lambda: rf"$\Delta = {accounting.likelihood_sensitivity(GAUSSIAN, 1.0):.3f}$"),
        (r"$\log R = 0.771$", lambda: rf"$\log R = {accounting.log_curvature_ratio(GAUSSIAN, 1.0):.3f}$"),
        (r"$\varepsilon = 0.619$", lambda: rf"$\varepsilon = {accounting.paper_violated_below(GAUSSIAN, 1.0):.3f}$"),
        ("proven from $1.206$", lambda: f"proven from ${accounting.paper_proven_from(GAUSSIAN, 1.0):.3f}$"),
        ("it is at most 6.01", lambda: f"it is at most {ceiling():.2f}"),
        ("which is 200 times", lambda: f"which is {bridge_multiplier():.0f} times"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_printed_is_what_is_computed(printed, value):
    assert printed in TEXT
    assert value() == printed


def ceiling() -> float:
    data = obmc.datasets.synthetic((10, 10), ratio=0.3, rng=0).observations
    return obmc.audit(
        obmc.InputPerturbation(epsilon=1.0), data, obmc.Logistic(), obmc.ConstraintSet.for_rank((10, 10))
    ).ceiling
