"""The noise of every mechanism: its law, its scale, its place and its direction."""

import math

import numpy as np
import pytest
from mechanism_doubles import ChosenFlips, GivenLabels, GivenTilt
from scipy import stats

import obmc
from obmc.errors import ReleaseFailed
from obmc.mechanisms.base import SolverOptions
from obmc.mechanisms.gradient import BarzilaiBorwein, FixedStep, GradientOracle
from obmc.privacy.noise import noise_from

LOGISTIC, GAUSSIAN = obmc.Logistic(), obmc.Gaussian()
CSET = obmc.ConstraintSet(tau=60.0, alpha=1.0)


@pytest.fixture(scope="module")
def wide():
    """Many entries, so that one draw shows the law."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], 20_000)
    rows, cols = np.divmod(np.arange(20_000), 200)
    return obmc.Observations(rows, cols, signs, (100, 200))


@pytest.fixture(scope="module")
def small():
    return obmc.datasets.synthetic((12, 12), ratio=0.5, rng=1).observations


def p_laplace(values, scale):
    return stats.kstest(values, "laplace", args=(0.0, scale)).pvalue


class TestInput:
    def test_signs_are_reversed_with_probability_p(self, wide):
        mechanism = obmc.InputPerturbation(epsilon=1.5)
        view = mechanism.noised(wide, LOGISTIC, CSET, rng=0)
        for sign in (0.0, 1.0):
            changed = view.labels[wide.bits == sign] != sign
            assert stats.binomtest(int(changed.sum()), len(changed), mechanism.flip).pvalue > 1e-3

    def test_the_labels_are_unbiased(self):
        mechanism = obmc.InputPerturbation(epsilon=0.8)
        kept, reversed_ = mechanism.unbiased_labels(np.array([1.0, 0.0]))
        p = mechanism.flip
        assert (1 - p) * kept + p * reversed_ == pytest.approx(1.0)
        variance = (1 - p) * (kept - 1) ** 2 + p * (reversed_ - 1) ** 2
        assert variance == pytest.approx(mechanism.noise_variance)
        assert mechanism.noise_variance == pytest.approx(math.exp(0.8) / (math.exp(0.8) - 1) ** 2)

    def test_estimators(self):
        for calibration, expected in [("paper", True), ("rigorous", False)]:
            mechanism = obmc.InputPerturbation(epsilon=1.0, calibration=calibration)
            assert mechanism.uses_likelihood is expected
        assert obmc.InputPerturbation(epsilon=1.0, estimator="likelihood").uses_likelihood
        assert not obmc.InputPerturbation(epsilon=1.0, calibration="paper", estimator="unbiased").uses_likelihood

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    def test_a_certificate_only_where_the_loss_is_convex(self, small, link):
        threshold = obmc.privacy.accounting.flipped_convexity_threshold(link, 1.0)
        for epsilon, certified in [(threshold * 1.01, True), (threshold * 0.99, False)]:
            done = obmc.InputPerturbation(epsilon=epsilon, calibration="paper").release(small, link, CSET).completion
            assert math.isfinite(done.gap) is certified
            assert math.isfinite(obmc.InputPerturbation(epsilon=epsilon).release(small, link, CSET).completion.gap)


class TestWithoutFacts:
    def test_a_noised_matrix_has_no_spectrum_of_the_clean_one(self, small):
        for options, solver in (({"calibration": "paper"}, "factored"), ({"entries": ((0, 1), (2, 3))}, "auto")):
            mechanism = obmc.OutputPerturbation(epsilon=1.0, **options)
            done = mechanism.release(small, LOGISTIC, CSET, solver=solver).completion
            assert done.estimate.singular_values().shape == (0,)

    def test_a_delta_is_spent_with_a_ridge_alone(self):
        assert obmc.OutputPerturbation(epsilon=1.0, calibration="paper").used_delta == 0.0
        assert obmc.OutputPerturbation(epsilon=1.0, delta=1e-7).used_delta == 1e-7


class TestSeeds:
    @pytest.mark.parametrize("mechanism", [obmc.InputPerturbation(epsilon=1.0), obmc.GradientPerturbation(epsilon=1.0)])
    def test_the_seed_is_zero_unless_another_is_named(self, small, mechanism):
        default = mechanism.release(small, LOGISTIC, CSET).completion.matrix
        np.testing.assert_array_equal(default, mechanism.release(small, LOGISTIC, CSET, rng=0).completion.matrix)
        assert not np.array_equal(default, mechanism.release(small, LOGISTIC, CSET, rng=1).completion.matrix)

    def test_nor_for_labels(self, small):
        mechanism = obmc.ObjectivePerturbation(epsilon=1.0)
        default = mechanism.noised(small, LOGISTIC, CSET).labels
        np.testing.assert_array_equal(default, mechanism.noised(small, LOGISTIC, CSET, rng=0).labels)
        assert not np.array_equal(default, mechanism.noised(small, LOGISTIC, CSET, rng=1).labels)


class TestObjective:
    @pytest.mark.parametrize(
        ("link", "calibration", "scale"),
        [
            (LOGISTIC, "paper", 0.5),
            (LOGISTIC, "rigorous", 0.5),
            (GAUSSIAN, "rigorous", 0.5),
            (LOGISTIC, "displayed", 0.25),
        ],
    )
    def test_labels(self, wide, link, calibration, scale):
        mechanism = obmc.ObjectivePerturbation(epsilon=2.0, calibration=calibration)
        noise = mechanism.noised(wide, link, CSET, rng=0).labels - wide.bits
        assert p_laplace(noise, scale) > 1e-3
        assert mechanism.scale(link, CSET) == scale
        assert mechanism.noise_variance(link, CSET) == pytest.approx(2 * scale**2)

    def test_geometric_labels(self, wide):
        mechanism = obmc.ObjectivePerturbation(epsilon=1.0, noise="geometric")
        noise = mechanism.noised(wide, LOGISTIC, CSET, rng=0).labels - wide.bits
        assert np.all(noise == np.round(noise))
        q = math.exp(-1.0)
        for value in (-1, 0, 1, 2):
            share = (1 - q) / (1 + q) * q ** abs(value)
            assert stats.binomtest(int(np.sum(noise == value)), len(noise), share).pvalue > 1e-3
        assert math.sqrt(mechanism.noise_variance(LOGISTIC, CSET)) == pytest.approx(1.357, abs=1e-3)
        variance = obmc.ObjectivePerturbation(epsilon=3.0, noise="geometric").noise_variance(LOGISTIC, CSET)
        assert variance == pytest.approx(2 * math.exp(-3.0) / (1 - math.exp(-3.0)) ** 2)

    @pytest.mark.parametrize(
        ("calibration", "epsilon", "scale"),
        [("paper", 0.5, 10.06), ("paper", 1.0, 5.029), ("paper", 4.0, 1.257), ("displayed", 1.0, 5.029 / 2),
         ("exact_minimiser", 1.0, 7.93), ("exact_minimiser", 2.0, 1.475), ("exact_minimiser", 4.0, 0.5615),
         ("exact_minimiser", 10.0, 0.1964), ("rigorous", 1.0, 1.0)],
    )  # fmt: skip
    def test_golden_scales_of_the_gaussian_link(self, calibration, epsilon, scale):
        mechanism = obmc.ObjectivePerturbation(epsilon=epsilon, calibration=calibration)
        assert mechanism.scale(GAUSSIAN, CSET) == pytest.approx(scale, rel=1e-3)

    def test_the_likelihood_gets_noise_of_that_scale(self, small, monkeypatch):
        from obmc.mechanisms import objective

        seen = []
        monkeypatch.setattr(
            objective, "minimise", lambda loss, *args, **kw: seen.append(loss) or obmc.complete(*args_of)
        )
        args_of = (small, GAUSSIAN, CSET)
        mechanism = obmc.ObjectivePerturbation(epsilon=1.0, calibration="paper")
        for seed in range(60):
            mechanism.release(small, GAUSSIAN, CSET, rng=seed)
        tilts = np.concatenate([loss.tilt for loss in seen])
        assert p_laplace(tilts, mechanism.scale(GAUSSIAN, CSET)) > 1e-3

    def test_direction_of_the_label(self, small):
        """A label far above 1 pulls its entry to the upper bound, far below 0 to the lower one."""
        mechanism = obmc.ObjectivePerturbation(epsilon=1.0)
        for link in (LOGISTIC, GAUSSIAN):
            labels = np.full(len(small), 0.5)
            labels[0], labels[1] = 9.0, -9.0
            done = mechanism._release(small, link, CSET, GivenLabels(labels), SolverOptions()).completion
            values = done.predict(small.rows[:2], small.cols[:2])
            assert values[0] > 0.5
            assert values[1] < -0.5

    def test_direction_of_the_linear_term(self, small):
        """f(X) + sum H X: a large positive H pushes its entry down."""
        tilt = np.zeros(len(small))
        tilt[0], tilt[1] = 9.0, -9.0
        for calibration in ("paper", "exact_minimiser", "displayed"):
            mechanism = obmc.ObjectivePerturbation(epsilon=3.0, calibration=calibration)
            done = mechanism._release(small, GAUSSIAN, CSET, GivenTilt(tilt), SolverOptions()).completion
            values = done.predict(small.rows[:2], small.cols[:2])
            assert values[0] < -0.5
            assert values[1] > 0.5

    def test_exact_minimiser_of_the_scalar_problem(self):
        """One entry: the stationary point of l(y, x) + H x, found by hand."""
        data = obmc.Observations([0], [0], [1], (1, 1))
        mechanism = obmc.ObjectivePerturbation(epsilon=3.0, calibration="exact_minimiser")
        done = mechanism._release(
            data, GAUSSIAN, obmc.ConstraintSet(9.0, 1.0), GivenTilt([0.7]), SolverOptions(tol=1e-9)
        )
        x = float(done.completion.matrix[0, 0])
        assert float(GAUSSIAN.score(x)) == pytest.approx(0.7, abs=1e-4)


class TestDirection:
    """With hardly any noise the estimate is that of the true signs; with all signs reversed, its opposite."""

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    @pytest.mark.parametrize(
        "mechanism",
        [
            obmc.InputPerturbation(epsilon=30.0),
            obmc.InputPerturbation(epsilon=30.0, calibration="paper"),
            obmc.ObjectivePerturbation(epsilon=1e4),
            obmc.ObjectivePerturbation(epsilon=1e4, calibration="paper"),
            obmc.ObjectivePerturbation(epsilon=1e4, calibration="exact_minimiser"),
            obmc.ObjectivePerturbation(epsilon=1e4, calibration="displayed"),
            obmc.ObjectivePerturbation(epsilon=30.0, noise="geometric"),
            obmc.OutputPerturbation(epsilon=1e5, calibration="paper"),
        ],
        ids=lambda m: f"{m.label}-{m.calibration}",
    )
    def test_little_noise_gives_the_estimate_without(self, small, mechanism, link):
        done = mechanism.release(small, link, CSET, rng=0, tol=1e-6).completion
        clear = obmc.complete(small, link, CSET, tol=1e-6).matrix
        if link is GAUSSIAN and mechanism.calibration == "rigorous":
            # The matching loss has another minimiser than the likelihood.
            assert np.corrcoef(done.matrix.ravel(), clear.ravel())[0, 1] > 0.95
        else:
            np.testing.assert_allclose(done.matrix, clear, atol=0.02)

    @pytest.mark.parametrize("options", [{}, {"calibration": "paper"}, {"delta": 0.5}], ids=str)
    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    def test_gradient_descent_descends(self, small, options, link):
        mechanism = obmc.GradientPerturbation(epsilon=1e4, iterations=60, **options)
        done = mechanism.release(small, link, CSET, rng=0).completion
        agreement = np.mean(np.sign(done.predict(small.rows, small.cols)) == small.signs)
        assert agreement > 0.85

    def test_randomised_response_of_opposite_signs_is_opposite(self, small):
        """Symmetric links: reversing every noised sign reverses the estimate."""
        mechanism = obmc.InputPerturbation(epsilon=1.0)
        one = mechanism._release(small, LOGISTIC, CSET, ChosenFlips(small.bits, 3), SolverOptions(tol=1e-7))
        noise = ChosenFlips(small.bits, 3)
        noise._wanted = ~noise._wanted
        other = mechanism._release(small, LOGISTIC, CSET, noise, SolverOptions(tol=1e-7))
        np.testing.assert_allclose(one.completion.matrix, -other.completion.matrix, atol=1e-3)


class TestGradient:
    @pytest.mark.parametrize(
        ("link", "options", "std"),
        [
            (LOGISTIC, {}, math.sqrt(2) * 10),
            (LOGISTIC, {"calibration": "paper"}, math.sqrt(2) * 10),
            (LOGISTIC, {"clip": 0.2}, math.sqrt(2) * 10 * 0.4),
            (GAUSSIAN, {}, math.sqrt(2) * 10),
            (GAUSSIAN, {"calibration": "paper"}, math.sqrt(2) * 10),
            (GAUSSIAN, {"calibration": "paper", "clip": 1.0}, math.sqrt(2) * 10 * 1.61573),
            (GAUSSIAN, {"calibration": "paper", "clip": None}, math.sqrt(2) * 10 * 1.81274),
            (GAUSSIAN, {"delta": 1e-5}, 11.797),
            (GAUSSIAN, {"delta": 1e-5, "iterations": 50}, 26.38),
            (GAUSSIAN, {"delta": 1e-5, "calibration": "paper", "clip": None}, 11.797 * 1.81274),
        ],
        ids=str,
    )
    def test_answers(self, wide, link, options, std):
        mechanism = obmc.GradientPerturbation(epsilon=1.0, **options)
        assert mechanism.noise_std(link, CSET) == pytest.approx(std, rel=1e-3)
        rng = np.random.default_rng(1)
        x = rng.uniform(-1.0, 1.0, len(wide))
        answer = GradientOracle(wide, mechanism, link, 1.0, noise_from(2)).ask(x)
        exact = self.gradient(x, wide.signs, link, mechanism)
        noise = answer - exact
        law = "norm" if mechanism.delta else "laplace"
        scale = std if mechanism.delta else std / math.sqrt(2)
        assert stats.kstest(noise / scale, law).pvalue > 1e-3

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    @pytest.mark.parametrize("options", [{}, {"calibration": "paper"}, {"clip": 0.2}], ids=str)
    def test_before_the_noise_an_answer_is_the_clamped_gradient(self, wide, link, options):
        mechanism = obmc.GradientPerturbation(epsilon=1.0, **options)
        x = np.random.default_rng(3).uniform(-1.0, 1.0, len(wide))
        found = mechanism.clamped_gradient(x, wide.signs, link)
        assert found == pytest.approx(self.gradient(x, wide.signs, link, mechanism), abs=1e-7)

    def gradient(self, x, signs, link, mechanism):
        """By finite differences of the loss, clamped: independent of the oracle's own formula."""
        step = 1e-6
        if link is GAUSSIAN and mechanism.calibration == "rigorous":

            def loss(values):
                return link.potential(values) - (1 + signs) / 2 * values
        else:

            def loss(values):
                return -link.log_probability(signs * values)

        slope = (loss(x + step) - loss(x - step)) / (2 * step)
        clip = mechanism.clip
        dropped = mechanism.calibration == "rigorous" and clip is not None and clip >= 0.5
        return slope if clip is None or dropped else np.clip(slope, -clip, clip)

    def test_every_answer_has_noise_of_its_own(self, wide):
        oracle = GradientOracle(wide, obmc.GradientPerturbation(epsilon=1.0), LOGISTIC, 1.0, noise_from(2))
        first, second = (oracle.ask(np.zeros(len(wide))) for _ in range(2))
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.03

    def test_the_share_of_one_look_never_exceeds_its_part(self):
        """K times the epsilon of one look, in exact arithmetic, is at most epsilon."""
        from fractions import Fraction

        class Shares:
            def laplace_bits(self, values, epsilon, *, geometric):
                self.seen = epsilon
                return values

        for epsilon in (0.1, 0.3, 1.0, 2.7, 10.0):
            for looks in (1, 3, 7, 10, 49):
                noise = Shares()
                obmc.GradientPerturbation(epsilon=epsilon, iterations=looks).noised(np.zeros(1), 1.0, 0.0, noise)
                assert Fraction(noise.seen) * looks <= Fraction(epsilon)
                assert float(Fraction(noise.seen) * looks) == pytest.approx(epsilon)

    def test_steps(self):
        assert FixedStep(4.0).length(np.zeros(2), np.ones(2)) == 4.0
        lengths = BarzilaiBorwein(0.25)
        assert lengths.length(np.zeros(2), np.array([1.0, 1.0])) == 4.0
        assert lengths.length(np.array([1.0, 0.0]), np.array([1.5, 1.0])) == pytest.approx(2.0)
        # Negative curvature takes the longest step, a huge change the shortest: the bounds are fixed beforehand.
        assert lengths.length(np.array([2.0, 0.0]), np.array([0.0, 1.0])) == 4.0
        assert lengths.length(np.array([3.0, 0.0]), np.array([1e6, 1.0])) == pytest.approx(0.04)

    def test_the_fixed_step_is_public_and_at_most_one_over_the_curvature(self):
        assert obmc.GradientPerturbation(epsilon=1e6).step_length(LOGISTIC, CSET) == 4.0
        assert obmc.GradientPerturbation(epsilon=1.0).step_length(LOGISTIC, CSET) == pytest.approx(1 / 14.142, rel=1e-3)
        ball = obmc.ConstraintSet(tau=3.0, alpha=None)
        assert obmc.GradientPerturbation(epsilon=1.0).step_length(GAUSSIAN, ball) == pytest.approx(
            math.sqrt(2 * math.pi)
        )

    def test_step_lengths_are_in_units_of_the_usual_ones(self, small):
        usual = obmc.GradientPerturbation(epsilon=1.0).step_length(GAUSSIAN, CSET)
        assert obmc.GradientPerturbation(epsilon=1.0, step=0.5).step_length(GAUSSIAN, CSET) == 0.5 * usual
        # With one step from zero and nothing to project, the estimate is the step itself.
        wide = obmc.ConstraintSet(tau=1e6, alpha=1e4)
        made = [
            obmc.GradientPerturbation(epsilon=1.0, iterations=1, step=step, calibration="paper")
            .release(small, LOGISTIC, wide, rng=0)
            .completion.matrix
            for step in (1.0, 0.25)
        ]
        np.testing.assert_allclose(made[1], 0.25 * made[0], rtol=1e-12)
        with pytest.raises(ValueError, match="step must be a finite number above 0"):
            obmc.GradientPerturbation(epsilon=1.0, step=0.0)

    def test_both_calibrations_stay_within_the_constraints(self, small):
        """A mean of iterates and a last one: both are within the constraints."""
        cset = obmc.ConstraintSet.for_rank(small.shape)
        for options in ({}, {"calibration": "paper"}):
            matrix = obmc.GradientPerturbation(epsilon=1.0, **options).release(small, LOGISTIC, cset).completion.matrix
            assert np.abs(matrix).max() <= cset.alpha * (1 + 1e-9)
            assert np.linalg.norm(matrix, "nuc") <= cset.tau * (1 + 1e-9)


class TestOutput:
    def test_every_entry_has_laplace_noise(self, wide):
        cset = obmc.ConstraintSet(tau=60.0, alpha=0.7)
        mechanism = obmc.OutputPerturbation(epsilon=2.0, calibration="paper")
        clean = mechanism.solution(wide, LOGISTIC, cset, SolverOptions()).matrix
        noise = mechanism.release(wide, LOGISTIC, cset, rng=0).completion.matrix - clean
        assert p_laplace(noise.ravel(), 2 * 0.7 / 2.0) > 1e-3
        assert mechanism.noise_std(LOGISTIC, cset, len(wide)) == pytest.approx(math.sqrt(2) * 0.7)

    def test_clipped_before_the_noise(self, small):
        mechanism = obmc.OutputPerturbation(epsilon=2.0, calibration="paper")
        far = np.full(small.shape, 5.0)
        near = np.full(small.shape, 1.0)
        made = [mechanism.noised(m, LOGISTIC, CSET, len(small), noise_from(0)) for m in (far, near)]
        np.testing.assert_array_equal(*made)

    def test_named_entries(self, small):
        entries = tuple((i, j) for i in range(12) for j in range(12))
        mechanism = obmc.OutputPerturbation(epsilon=2.0, entries=entries)
        clean = mechanism.solution(small, LOGISTIC, CSET, SolverOptions()).matrix
        noise = [
            (mechanism.release(small, LOGISTIC, CSET, rng=seed).completion.matrix - clean).ravel() for seed in range(20)
        ]
        assert p_laplace(np.concatenate(noise), 2 * 144 / 2.0) > 1e-3

    def test_only_named_entries_are_told(self, small):
        done = obmc.OutputPerturbation(epsilon=2.0, entries=((3, 4), (0, 1))).release(small, LOGISTIC, CSET).completion
        assert np.isnan(done.matrix).sum() == 142
        told = done.predict([3, 0, 5], [4, 1, 5])
        assert np.isfinite(told[:2]).all()
        assert math.isnan(told[2])
        assert done.matrix[3, 4] == told[0]
        np.testing.assert_array_equal(done.top_n(3, 1), [4])

    def test_ridge(self, wide):
        mechanism = obmc.OutputPerturbation(epsilon=4.0, ridge=1.0)
        sensitivity = mechanism.l2_sensitivity(LOGISTIC, CSET, len(wide))
        kappa = float(LOGISTIC.density(1.0))
        gap = 1e-8 * len(wide) * math.log(2)
        assert sensitivity == pytest.approx(1 / (kappa + 1.0) + 2 * math.sqrt(2 * gap))
        clean = mechanism.solution(wide, LOGISTIC, CSET, SolverOptions()).matrix
        noise = mechanism.release(wide, LOGISTIC, CSET, rng=0).completion.matrix - clean
        std = mechanism.noise_std(LOGISTIC, CSET, len(wide))
        assert stats.kstest(noise.ravel() / std, "norm").pvalue > 1e-3
        assert std == pytest.approx(sensitivity * 1.08116, rel=1e-4)

    def test_golden_price_of_the_ridge(self):
        """At 100 x 100, 15 %, eps = 4, mu = 1: 0.90 per entry, of which the solver's gap is about one per cent."""
        std = obmc.OutputPerturbation(epsilon=4.0, ridge=1.0).noise_std(LOGISTIC, CSET, 1500)
        assert std == pytest.approx(0.90, abs=0.02)
        assert std / (0.8357 * 1.08116) == pytest.approx(1.01, abs=0.005)

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    @pytest.mark.parametrize("ridge", [0.05, 1.0])
    def test_a_flip_moves_the_ridge_solution_by_at_most_its_sensitivity(self, small, link, ridge):
        mechanism = obmc.OutputPerturbation(epsilon=1.0, ridge=ridge)
        options = SolverOptions()
        base = mechanism.solution(small, link, CSET, options).matrix
        bound = mechanism.l2_sensitivity(link, CSET, len(small))
        moved = []
        for k in range(0, len(small), 5):
            entry = (int(small.rows[k]), int(small.cols[k]))
            moved.append(np.linalg.norm(mechanism.solution(small.flip(entry), link, CSET, options).matrix - base))
        assert 0.3 * bound < max(moved) <= bound

    def test_what_is_too_large_to_be_held_is_told_what_to_do(self):
        wide = obmc.Observations([0], [0], [1], (6_000, 6_000))
        with pytest.raises(ValueError, match=r"^shape must have at most 25,000,000 entries .* name the entries"):
            obmc.OutputPerturbation(epsilon=1.0).release(wide, LOGISTIC, obmc.ConstraintSet.for_rank(wide.shape))

    def test_the_ridge_is_one_unless_another_is_asked_for(self):
        assert obmc.OutputPerturbation(epsilon=1.0).ridge_weight == 1.0
        assert obmc.OutputPerturbation(epsilon=1.0, ridge=0.2).ridge_weight == 0.2
        assert obmc.OutputPerturbation(epsilon=1.0, calibration="paper").ridge_weight == 0.0

    @pytest.mark.parametrize("entries", [((0.7, 1),), ("12",), ((-1, 0),), ((True, 0),)])
    def test_entries_are_whole_numbers_and_never_rounded(self, entries):
        with pytest.raises(ValueError, match=r"^entries .*whole number"):
            obmc.OutputPerturbation(epsilon=1.0, entries=entries)

    def test_an_entry_outside_the_matrix_is_named_by_its_side(self):
        tall = obmc.datasets.synthetic((9, 4), ratio=0.8, rng=0).observations
        mechanism = obmc.OutputPerturbation(epsilon=1.0, entries=((8, 3),))
        assert math.isfinite(mechanism.release(tall, LOGISTIC, CSET).completion.predict([8], [3])[0])
        for entry, side in (((9, 0), "row"), ((0, 4), "column")):
            mechanism = obmc.OutputPerturbation(epsilon=1.0, entries=(entry,))
            with pytest.raises(ValueError, match=rf"^entries \({side}\) must be a whole number from 0 to"):
                mechanism.release(tall, LOGISTIC, CSET)

    def test_a_gap_that_is_not_reached_releases_nothing(self, small):
        mechanism = obmc.OutputPerturbation(epsilon=1.0)
        # When the solver is done depends on the signs: a limit from outside would ask them, and a stop counts as asked.
        with pytest.raises(ValueError, match="max_iter must be None for the ridge variant"):
            mechanism.release(small, LOGISTIC, CSET, max_iter=1000)
        book = obmc.Ledger("small", [len(small)])
        statement = mechanism.guarantee(LOGISTIC, CSET, small.shape)

        def stopped():
            return mechanism.release(small, LOGISTIC, CSET, callback=lambda progress: progress.iteration < 2)

        with pytest.raises(ReleaseFailed, match="did not reach the relative gap of 1e-08"):
            book.spend(statement, stopped)
        assert book.epsilon == 1.0 and book.delta == statement.delta > 0.0

    def test_postprocessing(self, small):
        cset = obmc.ConstraintSet.for_rank(small.shape)
        project = obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="project")
        matrix = project.release(small, LOGISTIC, cset, rng=0).completion.matrix
        assert np.abs(matrix).max() <= 1 + 1e-9
        assert np.linalg.norm(matrix, "nuc") <= cset.tau * (1 + 1e-4)
        low = obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="rank", rank=2)
        matrix = low.release(small, LOGISTIC, cset, rng=0).completion.matrix
        assert np.linalg.matrix_rank(matrix, tol=1e-8) == 2
        raw = obmc.OutputPerturbation(epsilon=1.0, calibration="paper").release(small, LOGISTIC, cset, rng=0).completion
        left, values, right = np.linalg.svd(raw.matrix)
        np.testing.assert_allclose(matrix, (left[:, :2] * values[:2]) @ right[:2], atol=1e-9)

    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    def test_multiplier_of_the_bridge(self, link):
        bridge = obmc.datasets.bridge(10)
        found = obmc.output_multiplier(bridge.observations, link, bridge.constraints, bridge.entry, tol=1e-6)
        assert found == pytest.approx(50.0, abs=0.1)

    def test_the_multiplier_is_the_change_in_units_of_the_box(self, small):
        cset, entry = obmc.ConstraintSet(tau=15.0, alpha=0.5), (int(small.rows[0]), int(small.cols[0]))
        change = obmc.mechanisms.output.output_change(small, LOGISTIC, cset, entry)
        assert obmc.output_multiplier(small, LOGISTIC, cset, entry) == pytest.approx(float(change.sum()))


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(0, 9_000, 4_000), rng.integers(0, 9_000, 4_000)
    keep = np.unique(rows * 9_000 + cols, return_index=True)[1]
    return obmc.Observations(rows[keep], cols[keep], rng.choice([-1, 1], len(keep)), (9_000, 9_000))


class TestHeldAsFactors:
    """Large matrices: no mechanism forms one densely."""

    @pytest.mark.parametrize(
        "mechanism",
        [
            obmc.InputPerturbation(epsilon=2.0),
            obmc.ObjectivePerturbation(epsilon=2.0),
            obmc.GradientPerturbation(epsilon=2.0, iterations=2),
            obmc.GradientPerturbation(epsilon=2.0, iterations=2, calibration="paper"),
            obmc.OutputPerturbation(epsilon=2.0, calibration="paper"),
            obmc.OutputPerturbation(epsilon=2.0, entries=((1, 8_999), (3, 4))),
        ],
        ids=lambda m: f"{m.label}-{m.calibration}",
    )
    def test_entries_on_demand(self, large, mechanism, monkeypatch):
        cset = obmc.ConstraintSet(tau=40.0, alpha=1.0)
        release = mechanism.release(large, LOGISTIC, cset, rng=0, max_iter=3)
        monkeypatch.setattr(type(release.completion.estimate), "dense", lambda self: pytest.fail("formed densely"))
        first = release.completion.predict([1, 3, 5], [8_999, 4, 6])
        np.testing.assert_array_equal(first[::-1], release.completion.predict([5, 3, 1], [6, 4, 8_999]))
        assert np.isfinite(first[:2]).all()
        named = mechanism.label == "OutP" and mechanism.entries is not None
        assert len(release.completion.top_n(1, 3)) == (1 if named else 3)

    def test_noise_on_entries_of_a_factored_matrix(self, wide):
        cset = obmc.ConstraintSet(tau=60.0, alpha=0.7)
        mechanism = obmc.OutputPerturbation(epsilon=2.0, calibration="paper")
        clean = mechanism.solution(wide, LOGISTIC, cset, SolverOptions(solver="factored"))
        done = mechanism.release(wide, LOGISTIC, cset, rng=0, solver="factored").completion
        noise = done.matrix - clean.matrix
        assert p_laplace(noise.ravel(), 0.7) > 1e-3
        np.testing.assert_allclose(done.predict(wide.rows, wide.cols), done.matrix[wide.rows, wide.cols])
        np.testing.assert_allclose(np.vstack(list(done.estimate.blocks)), done.matrix)
        assert math.isnan(done.gap) and len(done.singular_values) == 0

    def test_dense_and_factored_steps_agree_without_a_box(self, small):
        """The same noisy answers, the same steps: the factored iterate is the dense one."""
        cset = obmc.ConstraintSet(tau=6.0, alpha=None)
        for options in ({}, {"calibration": "paper"}):
            mechanism = obmc.GradientPerturbation(epsilon=40.0, iterations=4, **options)
            made = [
                mechanism.release(small, LOGISTIC, cset, rng=0, solver=solver).completion.matrix
                for solver in ("admm", "factored")
            ]
            np.testing.assert_allclose(made[0], made[1], atol=1e-6)

    def test_what_needs_a_dense_matrix_is_refused(self, large):
        cset = obmc.ConstraintSet(tau=40.0, alpha=1.0)
        for mechanism, solver, message in [
            (obmc.OutputPerturbation(epsilon=1.0), "auto", "shape must have at most 25,000,000 entries"),
            (obmc.OutputPerturbation(epsilon=1.0), "factored", "solver must be one of"),
            (
                obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="project"),
                "auto",
                "postprocess must",
            ),
            (obmc.GradientPerturbation(epsilon=1.0), "admm", "solver must be 'factored' or 'auto'"),
        ]:
            with pytest.raises(ValueError, match=message):
                mechanism.release(large, LOGISTIC, cset, solver=solver)
