"""How a run of a mechanism is reduced to a number: against the laws of what it lets out, without an audit."""

import math

import numpy as np
import pytest
from scipy import stats

import obmc
from obmc.mechanisms.base import SolverOptions
from obmc.privacy import attacks
from obmc.privacy.noise import SimulatedNoise, noise_from

LOGISTIC, GAUSSIAN = obmc.Logistic(), obmc.Gaussian()
CSET = obmc.ConstraintSet.for_rank((7, 9))
ONE = obmc.Observations([0], [0], [1], (1, 1))


@pytest.fixture(scope="module")
def pair():
    data = obmc.datasets.synthetic((7, 9), ratio=0.6, rng=0).observations
    entry = next((row, col) for row, col in zip(data.rows.tolist(), data.cols.tolist(), strict=True) if row != col)
    return attacks.Pair(data, data.flip(entry), entry)


def test_the_completed_matrix_is_read_at_the_flipped_entry(pair):
    mechanism = obmc.InputPerturbation(epsilon=1.0)
    attack = attacks._attack_final(mechanism, pair, LOGISTIC, CSET, SolverOptions(), math.nan)
    done = mechanism.release(pair.given, LOGISTIC, CSET, rng=5).completion
    assert attack.score(0, noise_from(5)) == done.matrix[pair.entry]
    assert done.matrix[pair.entry] != done.matrix[pair.entry[1] % 7, pair.entry[1]]


def test_without_noise_a_flip_is_seen_for_certain_unless_it_moves_nothing(pair, monkeypatch):
    clear = obmc.Clear()
    assert attacks.attack_on(clear, pair, LOGISTIC, CSET, SolverOptions(), "transcript").exact == math.inf
    same = obmc.complete(pair.given, LOGISTIC, CSET)
    monkeypatch.setattr(obmc.Clear, "_complete", lambda *_: same)
    assert attacks.attack_on(clear, pair, LOGISTIC, CSET, SolverOptions(), "transcript").exact == 0.0


def test_an_estimate_with_effects_is_attacked_as_it_is():
    rows, cols = (place.reshape(-1) for place in np.indices((12, 10)))
    # The first half of the users like most, the others little: effects of users explain what can be explained.
    liked = np.random.default_rng(0).random(120) < np.where(rows < 6, 0.85, 0.15)
    data = obmc.Observations(rows, cols, np.where(liked, 1, -1), (12, 10))
    pair, cset = attacks.Pair(data, data.flip((2, 3)), (2, 3)), obmc.ConstraintSet.for_rank((12, 10), alpha=4.0)
    effects = obmc.Clear(effects=True)
    attack = attacks.attack_on(effects, pair, LOGISTIC, cset, SolverOptions(), "transcript")
    matrices = [effects.release(pair.world(world), LOGISTIC, cset).completion.matrix for world in (0, 1)]
    assert not np.allclose(matrices[0], obmc.complete(data, LOGISTIC, cset).matrix, atol=0.01)
    direction = matrices[1] - matrices[0]
    assert attack.score(0, noise_from(0)) == pytest.approx(float(np.vdot(matrices[0], direction)))
    assert attack.score(0, noise_from(0)) < attack.score(1, noise_from(0))


@pytest.mark.parametrize("link", [LOGISTIC, GAUSSIAN], ids=["logistic", "gaussian"])
@pytest.mark.parametrize(
    ("options", "law"),
    [({}, stats.norm), ({"calibration": "paper"}, stats.laplace), ({"entries": ((0, 1), (2, 3))}, stats.laplace)],
    ids=["ridge", "paper", "entries"],
)
def test_the_score_of_a_released_matrix_is_the_ratio_of_its_likelihoods(pair, link, options, law):
    mechanism = obmc.OutputPerturbation(epsilon=1.0, **options)
    tol = SolverOptions(tol=1e-6)
    attack = attacks._attack_output(mechanism, pair, link, CSET, tol, "transcript")
    assert attack.is_ratio
    # Both worlds are equally likely where the ratio of the likelihoods is 1.
    assert (attack.boundary, attack.upper) == (0.0, 1)
    solutions = [mechanism.solution(pair.world(world), link, CSET, tol) for world in (0, 1)]
    clean = [CSET.clip(done.matrix) for done in solutions]
    std = mechanism.noise_std(link, CSET, len(pair.given))
    scale = std if law is stats.norm else std / math.sqrt(2.0)
    for world in (0, 1):
        if mechanism.entries is not None:
            means = [matrix[tuple(np.array(mechanism.entries).T)] for matrix in clean]
            values = mechanism.answered(solutions[world], CSET, noise_from(3))
        else:
            means = clean
            values = mechanism.postprocessed(
                mechanism.noised(clean[world], link, CSET, len(pair.given), noise_from(3)), CSET
            )
        logs = [float(law.logpdf(values, mean, scale).sum()) for mean in means]
        assert attack.score(world, noise_from(3)) == pytest.approx(logs[1] - logs[0], rel=1e-6, abs=1e-9)
        assert logs[1] != logs[0]


def test_gradients_without_a_clamp_need_no_steps(pair):
    """The attack on the noised labels sees what the attack on the steps sees."""
    mechanism = obmc.GradientPerturbation(epsilon=4.0, iterations=3)
    options = SolverOptions()
    slow = attacks._attack_gradient(mechanism, pair, LOGISTIC, CSET, options)
    fast = attacks._attack_linear_gradient(mechanism, pair, LOGISTIC, CSET)
    noises = [SimulatedNoise(np.random.default_rng(1)) for _ in range(2)]
    for world in (0, 1, 1):
        assert slow.score(world, noises[0]) == pytest.approx(fast.score(world, noises[1]), abs=1e-9)


def test_the_fast_minimiser_is_the_solver_s():
    mechanism = obmc.ObjectivePerturbation(epsilon=1.0, calibration="paper")
    cset = obmc.ConstraintSet.for_rank((1, 1), alpha=1.0)
    pair = attacks.Pair(ONE, ONE.flip((0, 0)), (0, 0))
    attack = attacks._attack_single_rating(mechanism, pair, GAUSSIAN, cset)

    def ratio(x, sign):
        scale = mechanism.scale(GAUSSIAN, cset)
        return math.log(GAUSSIAN.curvature(sign * x)) - abs(float(GAUSSIAN.score(sign * x))) / scale

    inside = 0
    for seed in range(40):
        noises = [SimulatedNoise(np.random.default_rng(seed)) for _ in range(2)]
        options = SolverOptions(tol=1e-9)
        x = float(mechanism._complete(pair.given, GAUSSIAN, cset, noises[0], options).matrix[0, 0])
        if abs(x) < 0.999:
            inside += 1
            assert attack.score(0, noises[1]) == pytest.approx(ratio(x, -1.0) - ratio(x, 1.0), abs=1e-3)
    assert inside >= 3


def test_the_law_of_laplace_noise_is_that_of_scipy():
    for t in (-30.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 2.0, 30.0):
        assert attacks._log_laplace_cdf(t) == pytest.approx(stats.laplace.logcdf(t), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("size", "tau"), [(4, 4.0), (20, 1.22 * 20.0)], ids=["a part of the matrix", "above rank 1"])
def test_where_projected_output_is_said_to_be_broken_an_attack_breaks_it(size: int, tau: float):
    found = obmc.datasets.bridge(size)
    part = found.observations
    data = obmc.Observations(part.rows, part.cols, part.signs, (20, 20))
    cset = obmc.ConstraintSet(tau=tau, alpha=1.0)
    mechanism = obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="project")
    assert mechanism.guarantee(obmc.Logistic(), cset, data.shape).status == "violated"
    assert obmc.audit(mechanism, data, obmc.Logistic(), cset, entry=found.entry, runs=1000).refutes
