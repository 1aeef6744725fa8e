"""Privacy checks: presets and their verdicts, data, and what a reader of the matrix learns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import obmc
from obmc import checks
from obmc.checks import PRESETS, Check
from obmc.errors import DataNotFoundError
from obmc.experiments.mechanisms import MechanismSpec
from obmc.offers import OFFERS

INP = MechanismSpec("InP")
# What the default audits find at their fixed seeds.
REFUTED = {"outp-bridge", "outp", "outp-projected", "objp-displayed", "objp-gaussian"}


def test_every_mechanism_has_a_preset():
    named = {preset.check.mechanism.name for preset in PRESETS.values()}
    assert {offer.name for offer in OFFERS.values()} <= named


@pytest.mark.parametrize("key", [key for key in PRESETS if key != "outp-projected"])
def test_presets_show_what_they_say(key):
    preset = PRESETS[key]
    found = checks.advance(preset.check, None, math.inf)
    assert found.is_done and found.audit is not None and found.joint is not None
    assert found.audit.refutes == (key in REFUTED)
    assert found.joint.lower_bound <= found.audit.lower_bound
    assert found.joint.comparisons == len(PRESETS)
    assert ("breaks" in preset.title or "breaks" in preset.about) == found.audit.refutes
    text = checks.verdict(found.audit, preset.check.guarantee)
    assert text.startswith("Refuted" if key in REFUTED else "No")
    if found.audit.refutes:
        assert found.audit.lower_bound <= max(
            found.audit.exact if not math.isnan(found.audit.exact) else 0.0,
            found.audit.at_least if not math.isnan(found.audit.at_least) else 0.0,
        )


def test_the_projected_matrix_is_refuted_with_fewer_runs():
    found = checks.advance(replace(PRESETS["outp-projected"].check, runs=60), None, math.inf)
    assert found.audit is not None and found.audit.refutes


def test_pieces_add_up_to_the_whole():
    check = replace(PRESETS["objp"].check, runs=80)
    found = checks.advance(check, None, 0.0)
    assert not found.is_done and found.run.done == 1
    while not found.is_done:
        found = checks.advance(check, found, 0.0)
    whole = checks.advance(check, None, math.inf)
    assert found.audit.lower_bound == whole.audit.lower_bound
    np.testing.assert_array_equal(found.audit.scores, whole.audit.scores)


def test_no_verdict_says_more_than_not_refuted():
    """What holds is never confirmed, and what is known to be false is never said to have passed."""
    check = PRESETS["inp"].check
    found = checks.advance(check, None, math.inf)
    text = checks.verdict(found.audit, check.guarantee)
    assert text.startswith("Not refuted: with 95 % confidence epsilon is at least 0.85")
    assert "proves nothing" in text and "known" not in text
    few = replace(PRESETS["objp-gaussian"].check, runs=200)
    text = checks.verdict(checks.advance(few, None, math.inf).audit, few.guarantee)
    assert text.startswith("Not refuted") and "known all the same, from theory: it is at least 2.021" in text
    few = replace(PRESETS["outp"].check, epsilon=0.1, runs=100)
    text = checks.verdict(checks.advance(few, None, math.inf).audit, few.guarantee)
    assert text.startswith("Not refuted") and "from theory: it is 1.9" in text


def test_one_entry_is_not_the_matrix():
    check = PRESETS["outp-entry"].check
    audit = checks.advance(check, None, math.inf).audit
    text = checks.verdict(audit, check.guarantee)
    assert text.startswith("Not refuted") and "known" not in text
    assert audit.exact == pytest.approx(1.0, abs=0.01)


class TestChange:
    def test_the_bridge_multiplier_is_200(self):
        change = PRESETS["outp-bridge"].check.change()
        assert change.multiplier == pytest.approx(200.0, rel=3e-3)
        assert change.whole == pytest.approx(200.0, rel=3e-3)
        assert change.largest_entry == pytest.approx(1.0, abs=1e-2)
        assert change.moved == 200
        assert change.entry == obmc.datasets.bridge(20).entry

    def test_it_is_the_exact_loss_of_the_audit(self):
        check = PRESETS["outp"].check
        change = check.change()
        audit = checks.advance(check, None, math.inf).audit
        assert change.entry == audit.entry
        assert change.whole == pytest.approx(audit.exact, rel=1e-2)
        assert change.multiplier == pytest.approx(
            obmc.output_multiplier(check.data.observations, check.link, check.data.constraints, change.entry),
            rel=1e-3,
        )

    def test_alpha_and_epsilon(self):
        change = replace(PRESETS["outp-bridge"].check, alpha=0.5, epsilon=2.0).change()
        assert change.multiplier == pytest.approx(200.0, rel=3e-3)
        assert change.whole == pytest.approx(400.0, rel=3e-3)
        assert change.matrix.max() == pytest.approx(1.0, abs=1e-2)


class TestData:
    def test_instances(self):
        assert Check(INP).data.observations.shape == (20, 20)
        assert Check(INP, instance="bridge").data.entry == (0, 10)
        single = Check(INP, instance="single", alpha=2.0).data
        assert (single.observations.shape, single.constraints.tau) == ((1, 1), 2.0)

    def test_synthetic_data_follow_their_settings(self):
        base = Check(INP).data.observations
        for other in (Check(INP, seed=1), Check(INP, noise="gaussian", sigma=0.3)):
            assert not np.array_equal(other.data.observations.to_dense(), base.to_dense())

    def test_the_sample_needs_its_data(self, empty_data_home):
        with pytest.raises(DataNotFoundError, match="ml-100k"):
            Check(INP, instance="ml-100k").begin()

    @pytest.mark.data
    def test_the_sample(self):
        obs = Check(INP, instance="ml-100k").data.observations
        assert obs.shape == (30, 30)
        assert len(obs) > 450
        assert 0.2 < obs.positive_share < 0.9
        train = obmc.datasets.movielens_100k().train
        busiest = int(np.argmax(np.bincount(train.rows)))
        seen = int(np.argmax(np.bincount(train.cols)))
        assert len(obs) <= 900 and train.shape == (943, 1682)
        # The busiest user is in the sample, with the same signs.
        users = np.sort(np.argsort(-np.bincount(train.rows, minlength=943), kind="stable")[:30])
        films = np.sort(np.argsort(-np.bincount(train.cols, minlength=1682), kind="stable")[:30])
        assert busiest in users and seen in films
        whole = train.to_dense()[np.ix_(users, films)]
        np.testing.assert_array_equal(obs.to_dense(), whole)


def test_fewer_runs_where_each_is_slow():
    spec = MechanismSpec
    assert Check(INP).usual_runs == 2_000
    assert Check(spec("GraP", "rigorous")).usual_runs == 2_000
    assert Check(spec("GraP", "paper")).usual_runs == 200
    assert Check(spec("OutP", "paper", (("postprocess", "project"),))).usual_runs == 200
    assert Check(INP, statistic="final").usual_runs == 200
    assert Check(spec("OutP", "paper"), statistic="final").usual_runs == 2_000
    gaussian = Check(spec("ObjP", "paper"), noise="gaussian")
    assert (gaussian.usual_runs, replace(gaussian, instance="single").usual_runs) == (200, 100_000)


def test_a_preset_is_found_again():
    assert checks.find_attack(PRESETS["grap"].check) is PRESETS["grap"]
    assert checks.find_attack(replace(PRESETS["grap"].check, seed=1)) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instance": "everything"}, "instance must be one of"),
        ({"statistic": "all"}, "statistic must be one of"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"alpha": 99.0}, "alpha must be"),
        ({"runs": 3}, "runs must be a whole number from 40"),
        ({"noise": "pink"}, "noise model must be one of"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        Check(INP, **options)


def test_an_entry_that_is_not_observed():
    dense = Check(INP).data.observations.to_dense()
    row, col = (int(k) for k in np.argwhere(dense == 0)[0])
    with pytest.raises(ValueError, match="observed"):
        Check(INP, entry=(row, col)).begin()
