"""Audits: what they must find, what they must never find, and that they are repeatable."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

import obmc
from obmc.privacy import audit as audit_module

LOGISTIC, GAUSSIAN = obmc.Logistic(), obmc.Gaussian()


@pytest.fixture(scope="module")
def small():
    return obmc.datasets.synthetic((20, 20), ratio=0.3, rng=0).observations


@pytest.fixture(scope="module")
def tiny():
    return obmc.datasets.synthetic((8, 8), ratio=0.5, rng=0).observations


CSET = obmc.ConstraintSet.for_rank((20, 20))
TINY_CSET = obmc.ConstraintSet.for_rank((8, 8))


def run(mechanism, data, link=LOGISTIC, cset=CSET, **options):
    return obmc.audit(mechanism, data, link, cset, **options)


class TestTargets:
    def test_input_perturbation(self, small):
        found = run(obmc.InputPerturbation(epsilon=1.0), small)
        assert 0.75 <= found.lower_bound <= 1.05
        assert found.exact == 1.0
        assert found.ceiling == pytest.approx(6.007, abs=2e-3)
        assert found.confidence == 0.95
        assert not found.refutes

    @pytest.mark.parametrize(("epsilon", "low", "high"), [(2.0, 1.6, 2.05), (4.0, 3.2, 4.1)])
    def test_input_perturbation_at_larger_epsilons(self, small, epsilon, low, high):
        assert low < run(obmc.InputPerturbation(epsilon=epsilon), small).lower_bound < high

    @pytest.mark.parametrize("noise", ["laplace", "geometric"])
    @pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
    def test_objective_perturbation(self, small, link, noise):
        found = run(obmc.ObjectivePerturbation(epsilon=1.0, noise=noise), small, link=link)
        assert 0.6 <= found.lower_bound <= 1.05

    def test_the_displayed_formula_is_caught(self, small):
        found = run(obmc.ObjectivePerturbation(epsilon=1.0, calibration="displayed"), small)
        assert 1.5 < found.lower_bound <= 2.05
        assert found.exact == 2.0
        assert found.refutes
        assert "more than the epsilon = 1 that was asked for" in found.verdict

    def test_output_perturbation_on_the_bridge(self):
        bridge = obmc.datasets.bridge(20)
        mechanism = obmc.OutputPerturbation(epsilon=0.5, calibration="paper")
        found = run(mechanism, bridge.observations, cset=bridge.constraints, entry=bridge.entry, tol=1e-4)
        assert found.lower_bound > 5.0
        assert found.exact == pytest.approx(100.0, abs=1.0)
        assert found.entry == bridge.entry

    def test_output_perturbation_on_ordinary_data(self):
        data = obmc.datasets.synthetic((100, 100), ratio=0.15, rng=0).observations
        cset = obmc.ConstraintSet.for_rank((100, 100))
        found = run(obmc.OutputPerturbation(epsilon=1.0, calibration="paper"), data, cset=cset)
        assert found.lower_bound > 2.5
        assert found.exact > 40.0

    def test_one_entry_of_the_top_matrix(self):
        bridge = obmc.datasets.bridge(40)
        mechanism = obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="rank", rank=1)
        found = run(
            mechanism, bridge.observations, cset=bridge.constraints, entry=bridge.entry, statistic="final", tol=1e-4
        )
        assert found.lower_bound > 1.5
        assert math.isnan(found.exact)

    def test_one_raw_entry_keeps_its_guarantee(self):
        bridge = obmc.datasets.bridge(20)
        mechanism = obmc.OutputPerturbation(epsilon=1.0, calibration="paper")
        found = run(
            mechanism, bridge.observations, cset=bridge.constraints, entry=bridge.entry, statistic="final", tol=1e-4
        )
        assert 0.5 < found.lower_bound < 1.0
        assert found.exact == pytest.approx(1.0, abs=0.01)

    def test_named_entries_keep_theirs(self):
        bridge = obmc.datasets.bridge(20)
        mechanism = obmc.OutputPerturbation(epsilon=1.0, entries=(bridge.entry, (1, 11), (2, 12)))
        found = run(mechanism, bridge.observations, cset=bridge.constraints, entry=bridge.entry, tol=1e-4)
        assert 0.3 < found.lower_bound < 1.0
        assert found.exact == pytest.approx(1.0, abs=0.01)

    def test_ridge(self, small):
        found = run(obmc.OutputPerturbation(epsilon=4.0), small, entry=(int(small.rows[0]), int(small.cols[0])))
        assert 0.3 < found.lower_bound < found.exact <= 4.0
        assert found.delta == 1e-5

    def test_gradient_perturbation(self, tiny):
        for mechanism in (
            obmc.GradientPerturbation(epsilon=4.0, iterations=2, calibration="paper"),
            obmc.GradientPerturbation(epsilon=4.0, iterations=2, delta=1e-3),
        ):
            found = run(mechanism, tiny, cset=TINY_CSET, runs=240)
            assert 0.5 < found.lower_bound < 4.0
            assert math.isnan(found.exact)

    def test_the_final_matrix(self, tiny):
        found = run(obmc.InputPerturbation(epsilon=4.0), tiny, cset=TINY_CSET, runs=120, statistic="final", tol=1e-2)
        assert 0.5 < found.lower_bound < 4.0
        assert found.exact == 4.0
        mechanism = obmc.ObjectivePerturbation(epsilon=4.0, calibration="paper")
        found = run(mechanism, tiny, GAUSSIAN, TINY_CSET, runs=40, tol=1e-2)
        assert found.observed == "the completed matrix at the flipped entry"
        assert math.isnan(found.exact)

    def test_no_privacy_reaches_the_ceiling(self, small):
        found = run(obmc.Clear(), small)
        assert found.exact == math.inf
        assert found.lower_bound == found.ceiling
        assert "nothing was promised" in found.verdict


class TestProcedure:
    def test_repeatable(self, small):
        bounds = [run(obmc.InputPerturbation(epsilon=1.0), small, rng=rng).lower_bound for rng in (3, 3, 4)]
        assert bounds[0] == bounds[1] != bounds[2]

    def test_seldom_above_the_truth(self):
        """A few seeded audits of randomised response; the long run of 200 is the evidence."""
        data = obmc.Observations([0, 1], [0, 1], [1, -1], (2, 2))
        above = sum(
            run(obmc.InputPerturbation(epsilon=1.0), data, rng=seed, runs=1000).lower_bound > 1.0 for seed in range(30)
        )
        assert above <= 4

    def test_corrected_for_several(self, small):
        alone = run(obmc.InputPerturbation(epsilon=1.0), small)
        among = run(obmc.InputPerturbation(epsilon=1.0), small, comparisons=10)
        assert among.lower_bound < alone.lower_bound
        assert among.ceiling < alone.ceiling
        (counted, bounded), (same, wider) = alone.operating_point(), among.operating_point()
        assert same == counted
        assert wider[0] > bounded[0] and wider[1] < bounded[1]
        surer = run(obmc.InputPerturbation(epsilon=1.0), small, confidence=0.995)
        assert surer.lower_bound == pytest.approx(among.lower_bound)

    def test_bound_is_clopper_and_pearson(self, small):
        found = run(obmc.InputPerturbation(epsilon=1.0), small)
        low = stats.binomtest(found.true_hits, found.evaluated).proportion_ci(0.95, "exact").low
        high = stats.binomtest(found.false_hits, found.evaluated).proportion_ci(0.95, "exact").high
        assert found.lower_bound == pytest.approx(math.log(low / high))
        assert found.evaluated == 1500

    def test_the_event_is_chosen_on_the_first_quarter_only(self, small):
        found = run(obmc.InputPerturbation(epsilon=1.0), small)
        first = [scores[:500] for scores in found.scores]
        assert audit_module._choose_event((first[0], first[1]), 1500, 0.0, 0.025, is_ratio=False) == found.event

    def test_rates_without_hits_and_with_nothing_but_hits(self):
        assert audit_module._rates(0, 10, 10, 0.05) == (1.0, 0.0)
        up, low = audit_module._rates(1, 9, 10, 0.05)
        assert low == pytest.approx(1.0 - 0.95**0.1)
        assert up == pytest.approx(0.95**0.1)

    def test_delta_lowers_the_bound(self):
        hits = np.array([300]), np.array([3])
        bounds = [audit_module._bound(*hits, 1500, delta, 0.025)[0] for delta in (0.0, 0.05, 0.5)]
        assert bounds[0] > bounds[1] > bounds[2] == 0.0

    def test_the_chosen_entry_moves_the_estimate_most(self, small):
        mechanism = obmc.OutputPerturbation(epsilon=1.0, calibration="paper")
        found = run(mechanism, small, runs=40)
        place = small.index_of(found.entry)

        def moved(entry):
            pair = [obmc.complete(data, LOGISTIC, CSET, tol=1e-6).matrix for data in (small, small.flip(entry))]
            return np.linalg.norm(pair[0] - pair[1])

        candidates = np.random.default_rng(0).spawn(2)[0].choice(len(small), size=20, replace=False)
        assert place in candidates
        others = [moved((int(small.rows[k]), int(small.cols[k]))) for k in candidates]
        assert moved(found.entry) == pytest.approx(max(others))

    def test_roc(self, small):
        for mechanism in (obmc.InputPerturbation(epsilon=2.0), obmc.ObjectivePerturbation(epsilon=2.0)):
            false, true = run(mechanism, small).roc()
            assert (false[0], true[0], false[-1], true[-1]) == (0.0, 0.0, 1.0, 1.0)
            assert np.all(np.diff(false) >= 0)
            assert np.all(np.diff(true) >= 0)
            assert np.trapezoid(true, false) > 0.7
            # No point may beat the trade-off that eps-DP allows, up to sampling error.
            assert np.all(true <= np.exp(2.0) * false + 0.05)

    def test_roc_is_of_the_runs_that_judge(self, small):
        found = run(obmc.InputPerturbation(epsilon=1.0), small)
        zero, one = found.evaluation_scores()
        assert len(zero) == len(one) == found.evaluated == 1500
        np.testing.assert_array_equal(zero, found.scores[0][500:])
        false, true = found.roc()
        (counted_false, counted_true), _ = found.operating_point()
        # The chosen event, read as "world 1", or its complement, is a corner of the curve.
        corners = np.column_stack([false, true])
        event = np.array([counted_false, counted_true])
        nearest = min(np.abs(corners - event).sum(axis=1).min(), np.abs(corners - (1 - event[::-1])).sum(axis=1).min())
        assert nearest < 1e-12

    def test_the_margin_of_the_curve_covers_the_true_one(self, small):
        """The true curve of randomised response has the corner (p, 1 - p)."""
        p = 1.0 / (1.0 + math.exp(1.0))
        for seed in range(20):
            found = run(obmc.InputPerturbation(epsilon=1.0), small, rng=seed, runs=400)
            false, true = found.roc()
            assert abs(false[1] - p) <= found.roc_margin
            assert abs(true[1] - (1 - p)) <= found.roc_margin
        assert found.roc_margin == pytest.approx(math.sqrt(math.log(80.0) / 600.0))
        joint = run(obmc.InputPerturbation(epsilon=1.0), small, runs=400, comparisons=5)
        assert joint.roc_margin == pytest.approx(math.sqrt(math.log(400.0) / 600.0))

    def test_the_verdict_names_a_delta(self, small):
        with_delta = run(obmc.GradientPerturbation(epsilon=1.0, delta=1e-5), small, runs=100)
        assert "epsilon = 1, delta = 0.00001 that was asked for" in with_delta.verdict
        assert "epsilon = 1 that was asked for" in run(obmc.InputPerturbation(epsilon=1.0), small, runs=100).verdict

    def test_the_point_that_proves_the_bound(self, small):
        found = run(obmc.OutputPerturbation(epsilon=4.0), small, entry=(int(small.rows[0]), int(small.cols[0])))
        (false, true), (at_most, at_least) = found.operating_point()
        assert false < at_most < at_least < true
        assert found.lower_bound == pytest.approx(math.log((at_least - found.delta) / at_most))

    def test_callback(self, small):
        told = []
        run(obmc.InputPerturbation(epsilon=1.0), small, runs=100, callback=told.append)
        assert told[-1].iteration == 100
        with pytest.raises(InterruptedError):
            run(obmc.InputPerturbation(epsilon=1.0), small, callback=lambda progress: False)

    def test_a_mechanism_that_ignores_its_data_shows_nothing(self, small, monkeypatch):
        monkeypatch.setattr(
            obmc.InputPerturbation, "_noised_labels", lambda self, obs, link, noise: noise.flips(len(obs), 1.0) * 1.0
        )
        assert run(obmc.InputPerturbation(epsilon=1.0), small).lower_bound < 0.15


class TestPieces:
    @pytest.mark.parametrize(
        "mechanism",
        [
            obmc.ObjectivePerturbation(epsilon=1.0),
            obmc.GradientPerturbation(epsilon=4.0, iterations=2, calibration="paper"),
        ],
        ids=lambda mechanism: mechanism.label,
    )
    def test_pieces_change_no_number(self, tiny, mechanism):
        whole = run(mechanism, tiny, cset=TINY_CSET, runs=60)
        piece = audit_module.begin_audit(mechanism, tiny, LOGISTIC, TINY_CSET, runs=60)
        seen = []
        while not piece.is_done:
            piece = pickle.loads(pickle.dumps(piece)).advance(seconds=0.0)
            seen.append(piece.done)
        assert seen == list(range(1, 61))
        found = piece.result()
        assert (found.lower_bound, found.event, found.entry) == (whole.lower_bound, whole.event, whole.entry)
        np.testing.assert_array_equal(found.scores, whole.scores)

    def test_the_best_guess_is_made_for_every_run_of_either_world(self, small):
        piece = audit_module.begin_audit(obmc.InputPerturbation(epsilon=1.0), small, LOGISTIC, CSET, runs=100)
        guesses = piece.advance(seconds=0.0).guesses()
        assert guesses.shape == (2, piece.done)
        share = piece.advance().guesses().mean(axis=1)
        # The noised label is right with probability e / (1 + e) = 0.73.
        assert share[0] < 0.5 < share[1]

    def test_growing_scores_and_no_early_verdict(self, small):
        piece = audit_module.begin_audit(obmc.InputPerturbation(epsilon=1.0), small, LOGISTIC, CSET, runs=100)
        assert [len(values) for values in piece.scores] == [0, 0]
        piece.advance(seconds=0.0)
        assert [len(values) for values in piece.scores] == [1, 1]
        with pytest.raises(ValueError, match="must have done all 100 runs"):
            piece.result()


class TestSingleRating:
    """The Gaussian likelihood of one rating, where the paper's promise is known to be broken."""

    ONE = obmc.Observations([0], [0], [1], (1, 1))

    def audited(self, **options):
        cset = obmc.ConstraintSet.for_rank((1, 1), alpha=2.0)
        return run(obmc.ObjectivePerturbation(calibration="paper", **options), self.ONE, GAUSSIAN, cset, runs=100_000)

    def test_the_papers_promise_is_refuted(self):
        found = self.audited(epsilon=0.5)
        assert found.refutes
        assert 1.0 < found.lower_bound < found.at_least
        assert found.at_least == pytest.approx(2.021, abs=1e-3)


class TestRegion:
    def test_corners(self):
        false, true = audit_module.privacy_region(math.log(3.0))
        assert set(zip(false.round(12), true.round(12), strict=True)) == {(0, 0), (0.25, 0.75), (1, 1), (0.75, 0.25)}
        false, true = audit_module.privacy_region(0.0, 0.1)
        assert np.all(np.abs(true - false) <= 0.1 + 1e-12)
        assert audit_module.privacy_region(math.inf)[1].max() == 1.0

    def test_every_corner_keeps_the_inequalities(self):
        for epsilon, delta in ((0.5, 0.0), (1.0, 0.05), (4.0, 1e-5)):
            false, true = audit_module.privacy_region(epsilon, delta)
            for f, t in ((false, true), (true, false)):
                assert np.all(t <= np.exp(epsilon) * f + delta + 1e-12)
                assert np.all(1 - f <= np.exp(epsilon) * (1 - t) + delta + 1e-12)

    def test_randomised_response_reaches_the_ceiling(self):
        assert audit_module.success_ceiling(1.0) == pytest.approx(0.7310586)
        assert audit_module.success_ceiling(0.0) == 0.5
        assert audit_module.success_ceiling(math.inf) == 1.0
        assert audit_module.success_ceiling(0.0, 0.2) == pytest.approx(0.6)

    @pytest.mark.parametrize("function", [audit_module.privacy_region, audit_module.success_ceiling])
    def test_bad_input(self, function):
        with pytest.raises(ValueError, match="epsilon must be a number of at least 0"):
            function(-1.0)
        with pytest.raises(ValueError, match="delta must be"):
            function(1.0, 2.0)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"runs": 10}, "runs must be a whole number from 40"),
            ({"statistic": "all"}, "statistic must be one of"),
            ({"confidence": 1.0}, "confidence must be"),
            ({"comparisons": 0}, "comparisons must be"),
            ({"entry": (0, 50)}, r"entry\[1\] must be"),
            ({"rng": obmc.SECURE}, "rng must be a numpy Generator or a whole number"),
            ({"tol": 0.0}, "tol must be"),
        ],
    )
    def test_one_sentence(self, small, options, message):
        with pytest.raises(ValueError, match=message):
            run(obmc.InputPerturbation(epsilon=1.0), small, **options)
