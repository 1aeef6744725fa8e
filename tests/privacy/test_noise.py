"""Samplers against their closed-form laws, and their realised epsilon in 60-digit arithmetic."""

import math
import pickle
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import obmc
from obmc.privacy import noise

CONTEXT = Context(prec=60)
EPSILONS = [0.01, 0.1, 0.3, 0.5, 1.0, math.log(3.0), 2.0, 4.0, math.pi, 10.0, 15.7, 20.0]


class SeededBits:
    """A bit source for tests: the operating system's cannot be repeated."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def words(self, size, bits):
        return self._rng.integers(0, 2**bits, size=size, dtype=f"u{bits // 8}")


class ScriptedBits:
    """Hands out given 16-bit words, so that a test can drive a comparison into its undecided branch."""

    def __init__(self, *rounds):
        self._rounds = [np.array(r, dtype=np.uint16) for r in rounds]

    def words(self, size, bits):
        words = self._rounds.pop(0)
        assert bits == 16
        assert len(words) == size
        return words


def chi_square(sample, weights, support):
    """p-value of a sample of integers against probabilities on a finite support, rare cells and the rest pooled."""
    expected = np.asarray(weights) * len(sample)
    keep = expected >= 8
    observed = np.array([np.count_nonzero(sample == value) for value in np.asarray(support)[keep]])
    rest = len(sample) - observed.sum()
    expected_rest = len(sample) - expected[keep].sum()
    if expected_rest < 1e-6:
        assert rest == 0
        return stats.chisquare(observed, expected[keep]).pvalue
    return stats.chisquare(np.append(observed, rest), np.append(expected[keep], expected_rest)).pvalue


def discrete_gaussian(support, sigma):
    weights = np.exp(-(np.asarray(support, dtype=float) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


class TestSecure:
    def test_one_instance_that_survives_pickling(self):
        assert pickle.loads(pickle.dumps(obmc.SECURE)) is obmc.SECURE
        assert repr(obmc.SECURE) == "obmc.SECURE"

    def test_noise_from_tells_release_and_simulation_apart(self):
        assert noise.noise_from(obmc.SECURE).simulated is False
        assert noise.noise_from(3).simulated is True
        assert noise.noise_from(np.random.default_rng(1)).simulated is True

    @pytest.mark.parametrize("wrong", [None, "secure", -1, True, 1.5])
    def test_anything_else_is_refused(self, wrong):
        with pytest.raises(ValueError, match="rng must be"):
            noise.noise_from(wrong)

    def test_secure_noise_cannot_be_seeded(self):
        draws = [noise.noise_from(obmc.SECURE).flips(256, 1.0) for _ in range(2)]
        assert not np.array_equal(*draws)


class TestRandomisedResponse:
    def test_golden_threshold(self):
        assert noise.flip_threshold(1.0) == 4961093570831980854

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_realised_epsilon_is_at_most_the_one_asked(self, epsilon):
        k = noise.flip_threshold(epsilon)
        realised = CONTEXT.ln(CONTEXT.divide(Decimal(2**64 - k), Decimal(k)))
        asked = Decimal(epsilon)
        assert realised <= asked
        # One step less would already break the promise: nothing is given away.
        assert CONTEXT.ln(CONTEXT.divide(Decimal(2**64 - k + 1), Decimal(k - 1))) > asked

    def test_realised_epsilon_on_a_fine_grid(self):
        for epsilon in np.exp(np.linspace(math.log(0.01), math.log(20.0), 400)):
            k = noise.flip_threshold(float(epsilon))
            realised = CONTEXT.ln(CONTEXT.divide(Decimal(2**64 - k), Decimal(k)))
            assert 0 <= Decimal(float(epsilon)) - realised < Decimal("1e-8")

    def test_double_precision_would_break_the_promise(self):
        broken = 0
        for epsilon in np.linspace(0.01, 20.0, 200):
            k = math.ceil(2**64 / (1.0 + math.exp(epsilon)))
            realised = CONTEXT.ln(CONTEXT.divide(Decimal(2**64 - k), Decimal(k)))
            broken += realised > Decimal(float(epsilon))
        assert broken > 10

    @pytest.mark.parametrize("epsilon", [44.0, 44.36, 50.0, 1000.0])
    def test_beyond_64_bits_the_smallest_flip_probability_remains(self, epsilon):
        k = noise.flip_threshold(epsilon)
        assert k >= 1
        assert CONTEXT.ln(Decimal(2**64 - k) / Decimal(k)) <= Decimal(epsilon)

    @pytest.mark.parametrize("source_seed", [0, 1])
    def test_share_of_flips(self, source_seed):
        flips = noise.exact_flips(200_000, 1.0, SeededBits(source_seed))
        expected = noise.flip_probability(1.0)
        assert stats.binomtest(int(flips.sum()), len(flips), expected).pvalue > 1e-3

    def test_simulated_share_of_flips(self):
        flips = noise.noise_from(0).flips(200_000, 2.0)
        assert stats.binomtest(int(flips.sum()), len(flips), noise.flip_probability(2.0)).pvalue > 1e-3

    @pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan, 2e6, "1"])
    def test_bad_epsilon(self, wrong):
        with pytest.raises(ValueError, match="epsilon must be a"):
            noise.flip_threshold(wrong)


class TestExpansion:
    @pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.25, 20.0])
    def test_digits_enclose_the_probability(self, epsilon):
        context = Context(prec=120)
        exact = context.divide(Decimal(1), context.add(Decimal(1), context.exp(Decimal(epsilon))))
        digits = noise.logistic_expansion(Fraction(epsilon)).floor(256)
        assert Decimal(digits) <= context.multiply(exact, Decimal(2**256)) < Decimal(digits + 1)
        decay = noise.exponential_expansion(Fraction(epsilon)).floor(256)
        product = context.divide(Decimal(2**256), context.exp(Decimal(epsilon)))
        assert Decimal(decay) <= product < Decimal(decay + 1)

    def test_words_are_the_digits_in_turn(self):
        expansion = noise.logistic_expansion(Fraction(1))
        words = [expansion.word(level) for level in range(8)]
        assert sum(w << (16 * (7 - i)) for i, w in enumerate(words)) == expansion.floor(128)

    def test_tiny_probabilities_have_zero_digits(self):
        assert noise.exponential_expansion(Fraction(10**6)).word(0) == 0
        assert noise.exponential_expansion(Fraction(3000)).floor(64) == 0
        assert noise.exponential_expansion(Fraction(30)).floor(64) == math.floor(math.exp(-30) * 2**64)

    def test_an_undecided_comparison_draws_further_words(self):
        expansion = noise.logistic_expansion(Fraction(1))
        first, second = expansion.word(0), expansion.word(1)
        source = ScriptedBits([first - 1, first, first, first + 1], [second - 1, second + 1])
        assert noise.bernoulli(4, expansion, source).tolist() == [True, True, False, False]

    def test_bernoulli_share_with_many_undecided(self):
        # At p = e^-11 a quarter of all words that could be below the threshold are equal to it.
        expansion = noise.exponential_expansion(Fraction(11))
        hits = noise.bernoulli(4_000_000, expansion, SeededBits(5))
        assert stats.binomtest(int(hits.sum()), len(hits), math.exp(-11)).pvalue > 1e-3


class TestDiscreteLaplace:
    @pytest.mark.parametrize(
        ("rate", "seed"),
        [(Fraction(1), 0), (Fraction(1, 7), 1), (Fraction(4), 2), (Fraction(20), 3), (Fraction(0.3), 4)],
    )
    def test_law(self, rate, seed):
        sample = noise.exact_discrete_laplace(200_000, rate, SeededBits(seed))
        q = math.exp(-rate)
        support = np.arange(-200, 201)
        weights = (1 - q) / (1 + q) * q ** np.abs(support)
        assert chi_square(sample, weights, support) > 1e-3

    def test_law_with_a_large_scale(self):
        rate = Fraction(1, 2**21)
        sample = noise.exact_discrete_laplace(50_000, rate, SeededBits(6))
        assert stats.kstest(sample * float(rate), "laplace").pvalue > 1e-3
        # The low digits are as uniform as they must be: no grid coarser than 1 shows through.
        assert chi_square(np.abs(sample) % 16, np.full(16, 1 / 16), np.arange(16)) > 1e-3

    def test_what_overflows_its_digits_goes_on_from_there(self, monkeypatch):
        # Rate 2 has three digits; they are all 0 here, and the event beyond them happens twice, once and never.
        answers = iter([[0, 0, 0]] * 3 + [[1, 1, 0], [1, 0], [0]])
        monkeypatch.setattr(noise, "bernoulli", lambda size, series, source: np.array(next(answers)[:size], dtype=bool))
        np.testing.assert_array_equal(noise.exact_geometric(3, Fraction(2), SeededBits(0)), [16, 8, 0])

    def test_geometric_overflow_digits(self):
        # With a rate just above 16 there are no digits, only the repeated tail event.
        sample = noise.exact_geometric(3_000_000, Fraction(16), SeededBits(7))
        q = math.exp(-16.0)
        assert set(np.unique(sample)) <= {0, 1, 2}
        assert stats.binomtest(int((sample > 0).sum()), len(sample), q).pvalue > 1e-3

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_realised_epsilon(self, epsilon):
        """log P(g) - log P(g + 1) from the digits' own probabilities is the epsilon asked for, at every carry."""
        context = Context(prec=60)
        rate = Fraction(epsilon)

        def fraction(expansion):
            return context.divide(Decimal(expansion.floor(512)), context.power(Decimal(2), 512))

        digits = 0
        while rate * 2**digits < 16:
            digits += 1
        one = []
        for i in range(digits):
            p = fraction(noise.logistic_expansion(rate * 2**i))
            one.append((context.ln(p), context.ln(context.subtract(Decimal(1), p))))
        tail = context.ln(fraction(noise.exponential_expansion(rate * 2**digits)))

        def log_mass(value):
            block, low = divmod(value, 2**digits)
            total = context.multiply(Decimal(block), tail)
            for i in range(digits):
                total = context.add(total, one[i][0] if low >> i & 1 else one[i][1])
            return total

        for value in [0, 1, 2, 3, 2**digits - 1, 2**digits, 2 ** (digits + 1) - 1]:
            step = context.subtract(log_mass(value), log_mass(value + 1))
            assert context.abs(context.subtract(step, Decimal(epsilon))) < Decimal("1e-50")

    def test_too_small_a_rate_is_refused(self):
        with pytest.raises(ValueError, match="epsilon is too small"):
            noise.exact_geometric(1, Fraction(1, 2**60), SeededBits(0))

    def test_matches_opendp(self):
        opendp = pytest.importorskip("opendp.prelude")
        opendp.enable_features("contrib")
        space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
        theirs = np.array(opendp.m.make_laplace(*space, scale=1.0 / 0.7)([0] * 20_000))
        ours = noise.exact_discrete_laplace(20_000, Fraction(0.7), SeededBits(8))
        support = np.arange(-12, 13)
        table = [[np.count_nonzero(np.clip(sample, -12, 12) == v) for v in support] for sample in (ours, theirs)]
        keep = np.sum(table, axis=0) > 20
        # OpenDP's randomness cannot be seeded: one false alarm in ten million runs.
        assert stats.chi2_contingency(np.array(table)[:, keep]).pvalue > 1e-7
        assert opendp.m.make_laplace(*space, scale=1.0 / 0.7).map(1) == pytest.approx(0.7)


class TestDiscreteGaussian:
    @pytest.mark.parametrize(("sigma", "seed"), [(1, 0), (3, 1), (12, 2)])
    def test_law(self, sigma, seed):
        sample = noise.exact_discrete_gaussian(200_000, sigma, SeededBits(seed))
        support = np.arange(-10 * sigma, 10 * sigma + 1)
        assert chi_square(sample, discrete_gaussian(support, sigma), support) > 1e-3

    def test_law_with_a_large_deviation(self):
        sigma = 3 * 2**21 + 5
        sample = noise.exact_discrete_gaussian(50_000, sigma, SeededBits(3))
        assert stats.kstest(sample / sigma, "norm").pvalue > 1e-3
        assert chi_square(np.abs(sample) % 16, np.full(16, 1 / 16), np.arange(16)) > 1e-3

    def test_bad_sigma(self):
        with pytest.raises(ValueError, match="sigma must be a whole number"):
            noise.exact_discrete_gaussian(1, 0, SeededBits(0))


class TestNoise:
    @pytest.mark.parametrize("rng", [0, obmc.SECURE], ids=["simulation", "release"])
    def test_variances(self, rng):
        source = noise.ExactNoise(SeededBits(1)) if rng is obmc.SECURE else noise.noise_from(rng)
        zeros = np.zeros(100_000)
        geometric = source.laplace_bits(zeros, 1.0, geometric=True)
        assert np.var(geometric) == pytest.approx(noise.geometric_variance(1.0), rel=0.03)
        assert np.all(geometric == np.round(geometric))
        entries = source.laplace_entries(zeros, alpha=1.5, epsilon=2.0, count=3)
        assert np.var(entries) == pytest.approx(noise.laplace_variance(2 * 1.5 * 3 / 2.0), rel=0.03)
        gradient = source.laplace_gradient(zeros, sensitivity=0.7, epsilon=0.5)
        assert np.var(gradient) == pytest.approx(noise.laplace_variance(0.7 / 0.5), rel=0.03)
        gauss = source.gaussian(zeros, sensitivity=1.0, multiplier=2.5, rounding=0.0)
        assert np.std(gauss) == pytest.approx(2.5, rel=0.02)
        assert abs(np.mean(gauss)) < 5 * 2.5 / math.sqrt(len(gauss))

    def test_simulated_laplace_has_the_scale_of_the_paper(self):
        values = noise.noise_from(4).laplace_bits(np.ones(50_000), 0.5, geometric=False) - 1.0
        assert stats.kstest(values, "laplace", args=(0.0, 2.0)).pvalue > 1e-3

    def test_the_released_values_lie_on_the_grid(self):
        source = noise.ExactNoise(SeededBits(2))
        for values in (
            source.laplace_entries(np.linspace(-3, 3, 50), alpha=1.0, epsilon=1.0, count=1),
            source.laplace_gradient(np.linspace(-0.5, 0.5, 50), sensitivity=1.0, epsilon=1.0),
            source.gaussian(np.linspace(-1, 1, 50), sensitivity=0.3, multiplier=1.0, rounding=math.sqrt(50)),
        ):
            assert np.all(values * 2**20 == np.round(values * 2**20))

    @pytest.mark.parametrize("rng", [0, obmc.SECURE], ids=["simulation", "release"])
    def test_entries_are_clipped_before_the_noise(self, rng):
        """Two matrices that agree after the clip get the same answer from the same noise."""

        def answers(values):
            source = noise.ExactNoise(SeededBits(9)) if rng is obmc.SECURE else noise.noise_from(9)
            return source.laplace_entries(values, alpha=0.5, epsilon=1.0, count=1)

        np.testing.assert_array_equal(answers(np.array([7.0, -9.0])), answers(np.array([0.5, -0.5])))

    def test_noise_has_the_sign_it_should(self):
        """The truth comes through: a large value stays near itself, not near its negative."""
        source = noise.ExactNoise(SeededBits(10))
        assert np.mean(source.laplace_entries(np.full(4000, 0.9), alpha=1.0, epsilon=20.0, count=1)) > 0.85
        assert np.mean(source.laplace_bits(np.ones(4000), 5.0, geometric=True)) > 0.95

    @pytest.mark.parametrize(("alpha", "epsilon", "count"), [(1.0, 1.0, 1), (0.3, 0.1, 5), (2.7, 20.0, 1)])
    def test_realised_epsilon_of_an_entry(self, alpha, epsilon, count):
        """The grid distance between the ends of the box, times the rate of the noise, times k entries."""
        ends = noise.truncate_to_grid(np.array([-alpha, alpha]))
        rate = Fraction(epsilon) / (noise.entry_grid_sensitivity(alpha) * count)
        assert rate * int(ends[1] - ends[0]) * count <= Fraction(epsilon)

    def test_realised_epsilon_of_a_clamped_gradient(self):
        """No clamped gradient moves further on the grid than the sensitivity that the noise was made for."""
        link, clip = obmc.Gaussian(), 1.0
        points = np.linspace(-1.0, 1.0, 20_001)
        up = noise.truncate_to_grid(-np.minimum(link.score(points), clip))
        down = noise.truncate_to_grid(np.minimum(link.score(-points), clip))
        moved = int(np.max(down - up))
        allowed = noise.gradient_grid_sensitivity(1.6157323335918)
        assert moved <= allowed <= moved + 16

    def test_truncation_is_toward_zero(self):
        step = 2.0**-20
        np.testing.assert_array_equal(noise.truncate_to_grid([1.9 * step, -1.9 * step, 0.5]), [1, -1, 2**19])

    def test_too_small_a_box_is_refused(self):
        with pytest.raises(ValueError, match="alpha must be at least"):
            noise.entry_grid_sensitivity(1e-9)
        with pytest.raises(ValueError, match="alpha must be at least"):
            noise.entry_grid_sensitivity(math.nextafter(2.0**-20, 0.0))
        assert noise.entry_grid_sensitivity(2.0**-20) == 2

    def test_a_sensitivity_of_nothing_is_refused(self):
        with pytest.raises(ValueError, match="sensitivity must be a finite number above 0"):
            noise.gradient_grid_sensitivity(0.0)


class TestLaplaceField:
    def test_law(self):
        field = noise.noise_from(0).laplace_field(2.5)
        rows, cols = np.divmod(np.arange(200_000), 400)
        values = field.at(rows, cols)
        assert stats.kstest(values / 2.5, "laplace").pvalue > 1e-3
        assert np.all(np.isfinite(values))
        assert len(np.unique(values)) == len(values)

    def test_the_same_whenever_asked_and_another_for_another_seed(self):
        field, again, other = (noise.noise_from(seed).laplace_field(1.0) for seed in (3, 3, 4))
        rows, cols = np.array([5, 0, 70_000]), np.array([1, 0, 160_000])
        np.testing.assert_array_equal(field.at(rows, cols), again.at(rows[::-1], cols[::-1])[::-1])
        assert np.all(field.at(rows, cols) != other.at(rows, cols))

    def test_neighbouring_entries_are_independent(self):
        matrix = noise.noise_from(1).laplace_field(1.0).at(*np.divmod(np.arange(250_000), 500)).reshape(500, 500)
        for one, other in ((matrix[:, 1:], matrix[:, :-1]), (matrix[1:], matrix[:-1]), (matrix, matrix.T)):
            off = one != other
            assert abs(np.corrcoef(one[off], other[off])[0, 1]) < 0.01
        # Seeds that differ by one share nothing either.
        others = noise.noise_from(2).laplace_field(1.0).at(*np.divmod(np.arange(250_000), 500))
        assert abs(np.corrcoef(matrix.ravel(), others)[0, 1]) < 0.01


class TestClosedForms:
    def test_golden_values(self):
        assert math.sqrt(noise.geometric_variance(1.0)) == pytest.approx(1.357, abs=5e-4)
        assert math.sqrt(noise.geometric_variance(4.0)) == pytest.approx(0.195, abs=6e-4)
        assert math.sqrt(noise.geometric_variance(10.0)) == pytest.approx(0.0095, abs=5e-5)
        assert math.sqrt(noise.randomised_response_variance(1.0)) == pytest.approx(0.960, abs=1e-3)
        assert math.sqrt(noise.laplace_variance(1.0)) == pytest.approx(math.sqrt(2.0))

    @pytest.mark.parametrize(("epsilon", "ratio"), [(0.5, 2.04), (1.0, 2.17), (2.0, 2.76), (4.0, 6.6), (10.0, 440.0)])
    def test_variance_ratio_of_laplace_and_randomised_response(self, epsilon, ratio):
        measured = noise.laplace_variance(1 / epsilon) / noise.randomised_response_variance(epsilon)
        assert measured == pytest.approx(ratio, rel=0.01)

    def test_randomised_response_variance_is_that_of_the_unbiased_label(self):
        p = noise.flip_probability(1.3)
        assert noise.randomised_response_variance(1.3) == pytest.approx(p * (1 - p) / (1 - 2 * p) ** 2)

    def test_extremes_are_finite(self):
        assert noise.flip_probability(1e5) >= 0.0
        assert noise.randomised_response_variance(1e-6) == pytest.approx(1e12)
        assert noise.randomised_response_variance(5000.0) >= 0.0
