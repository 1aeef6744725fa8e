"""Exploring one's own ratings: what is computed, what it is called, and what a large matrix leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from obmc import release
from obmc.datasets import read_ratings
from obmc.explore import EPSILONS, explore
from obmc.offers import OFFERS
from obmc.single import Setting

SMALL = "user,item,rating\n" + "".join(f"ann{u},tea {i},{1 + (u * i + u) % 5}\n" for u in range(14) for i in range(9))
CHOSEN = [OFFERS[key] for key in ("inp", "outp-projected")]


def explored(share: float = 0.25, **setting: object):
    table = read_ratings(SMALL.encode(), user="user", item="item", rating="rating")
    return explore(table, 3.0, Setting(**setting), CHOSEN, "paper", share, 2)


def test_the_kept_part_is_no_part_of_what_is_learnt_from() -> None:
    data = explored(seed=3).sweep.dataset
    assert len(data.test) == round(0.25 * 14 * 9) and len(data.train) + len(data.test) == 14 * 9
    pairs = [set(zip(part.rows.tolist(), part.cols.tolist(), strict=True)) for part in (data.train, data.test)]
    assert not pairs[0] & pairs[1]
    again, other = explored(seed=3).sweep.dataset, explored(seed=4).sweep.dataset
    np.testing.assert_array_equal(data.test.rows, again.test.rows)
    assert not np.array_equal(data.test.omega.flat, other.test.omega.flat)


def test_every_curve_and_line_has_its_runs_and_its_name() -> None:
    found = explored(noise="gaussian", sigma=0.5, alpha=2.0, rank=2, radius=0.5)
    sweep = found.sweep
    assert list(found.labels.values()) == ["Clear", "Clear with effects", "InP", "OutP projected", "Majority class"]
    assert {spec.name for spec in sweep.mechanisms} == {"Clear", "InP", "OutP", "Majority"}
    assert (sweep.epsilons, sweep.repetitions, sweep.link, sweep.sigma) == (EPSILONS, 2, "gaussian", 0.5)
    (point, *_) = sweep.points()
    assert point.cset.alpha == 2.0 and point.cset.tau == pytest.approx(0.5 * 2.0 * np.sqrt(2 * 14 * 9))
    assert not sweep.is_stored and not found.is_large


def test_a_matrix_too_large_for_a_dense_solve_leaves_out_what_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "DENSE_CELLS", 50)
    found = explored()
    assert found.is_large and found.sweep.solver == "factored"
    assert "OutP projected" not in found.labels.values() and "InP" in found.labels.values()


def test_what_is_out_of_range_is_named() -> None:
    with pytest.raises(ValueError, match="share must be"):
        explored(share=1.5)
