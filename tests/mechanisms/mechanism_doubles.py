"""Noise that a test chooses, so that two data sets can be given the same noised view."""

import numpy as np

from obmc.privacy.noise import SimulatedNoise


class ChosenNoise(SimulatedNoise):
    """Hands out the same noised values whatever the true ones are: a draw that happened to come out this way.

    Every law of the mechanisms has a positive density everywhere (or both signs as outcomes), so for any two data sets
    such a draw exists, and what a release makes of it must be the same for both.
    """

    def __init__(self, seed):
        super().__init__(np.random.default_rng(seed))
        self._views = np.random.default_rng(seed + 1)
        self.calls = 0

    def flips_to(self, bits):
        return self._views.random(len(bits)) < 0.5

    def flips(self, size, epsilon):
        raise AssertionError("randomised response needs the true bits to come out as chosen: use ChosenFlips")

    def laplace_bits(self, bits, epsilon, *, geometric):
        self.calls += 1
        return self._views.normal(0.5, 1.0, np.shape(bits))

    def laplace_entries(self, values, *, alpha, epsilon, count):
        self.calls += 1
        return self._views.normal(0.0, 1.0, np.shape(values))

    def laplace_gradient(self, values, *, sensitivity, epsilon):
        self.calls += 1
        return self._views.normal(0.0, 3.0, np.shape(values))

    def gaussian(self, values, *, sensitivity, multiplier, rounding):
        self.calls += 1
        return self._views.normal(0.0, 3.0, np.shape(values))


class ChosenFlips(SimulatedNoise):
    """Reverses the signs that bring these bits to a chosen noised view."""

    def __init__(self, bits, seed):
        super().__init__(np.random.default_rng(seed))
        self._wanted = np.random.default_rng(seed + 1).random(len(bits)) < 0.5
        self._bits = np.asarray(bits) > 0.5

    def flips(self, size, epsilon):
        return self._wanted != self._bits


class GivenTilt(SimulatedNoise):
    """Objective perturbation with chosen terms H."""

    def __init__(self, tilt):
        super().__init__(np.random.default_rng(0))
        self._tilt = np.asarray(tilt, dtype=np.float64)

    def laplace(self, size, scale):
        assert size == len(self._tilt)
        return self._tilt


class GivenLabels(SimulatedNoise):
    """Noised bits of one's choice."""

    def __init__(self, labels):
        super().__init__(np.random.default_rng(0))
        self._labels = np.asarray(labels, dtype=np.float64)

    def laplace_bits(self, bits, epsilon, *, geometric):
        return self._labels
