"""The proximal step entry by entry, against a minimisation on a grid and the optimality condition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from obmc.links import Gaussian, Link, Logistic
from obmc.losses import FlippedLikelihood, Likelihood, Loss, Matching
from obmc.solvers.proximal import proximal_point

N = 400


def losses(link: Link) -> dict[str, Loss]:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], N)
    return {
        "likelihood": Likelihood(link, signs),
        "tilted": Likelihood(link, signs, rng.laplace(0.0, 20.0, N)),
        "noised": Matching(link, rng.laplace(0.5, 20.0, N)),
        "flipped": FlippedLikelihood(link, signs, 1.0 / (1.0 + math.e)),
        "rarely flipped": FlippedLikelihood(link, signs, 1e-4),
    }


KINDS = list(losses(Logistic()))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 20.0, None])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", [Logistic(), Gaussian(1.0), Gaussian(0.1)], ids=str)
def test_the_step_meets_its_optimality_condition_from_any_start(link: Link, kind: str, alpha: float | None) -> None:
    loss, rng = losses(link)[kind], np.random.default_rng(1)
    least = loss.min_curvature(alpha)
    for weight in (0.01, 1.0, 100.0):
        rho = weight * loss.max_curvature + 1.5 * max(0.0, -least)
        centre = rng.standard_normal(N) * rng.choice([0.01, 1.0, 300.0], N)
        for start in (np.zeros(N), centre.copy(), 1e3 * rng.standard_normal(N)):
            x = proximal_point(loss, centre, rho, alpha, start, least)
            slope = loss.gradient(x) + rho * (x - centre)
            # Newton stops at a relative change of 1e-7 of the largest entry; what is left is far below that.
            slack = 1e-6 * (rho + loss.max_curvature) * max(1e-300, float(np.abs(x).max()))
            if alpha is None:
                assert np.all(np.abs(slope) <= slack)
                continue
            assert np.abs(x).max() <= alpha
            assert np.all(slope[x < alpha] >= -slack)  # 0 within the box, positive at its lower end
            assert np.all(slope[x > -alpha] <= slack)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", [Logistic(), Gaussian(1.0)], ids=str)
def test_no_point_of_a_fine_grid_is_better(link: Link, kind: str) -> None:
    loss = losses(link)[kind]
    least = loss.min_curvature(1.0)
    rho = 0.3 + 1.5 * max(0.0, -least)
    centre = np.linspace(-3.0, 3.0, N)

    def value(x: np.ndarray) -> np.ndarray:
        return loss.values(x) + 0.5 * rho * (x - centre) ** 2

    x = proximal_point(loss, centre, rho, 1.0, np.zeros(N), least)
    best = np.min([value(np.full(N, point)) for point in np.linspace(-1.0, 1.0, 2001)], axis=0)
    assert np.all(value(x) <= best + 1e-12 * (1.0 + np.abs(best)))


def test_a_cycle_within_the_bracket_is_broken() -> None:
    # Far starts with a weak quadratic: Newton's steps turn round and round between two points of the flat ends.
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(40):
        loss = Likelihood(Logistic(), rng.choice([-1.0, 1.0], N), rng.uniform(-0.9, 0.9, N))
        rho = 10.0 ** rng.uniform(-2.0, -0.5)
        centre, start = rng.uniform(-4.0, 4.0, N), rng.uniform(-300.0, 300.0, N)
        x = proximal_point(loss, centre, rho, None, start, 0.0)
        worst = max(worst, float(np.abs(loss.gradient(x) + rho * (x - centre)).max()))
    assert worst <= 1e-5
