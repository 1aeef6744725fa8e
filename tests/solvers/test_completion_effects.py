"""A factored estimate with effects: asked by entry, row, block and norm, it is one and the same matrix."""

from __future__ import annotations

import numpy as np
import pytest

from obmc.solvers.completion import FactoredEstimate
from obmc.solvers.parts import Effects


@pytest.mark.parametrize("alpha", [None, 1.0])
@pytest.mark.parametrize("with_effects", [False, True])
def test_all_ways_to_ask_agree(alpha: float | None, with_effects: bool) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((7, 2)), rng.standard_normal((5, 2))
    effects = Effects(0.3, rng.standard_normal(7), rng.standard_normal(5)) if with_effects else None
    plain = left @ right.T
    if effects is not None:
        plain = plain + effects.level + effects.rows[:, None] + effects.cols[None, :]
    whole = plain if alpha is None else np.clip(plain, -alpha, alpha)
    estimate = FactoredEstimate(left, right, effects, alpha)
    rows, cols = np.divmod(np.arange(35), 5)
    np.testing.assert_allclose(estimate.dense(), whole, atol=1e-12)
    np.testing.assert_allclose(estimate.at(rows, cols), whole.ravel(), atol=1e-12)
    np.testing.assert_allclose(np.vstack([estimate.row(row) for row in range(7)]), whole, atol=1e-12)
    np.testing.assert_allclose(np.vstack(list(estimate.blocks)), whole, atol=1e-12)
    exact = np.linalg.svd(plain, compute_uv=False)
    np.testing.assert_allclose(estimate.singular_values(), exact[exact > exact[0] * 1e-12], rtol=1e-9)
