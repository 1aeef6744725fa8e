"""Golden values, and cross-checks against independent computations."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import optimize, special, stats

import obmc
from obmc.privacy import accounting as acc

LOGISTIC, GAUSSIAN = obmc.Logistic(), obmc.Gaussian()


def brute_force_rr(p1, p2, epsilon):
    growth = math.exp(epsilon)
    return 1 - p1 <= growth * p2 and p2 <= growth * (1 - p1) and p1 <= growth * (1 - p2) and 1 - p2 <= growth * p1


def upper_tail(x):
    """Q(x) = 1/2 - phi(x) (x + x^3/3 + x^5/15 + ...) in the current decimal context."""
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
    density = (-x * x / 2).exp() / (2 * pi).sqrt()
    term = series = x
    k = 1
    while abs(term) > Decimal(10) ** -90:
        k += 2
        term = term * x * x / k
        series += term
    return Decimal("0.5") - density * series


def balle_wang_in_decimal(epsilon, multiplier):
    with localcontext() as context:
        context.prec = 75
        eps, s = Decimal(epsilon), Decimal(multiplier)
        shift = 1 / (2 * s)
        return upper_tail(eps * s - shift) - eps.exp() * upper_tail(eps * s + shift)


class TestRandomisedResponse:
    def test_golden_pair_that_the_paper_accepts(self):
        assert acc.rr_epsilon(0.01, 0.40) == pytest.approx(4.0943, abs=5e-5)
        assert acc.paper_accepts(0.01, 0.40, 1.0)
        with pytest.raises(ValueError, match=r"all four inequalities.*4\.0943"):
            acc.check_flip_probabilities(0.01, 0.40, 1.0)

    def test_pairs_that_no_epsilon_covers(self):
        for pair in [(0.0, 0.4), (0.4, 0.0), (0.0, 0.0), (1.0, 1.0), (1.0, 0.5)]:
            assert acc.rr_epsilon(*pair) == math.inf
            with pytest.raises(ValueError, match="no epsilon covers"):
                acc.check_flip_probabilities(*pair)

    def test_outputs_that_do_not_depend_on_the_input(self):
        assert acc.rr_epsilon(0.0, 1.0) == 0.0
        assert acc.rr_epsilon(0.3, 0.7) == pytest.approx(0.0, abs=1e-12)

    def test_symmetric_pairs(self):
        assert acc.check_flip_probabilities(0.2, 0.2, 1.5) == pytest.approx(math.log(4.0))
        for epsilon in (0.1, 1.0, 5.0):
            p = 1 / (1 + math.exp(epsilon))
            assert acc.rr_epsilon(p, p) == pytest.approx(epsilon)

    def test_is_the_threshold_of_the_four_inequalities(self):
        rng = np.random.default_rng(0)
        for p1, p2 in rng.uniform(0.001, 0.999, (2000, 2)):
            exact = acc.rr_epsilon(p1, p2)
            assert brute_force_rr(p1, p2, exact + 1e-9)
            assert exact < 1e-9 or not brute_force_rr(p1, p2, exact - 1e-9)

    def test_the_paper_accepts_pairs_that_break_their_promise(self):
        rng = np.random.default_rng(1)
        pairs = [pair for pair in rng.uniform(0, 1, (40_000, 2)) if pair.sum() < 1 and acc.paper_accepts(*pair, 1.0)]
        broken = np.mean([acc.rr_epsilon(*pair) > 1.0 for pair in pairs])
        assert broken == pytest.approx(0.269, abs=0.02)

    @pytest.mark.parametrize("wrong", [(-0.1, 0.5), (0.5, 1.1), (math.nan, 0.5), ("a", 0.5)])
    def test_bad_probabilities(self, wrong):
        with pytest.raises(ValueError, match=r"p[12] must be a"):
            acc.rr_epsilon(*wrong)


class TestConvexity:
    def test_golden(self):
        assert acc.flipped_convexity_threshold(LOGISTIC, 1.5) == 3.0
        for v, value in [(0.5, 1.261), (1.0, 2.5651), (2.0, 5.466)]:
            assert acc.flipped_convexity_threshold(obmc.Gaussian(2.0), 2.0 * v) == pytest.approx(value, abs=5e-4)

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    def test_against_the_second_derivative(self, link):
        """Just above the threshold -log c is convex on the box, just below it is not."""
        alpha = 0.8
        threshold = acc.flipped_convexity_threshold(link, alpha)
        x = np.linspace(-alpha, alpha, 4001)

        def smallest_curvature(epsilon):
            p = 1 / (1 + math.exp(epsilon))
            h, slope = link.probability(x), link.density(x)
            second = slope * (1 - 2 * h) if link is LOGISTIC else -x * slope
            c = h * (1 - p) + (1 - h) * p
            return np.min(((1 - 2 * p) * slope / c) ** 2 - (1 - 2 * p) * second / c)

        assert smallest_curvature(threshold * 1.001) > 0.0
        assert smallest_curvature(threshold * 0.999) < 0.0

    def test_far_in_the_tail(self):
        value = acc.flipped_convexity_threshold(obmc.Gaussian(0.05), 1.0)
        # phi(v)/v - Q(v) by its asymptotic series, Q (1/v^2 - 2/v^4 + ...), summed to its smallest term.
        v = 20.0
        term, series = 1.0, 0.0
        for k in range(1, 40):
            term *= -(2 * k - 1) / v**2
            series -= term
        log_excess = stats.norm.logpdf(v) - math.log(v) + math.log(series)
        exact = math.log1p(math.exp(-log_excess))
        assert value == pytest.approx(exact, rel=1e-9)


class TestLikelihood:
    def test_golden(self):
        assert acc.likelihood_sensitivity(GAUSSIAN, 1.0) == pytest.approx(1.81274, abs=1e-5)
        assert acc.log_curvature_ratio(GAUSSIAN, 1.0) == pytest.approx(0.7714, abs=5e-5)
        assert acc.paper_sensitivity(GAUSSIAN, 1.0) == pytest.approx(5.02905, abs=1e-5)
        assert acc.log_curvature_ratio(LOGISTIC, 2.0) == 0.0
        assert acc.paper_sensitivity(LOGISTIC, 2.0) == 1.0

    @pytest.mark.parametrize(
        ("v", "ratio", "violated", "proven"),
        [
            (0.5, 0.353, 0.284, 0.976),
            (1.0, 0.771, 0.619, 1.206),
            (1.5, 1.319, 1.146, 1.597),
            (2.0, 2.054, 1.927, 2.207),
        ],
    )
    def test_thresholds_at_the_paper_calibration(self, v, ratio, violated, proven):
        link = obmc.Gaussian(0.7)
        alpha = 0.7 * v
        assert acc.log_curvature_ratio(link, alpha) == pytest.approx(ratio, abs=6e-4)
        assert acc.paper_violated_below(link, alpha) == pytest.approx(violated, abs=6e-4)
        assert acc.paper_proven_from(link, alpha) == pytest.approx(proven, abs=6e-4)

    def test_proven_and_violated_agree_with_the_bounds(self):
        """At the thresholds the proven bound and the lower bound are exactly the nominal epsilon."""
        for alpha in (0.6, 1.0, 2.0):
            scale = acc.paper_sensitivity(GAUSSIAN, alpha)
            at = acc.paper_proven_from(GAUSSIAN, alpha)
            assert acc.likelihood_epsilon(GAUSSIAN, alpha, scale / at) == pytest.approx(at)
            below = acc.paper_violated_below(GAUSSIAN, alpha)
            assert acc.likelihood_epsilon_at_least(GAUSSIAN, alpha, scale / below) == pytest.approx(below)

    @pytest.mark.parametrize(("alpha", "nominal", "true"), [(1.0, 0.5, 0.648), (2.0, 1.0, 1.988)])
    def test_counterexamples(self, alpha, nominal, true):
        scale = acc.paper_sensitivity(GAUSSIAN, alpha) / nominal
        assert acc.likelihood_epsilon_at_least(GAUSSIAN, alpha, scale) == pytest.approx(true, abs=6e-4)

    def test_the_logistic_form_is_proven_from_nought_on(self):
        assert acc.paper_proven_from(LOGISTIC, 1.0) == 0.0
        assert acc.paper_violated_below(LOGISTIC, 1.0) == 0.0

    def test_displayed_noise(self):
        assert acc.paper_proven_from(LOGISTIC, 1.0, halving=2.0) == math.inf
        assert acc.paper_proven_from(GAUSSIAN, 1.0, halving=2.0) == pytest.approx(2.766, abs=3e-3)
        assert acc.paper_proven_from(GAUSSIAN, 0.5, halving=2.0) == math.inf

    def test_counterexample_by_quadrature(self):
        """The event {x in [0.8, 1)} of the scalar problem has a probability ratio above e^nominal at v = 1."""
        nominal = 0.5
        scale = acc.paper_sensitivity(GAUSSIAN, 1.0) / nominal

        def mass(sign):
            # x solves l'(sign, x) + H = 0, so x in [a, b) means H in (-l'(b), -l'(a)], and l' increases with x.
            derivative = [-float(GAUSSIAN.score(x)) if sign > 0 else float(GAUSSIAN.score(-x)) for x in (0.8, 1.0)]
            return stats.laplace.cdf(-derivative[0], scale=scale) - stats.laplace.cdf(-derivative[1], scale=scale)

        ratio = abs(math.log(mass(1) / mass(-1)))
        assert nominal < ratio < acc.likelihood_epsilon(GAUSSIAN, 1.0, scale)

    def test_exact_minimiser_scale(self):
        scale = acc.likelihood_exact_scale(GAUSSIAN, 1.0, 2.0)
        assert scale == pytest.approx(1.475, abs=1e-3)
        assert acc.likelihood_epsilon(GAUSSIAN, 1.0, scale) == pytest.approx(2.0)
        with pytest.raises(ValueError, match=r"epsilon must be above log R = 0\.7714"):
            acc.likelihood_exact_scale(GAUSSIAN, 1.0, 0.77)


class TestClamp:
    def test_golden(self):
        assert acc.clamp_sensitivity(LOGISTIC, 1.0, 0.5) == 1.0
        assert acc.clamp_sensitivity(GAUSSIAN, 1.0, 1.0) == pytest.approx(1.61573, abs=1e-5)
        assert acc.clamp_sensitivity(GAUSSIAN, 1.0, 0.5) == 1.0
        assert acc.clamp_sensitivity(GAUSSIAN, 1.0, None) == pytest.approx(1.81274, abs=1e-5)
        assert acc.clamp_sensitivity(GAUSSIAN, 1.0, None, loss="matching") == 1.0
        assert acc.clamp_sensitivity(LOGISTIC, 3.0, None) == 1.0

    @pytest.mark.parametrize("clip", [0.1, 0.5, 0.79, 0.8, 0.9, 1.2, 1.5, 3.0])
    @pytest.mark.parametrize("loss", ["likelihood", "matching"])
    @pytest.mark.parametrize("link", [LOGISTIC, obmc.Gaussian(0.6)], ids=["logistic", "gaussian"])
    def test_is_the_supremum_over_a_grid(self, link, loss, clip):
        x = np.linspace(-0.9, 0.9, 20_001)
        up, down = (
            (link.score(x), link.score(-x)) if loss == "likelihood" else (link.probability(-x), link.probability(x))
        )
        measured = np.max(np.minimum(up, clip) + np.minimum(down, clip))
        claimed = acc.clamp_sensitivity(link, 0.9, clip, loss=loss)
        assert measured <= claimed * (1 + 1e-12)
        assert claimed == pytest.approx(measured, rel=1e-4)

    def test_a_root_that_is_off_by_rounding_cannot_make_it_too_small(self):
        for clip in (0.85, 1.0, 1.3):
            meeting = optimize.brentq(lambda x, clip=clip: float(GAUSSIAN.score(-x)) - clip, 0.0, 1.0, xtol=1e-14)
            plain = clip + float(GAUSSIAN.score(meeting))
            assert plain * (1 + 0.5e-9) < acc.clamp_sensitivity(GAUSSIAN, 1.0, clip) < plain * (1 + 2e-9)


class TestGaussianMechanism:
    @pytest.mark.parametrize(
        ("epsilon", "looks", "std"),
        [
            (1, 10, 11.797),
            (1, 50, 26.38),
            (2, 10, 6.305),
            (4, 10, 3.419),
            (4, 50, 7.645),
            (10, 10, 1.581),
            (10, 50, 3.535),
        ],
    )
    def test_golden_noise_per_step(self, epsilon, looks, std):
        assert acc.gaussian_multiplier(epsilon, 1e-5, looks) == pytest.approx(std, rel=2e-4)

    @pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.0, 20.0])
    @pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
    def test_calibration_is_on_the_safe_side_in_high_precision(self, epsilon, delta):
        multiplier = acc.gaussian_multiplier(epsilon, delta)
        exact = balle_wang_in_decimal(epsilon, multiplier)
        assert exact <= Decimal(delta)
        assert float(exact) == pytest.approx(delta, rel=1e-5)
        assert acc.gaussian_epsilon(delta, multiplier) == pytest.approx(epsilon, rel=1e-6)

    def test_against_dp_accounting(self):
        pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
        multiplier = acc.gaussian_multiplier(1.0, 1e-5, looks=10)
        theirs = pld.from_gaussian_mechanism(multiplier, value_discretization_interval=1e-4).self_compose(10)
        assert theirs.get_epsilon_for_delta(1e-5) == pytest.approx(1.0, abs=2e-3)
        dp_accounting = pytest.importorskip("dp_accounting")
        sigma = dp_accounting.get_sigma_gaussian(2.0, 1e-6)
        assert acc.gaussian_multiplier(2.0, 1e-6) == pytest.approx(sigma, rel=1e-5)

    def test_noise_that_is_enough_by_itself_costs_nothing(self):
        assert acc.gaussian_epsilon(0.5, 1.0) == 0.0
        # So little noise that the search has to begin below its usual bracket.
        weak = acc.gaussian_multiplier(1e6, 0.5)
        assert weak < 1e-3 and acc.gaussian_delta(1e6, weak) <= 0.5

    def test_bad_input(self):
        with pytest.raises(ValueError, match="delta must be a finite number above 0 and below 1"):
            acc.gaussian_multiplier(1.0, 0.0)
        with pytest.raises(ValueError, match="delta must be"):
            acc.gaussian_epsilon(1.0, 1.0)
        for function, first in ((acc.gaussian_epsilon, 1e-5), (acc.gaussian_delta, 1.0)):
            with pytest.raises(ValueError, match="multiplier must be a finite number above 0"):
                function(first, 0.0)
        with pytest.raises(ValueError, match="epsilon must be"):
            acc.gaussian_multiplier(-1.0, 1e-5)


class TestRidge:
    @pytest.mark.parametrize(
        ("ridge", "expected"), [(0.001, 35.7), (0.01, 11.3), (0.05, 5.04), (0.1966, 2.54), (1.0, 0.836), (3.0, 0.313)]
    )
    def test_golden(self, ridge, expected):
        kappa = float(LOGISTIC.density(1.0))
        assert acc.ridge_sensitivity(1.0, kappa, ridge) == pytest.approx(expected, rel=3e-3)

    def test_scalar_problem_never_exceeds_it(self):
        """One entry, logistic loss plus ridge: the two minimisers are at most S2 apart."""
        for ridge in (0.01, 0.1, 0.2, 1.0, 5.0):
            bound = acc.ridge_sensitivity(1.0, float(LOGISTIC.density(1.0)), ridge)

            def objective(x, z, mu=ridge):
                return np.logaddexp(0, x) - z * x + mu / 2 * x * x

            ends = [
                optimize.minimize_scalar(objective, bounds=(-1, 1), args=(z,), method="bounded").x for z in (0.0, 1.0)
            ]
            assert abs(ends[0] - ends[1]) <= bound * (1 + 1e-6)

    def test_the_gap_adds_both_solvers_distances(self):
        base = acc.ridge_sensitivity(1.0, 0.2, 0.5)
        assert acc.ridge_sensitivity(1.0, 0.2, 0.5, gap=1e-6) == pytest.approx(base + 2 * math.sqrt(2e-6 / 0.5))

    @pytest.mark.parametrize("place", range(3))
    def test_what_must_be_positive_is_named(self, place):
        given = [1.0, 1.0, 1.0]
        given[place] = 0.0
        with pytest.raises(ValueError, match=("steepness", "curvature", "ridge")[place]):
            acc.ridge_sensitivity(*given)


class TestUser:
    @pytest.mark.parametrize(
        ("epsilon", "ratings", "value"),
        [(0.1, 20, 1.60), (0.1, 65, 3.31), (0.1, 106, 4.45), (0.1, 737, 14.6), (0.5, 20, 9.86), (0.5, 65, 23.0),
         (0.5, 106, 32.7), (0.5, 737, 145), (1.0, 20, 20.0), (1.0, 65, 56.53), (1.0, 106, 83.8), (1.0, 737, 439),
         (4.0, 65, 260), (4.0, 737, 2939)],
    )  # fmt: skip
    def test_golden_randomised_response(self, epsilon, ratings, value):
        assert acc.rr_user_epsilon(epsilon, ratings, 1e-5) == pytest.approx(value, rel=4e-3)
        assert acc.rr_user_epsilon(epsilon, ratings, 1e-5) <= acc.user_epsilon(epsilon, ratings)

    def test_one_golden_value_to_its_digits(self):
        assert acc.rr_user_epsilon(1.0, 65, 1e-5) == pytest.approx(56.53, abs=0.01)

    def test_small_case_by_enumeration(self):
        epsilon, m, target = 0.7, 4, 1.1
        p = 1 / (1 + math.exp(epsilon))
        total = 0.0
        for pattern in np.ndindex(*([2] * m)):
            flips = sum(pattern)
            plus, minus = p**flips * (1 - p) ** (m - flips), p ** (m - flips) * (1 - p) ** flips
            total += max(0.0, plus - math.exp(target) * minus)
        assert acc.rr_user_delta(epsilon, m, target) == pytest.approx(total)

    def test_against_dp_accounting(self):
        pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
        p = 1 / (1 + math.e)
        theirs = pld.from_randomized_response(2 * p, 2, value_discretization_interval=1e-4).self_compose(65)
        assert theirs.get_epsilon_for_delta(1e-5) == pytest.approx(acc.rr_user_epsilon(1.0, 65, 1e-5), abs=0.02)
        laplace = pld.from_laplace_mechanism(1.0, value_discretization_interval=1e-4).self_compose(65)
        assert laplace.get_epsilon_for_delta(1e-5) == pytest.approx(acc.laplace_user_epsilon(1.0, 65, 1e-5), abs=0.02)

    @pytest.mark.parametrize(("ratings", "value"), [(20, 19.1), (65, 48.6), (106, 71.5)])
    def test_golden_laplace_bit(self, ratings, value):
        assert acc.laplace_user_epsilon(1.0, ratings, 1e-5) == pytest.approx(value, abs=0.06)
        assert acc.laplace_user_epsilon(1.0, ratings, 1e-5) <= acc.rr_user_epsilon(1.0, ratings, 1e-5)

    def test_several_releases_add_up(self):
        together = acc.users_epsilon([(0.5, 65), (0.5, 65)], 1e-5)
        exact = acc.rr_user_epsilon(0.5, 130, 1e-5)
        assert exact <= together <= exact * 1.001 + 1e-3
        mixed = acc.users_epsilon([(1.0, 20), (0.3, 20)], 1e-5)
        assert acc.rr_user_epsilon(1.0, 20, 1e-5) < mixed <= 20 * 1.3 + 1e-2

    def test_gaussian_answers_join_in(self):
        assert acc.users_epsilon([], 1e-5, 2.0) == acc.gaussian_epsilon(1e-5, 2.0)
        weak = acc.users_epsilon([(0.01, 1)], 1e-5, 2.0)
        assert acc.gaussian_epsilon(1e-5, 2.0) <= weak <= acc.gaussian_epsilon(1e-5, 2.0) + 0.012
        mixed = acc.users_epsilon([(0.5, 3)], 1e-5, 1.0)
        # Against independent integration: P(loss > eps) over three bits and one Gaussian loss.
        p = 1 / (1 + math.exp(0.5))

        def delta(eps):
            total = 0.0
            for flips in range(4):
                weight = stats.binom.pmf(flips, 3, p)
                rest = eps - (3 - 2 * flips) * 0.5
                total += weight * (special.ndtr(0.5 - rest) - math.exp(rest) * special.ndtr(-0.5 - rest))
            return total

        assert delta(mixed) <= 1e-5
        assert delta(mixed - 0.01) > 1e-5

    @pytest.mark.parametrize(("ratings", "value"), [(65, 0.117), (737, 0.034), (20, 0.225)])
    def test_golden_inverse(self, ratings, value):
        found = acc.rating_epsilon(4.0, ratings, 1e-5)
        assert found == pytest.approx(value, abs=6e-4)
        assert acc.rr_user_epsilon(found, ratings, 1e-5) <= 4.0 + 1e-9
        assert acc.rating_epsilon(4.0, ratings) == 4.0 / ratings


class TestCap:
    def observations(self, signs_seed=0):
        rng = np.random.default_rng(3)
        mask = rng.random((30, 40)) < np.linspace(0.02, 0.9, 30)[:, None]
        rows, cols = np.nonzero(mask)
        signs = np.random.default_rng(signs_seed).choice([-1, 1], len(rows))
        return obmc.Observations(rows, cols, signs, (30, 40))

    def test_keeps_at_most_the_cap_and_all_below_it(self):
        full = self.observations()
        kept = acc.cap_ratings(full, 7, rng=0)
        np.testing.assert_array_equal(acc.ratings_per_user(kept), np.minimum(acc.ratings_per_user(full), 7))
        dense = full.to_dense()
        assert np.all(dense[kept.rows, kept.cols] == kept.signs)

    def test_never_looks_at_a_sign(self):
        one, other = (acc.cap_ratings(self.observations(seed), 5, rng=1) for seed in (0, 1))
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.cols, other.cols)
        assert np.any(one.signs != other.signs)

    def test_every_rating_has_the_same_chance(self):
        full = self.observations()
        user = int(np.argmax(acc.ratings_per_user(full)))
        count = int(acc.ratings_per_user(full)[user])
        hits = np.zeros(40)
        for seed in range(400):
            kept = acc.cap_ratings(full, 5, rng=seed)
            hits[kept.cols[kept.rows == user]] += 1
        rated = hits[full.cols[full.rows == user]]
        assert stats.chisquare(rated, np.full(count, 400 * 5 / count)).pvalue > 1e-3

    def test_bad_cap(self):
        with pytest.raises(ValueError, match="cap must be a whole number of at least 1"):
            acc.cap_ratings(self.observations(), 0, rng=0)
