"""The game: fair coins, releases that follow them, and a score against the ceiling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from obmc import game
from obmc.checks import PRESETS, Check
from obmc.experiments.mechanisms import MechanismSpec
from obmc.game import Score


def test_the_coin_is_fair_and_fresh():
    """Coins come from the operating system and cannot be seeded: one false alarm in a million is accepted."""
    check = Check(MechanismSpec("InP"), instance="single")
    heads = sum(game.deal(check).sign > 0 for _ in range(400))
    assert stats.binomtest(heads, 400).pvalue > 1e-6


def test_without_noise_the_release_is_the_coin():
    check = Check(MechanismSpec("InP"), epsilon=20.0)
    deals = [game.deal(check) for _ in range(40)]
    assert all(found.label == (found.sign + 1) / 2 for found in deals)
    assert {found.sign for found in deals} == {-1, 1}
    bridge = replace(PRESETS["outp-bridge"].check, epsilon=20.0)
    for _ in range(4):
        found = game.deal(bridge)
        assert found.matrix.shape == (20, 20)
        assert np.sign(found.matrix[:10, 10:].mean()) == found.sign
        assert found.label is None


@pytest.mark.parametrize("key", ["objp", "grap", "outp-rigorous", "objp-gaussian", "inp+"])
def test_every_mechanism_can_be_dealt(key):
    check = PRESETS[key].check
    found = game.deal(check)
    assert (found.label is None) != (found.matrix is None)
    assert check.data.observations.index_of(found.entry) >= 0


def test_the_best_guesser_reaches_the_ceiling_of_randomised_response():
    rounds = 2_000
    won = game.play(Check(MechanismSpec("InP")), rounds)
    assert stats.binomtest(won, rounds, Score(0, 1, 1.0).ceiling).pvalue > 1e-6


@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_guesser_knows_which_way_a_label_points(sign):
    check = Check(MechanismSpec("ObjP"), epsilon=20.0)
    obs = check.data.observations
    place = int(np.flatnonzero(obs.signs == sign)[0])
    entry = (int(obs.rows[place]), int(obs.cols[place]))
    assert game.play(replace(check, entry=entry), 100) > 95


def test_the_bridge_is_won_nearly_always():
    won = game.play(PRESETS["outp-bridge"].check, 100)
    assert won > 95
    assert Score(won, 100, 1.0).refutes


def test_a_best_guess_must_be_known():
    with pytest.raises(ValueError, match="best guess is known"):
        game.play(PRESETS["clear"].check, 100)


class TestScore:
    def test_interval_is_clopper_and_pearson(self):
        low, high = Score(7, 10, 1.0).interval
        assert (low, high) == pytest.approx((0.3475, 0.9333), abs=1e-4)
        assert Score(10, 10, 1.0).interval == pytest.approx((0.6915, 1.0), abs=1e-4)

    def test_ceiling(self):
        assert Score(1, 1, 1.0).ceiling == pytest.approx(np.e / (1 + np.e))
        assert Score(1, 1, 1.0, 0.1).ceiling == pytest.approx((np.e + 0.1) / (1 + np.e))

    def test_it_never_says_more_than_not_refuted(self):
        score = Score(8, 10, 1.0)
        assert score.share > score.ceiling and not score.refutes
        assert score.sentence.endswith("not refuted.")
        said = Score(3, 4, 1.0, 0.1).sentence
        assert "Under epsilon = 1, delta = 0.1 nobody is right with a probability above 75.8%." in said
        sure = Score(95, 100, 1.0)
        assert sure.refutes and "refuted, if the number of rounds was fixed beforehand" in sure.sentence

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [((1, 0, 1.0), "rounds must be"), ((3, 2, 1.0), "correct must be"), ((1, 2, 1.0, 2.0), "delta must be")],
    )
    def test_bad_input(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            Score(*arguments)
