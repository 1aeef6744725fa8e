"""Problems for the tests of the solvers, the references with a known optimum, and an independent slow method."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from obmc.constraints import ConstraintSet
from obmc.links import Gaussian, Link, Logistic
from obmc.losses import FlippedLikelihood, Likelihood, Loss, Matching, likelihood
from obmc.observations import Observations, Omega
from obmc.solvers.problem import Problem

Array = NDArray[np.float64]
REFERENCE = Path(__file__).parent / "reference"
LINKS = [Logistic(), Gaussian(1.0)]


@dataclass(frozen=True)
class Reference:
    """A problem whose optimum an independent solver found to a relative gap below 1e-9."""

    problem: Problem
    link: Link
    observations: Observations
    optimum: float
    largest: float

    def error(self, objective: float) -> float:
        """(f - f*) / f(0)."""
        return (objective - self.optimum) / self.problem.loss.scale


def reference(name: str, boxed: bool) -> Reference:
    facts = json.loads((REFERENCE / "reference.json").read_text())[name]
    case = np.load(REFERENCE / f"case_{name}.npz")
    shape = (int(case["shape"][0]), int(case["shape"][1]))
    obs = Observations(case["rows"], case["cols"], case["signs"], shape)
    link = Logistic() if facts["link"] == "logistic" else Gaussian(facts["sigma"])
    loss = Matching(link, case["labels"]) if "labels" in case else likelihood(link, obs.signs)
    cset = ConstraintSet(facts["tau"], facts["alpha"] if boxed else None)
    found = facts["nuclear_and_infinity" if boxed else "nuclear_only"]
    return Reference(Problem(loss, obs.omega, cset), link, obs, found["objective"], found["max_abs"])


NAMES = sorted(json.loads((REFERENCE / "reference.json").read_text()))


def some_observations(shape: tuple[int, int], n: int, seed: int = 0) -> Observations:
    """n entries at random places; their signs follow a product of two vectors seven times out of ten."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(shape[0] * shape[1])[:n]
    rows, cols = np.divmod(places, shape[1])
    pattern = np.sign(rng.standard_normal(shape[0]))[rows] * np.sign(rng.standard_normal(shape[1]))[cols]
    return Observations(rows, cols, np.where(rng.random(n) < 0.7, pattern, -pattern), shape)


LOSSES = ("likelihood", "tilted", "matching", "noised", "flipped")


def some_loss(kind: str, link: Link, obs: Observations, seed: int = 0) -> Loss:
    """A loss that is convex on |x| <= 1; "noised" has labels with Laplace noise of scale 1, "flipped" epsilon = 4."""
    rng = np.random.default_rng(seed)
    if kind == "likelihood":
        return Likelihood(link, obs.signs)
    if kind == "tilted":
        return Likelihood(link, obs.signs, rng.laplace(0.0, 1.0, len(obs)))
    if kind == "matching":
        return Matching(link, obs.bits)
    if kind == "noised":
        return Matching(link, obs.bits + rng.laplace(0.0, 1.0, len(obs)))
    return FlippedLikelihood(link, obs.signs, 1.0 / (1.0 + math.exp(4.0)))


def is_feasible(matrix: Array, cset: ConstraintSet, slack: float = 1e-6) -> bool:
    """Within both bounds to a relative ``slack``."""
    inside = bool(np.linalg.svd(matrix, compute_uv=False).sum() <= cset.tau * (1.0 + slack))
    return inside and (cset.alpha is None or bool(np.abs(matrix).max() <= cset.alpha * (1.0 + slack)))


def slow_optimum(loss: Loss, omega: Omega, cset: ConstraintSet, ridge: float = 0.0, steps: int = 500) -> Array:
    """Accelerated projected gradient with Dykstra's projection, written for nothing but being right."""
    rows, cols = omega.rows, omega.cols

    def ball(matrix: Array) -> Array:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        if values.sum() > cset.tau:
            low, high = 0.0, float(values.max())
            for _ in range(60):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if np.maximum(values - middle, 0.0).sum() > cset.tau else (low, middle)
            values = np.maximum(values - high, 0.0)
        return (left * values) @ right

    def both(matrix: Array) -> Array:
        if cset.alpha is None:
            return ball(matrix)
        x, first, second = matrix, np.zeros_like(matrix), np.zeros_like(matrix)
        for _ in range(300):
            y = ball(x + first)
            first = x + first - y
            following = np.clip(y + second, -cset.alpha, cset.alpha)
            second = y + second - following
            change = float(np.abs(following - x).max())
            x = following
            if change < 1e-11:
                break
        return x

    length = 1.0 / (loss.max_curvature + ridge)
    x = y = np.zeros(omega.shape)
    momentum = 1.0
    for _ in range(steps):
        gradient = ridge * y
        gradient[rows, cols] += loss.gradient(y[rows, cols])
        following = both(y - length * gradient)
        if float(np.vdot(y - following, following - x)) > 0.0:  # restart where the momentum leads astray
            momentum = 1.0
        longer = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        y = following + (momentum - 1.0) / longer * (following - x)
        moved = float(np.abs(following - x).max())
        x, momentum = following, longer
        if moved < 1e-9:
            break
    return x
