"""The bridge instance: its shape, and the completed matrix that it is built for."""

import numpy as np
import pytest

import obmc


class TestBridge:
    def test_two_groups_and_one_rating_between_them(self):
        made = obmc.datasets.bridge(6)
        dense = made.observations.to_dense()
        assert made.entry == (0, 3)
        np.testing.assert_array_equal(dense[:3, :3], 1)
        np.testing.assert_array_equal(dense[3:, 3:], 1)
        assert dense[0, 3] == 1
        assert len(made.observations) == 19
        assert (made.constraints.tau, made.constraints.alpha) == (6.0, 1.0)

    @pytest.mark.parametrize("link", [obmc.Logistic(), obmc.Gaussian()], ids=["logistic", "gaussian"])
    @pytest.mark.parametrize("alpha", [0.5, 1.0])
    def test_one_rating_decides_both_other_blocks(self, link, alpha):
        made = obmc.datasets.bridge(10, alpha)
        ones = np.ones((5, 5))
        for data, y in ((made.observations, 1.0), (made.observations.flip(made.entry), -1.0)):
            matrix = obmc.complete(data, link, made.constraints, tol=1e-6).matrix
            np.testing.assert_allclose(
                matrix, alpha * np.block([[ones, y * ones], [y * ones, ones]]), atol=0.05 * alpha
            )

    def test_both_solutions_are_at_the_radius(self):
        made = obmc.datasets.bridge(20)
        ones = np.ones((10, 10))
        for y in (1.0, -1.0):
            matrix = np.block([[ones, y * ones], [y * ones, ones]])
            assert np.linalg.norm(matrix, "nuc") == pytest.approx(made.constraints.tau)

    @pytest.mark.parametrize("size", [0, 1, 3, 2.5, "20", 5000])
    def test_bad_size(self, size):
        with pytest.raises(ValueError, match="size must be"):
            obmc.datasets.bridge(size)

    def test_bad_alpha(self):
        with pytest.raises(ValueError, match="alpha must be"):
            obmc.datasets.bridge(4, alpha=0.0)
