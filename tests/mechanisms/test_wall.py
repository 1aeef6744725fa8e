"""The wall: nothing of the private signs reaches a solver, a callback or a release except through the noise."""

import dataclasses
import inspect
import math

import numpy as np
import pytest
from mechanism_doubles import ChosenFlips, ChosenNoise

import obmc
from obmc.errors import ReleaseFailed
from obmc.mechanisms import gradient as grap
from obmc.mechanisms.base import LocalMechanism, SolverOptions
from obmc.mechanisms.gradient import GradientOracle, OracleExhausted
from obmc.privacy import noise as noise_module
from obmc.privacy.noise import noise_from
from obmc.solvers import lowrank
from obmc.solvers.iterates import DenseIterate

LINKS = {"logistic": obmc.Logistic(), "gaussian": obmc.Gaussian(0.8)}
CSET = obmc.ConstraintSet(tau=8.0, alpha=1.0)
BALL = obmc.ConstraintSet(tau=8.0, alpha=None)

# Mechanisms whose solver must see the noised view alone: the class, and the links and options that it is tried with.
MADE = {
    "InP": obmc.InputPerturbation,
    "InP+": obmc.InputPerturbationPlus,
    "ObjP": obmc.ObjectivePerturbation,
    "GraP": obmc.GradientPerturbation,
}
SETTINGS = {
    "InP": [("logistic", {}), ("gaussian", {}), ("logistic", {"calibration": "paper"}),
            ("gaussian", {"calibration": "paper"}), ("gaussian", {"estimator": "likelihood"})],
    "ObjP": [("logistic", {}), ("logistic", {"calibration": "paper"}), ("logistic", {"calibration": "displayed"}),
             ("logistic", {"noise": "geometric"}), ("gaussian", {}), ("gaussian", {"noise": "geometric"})],
    "GraP": [("logistic", {}), ("logistic", {"calibration": "paper"}), ("gaussian", {}),
             ("gaussian", {"calibration": "paper"}), ("gaussian", {"delta": 1e-5}), ("logistic", {"clip": 0.2}),
             ("gaussian", {"calibration": "paper", "delta": 1e-5})],
    "InP+": [("logistic", {}), ("gaussian", {}), ("logistic", {"low_rank": False}),
             ("gaussian", {"tuning": "rule"})],
}  # fmt: skip
# Of these, the ones whose noise is drawn by ``noise.flips``.
FLIPS = ("InP", "InP+")

PRIVATE_SOLVER = [
    ("logistic", obmc.OutputPerturbation(epsilon=1.0, calibration="paper")),
    ("gaussian", obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="rank", rank=1)),
    ("logistic", obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="project")),
    ("logistic", obmc.OutputPerturbation(epsilon=1.0)),
    ("gaussian", obmc.OutputPerturbation(epsilon=1.0, entries=((0, 1), (3, 2)))),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=1.0, calibration="paper")),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=1.0, calibration="displayed")),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=1.5, calibration="exact_minimiser")),
]


def observations(seed=0, shape=(9, 8), ratio=0.6):
    return obmc.datasets.synthetic(shape, ratio=ratio, rng=seed).observations


@pytest.fixture(scope="module")
def data():
    return observations()


def opposite(obs):
    """Every sign reversed: more than a neighbour, so that nothing can hide."""
    return obs.with_signs(-obs.signs)


def chosen(mechanism, obs, seed):
    return ChosenFlips(obs.bits, seed) if mechanism.label in FLIPS else ChosenNoise(seed)


def behind_the_wall():
    """Mechanism x link x how the solver is asked: everything whose solver must see the noised view alone."""
    solves = [
        ({"solver": "admm"}, CSET), ({"solver": "spg"}, CSET), ({"solver": "factored"}, CSET),
        ({"solver": "auto", "tol": 1e-2}, CSET), ({"max_iter": 3}, CSET),
        ({"callback": lambda p: p.iteration < 4}, CSET),
        ({"solver": "admm"}, BALL), ({"solver": "spg"}, BALL),
    ]  # fmt: skip
    for label, settings in SETTINGS.items():
        for link, options in settings:
            for solve, cset in solves:
                if label == "GraP" and "max_iter" in solve:
                    continue
                if label == "InP+" and (solve.get("solver") not in ("admm", "factored") or cset is BALL):
                    continue
                if cset is BALL and label == "GraP" and link == "gaussian" and options.get("calibration") == "paper":
                    continue
                name = "-".join([label, link, *map(str, options.values()), *map(str, solve), *map(str, solve.values())])
                yield pytest.param(
                    MADE[label](epsilon=1.0, **options),
                    LINKS[link],
                    solve,
                    cset,
                    id=name.partition("<")[0] + ("-ball" if cset is BALL else ""),
                )


class TestSameViewSameRelease:
    @pytest.mark.parametrize(("mechanism", "link", "solve", "cset"), list(behind_the_wall()))
    def test_bit_identical_whatever_the_true_signs(self, data, mechanism, link, solve, cset):
        made = [
            mechanism._release(obs, link, cset, chosen(mechanism, obs, seed=5), SolverOptions(**solve)).completion
            for obs in (data, data.flip((int(data.rows[3]), int(data.cols[3]))), opposite(data))
        ]
        for other in made[1:]:
            np.testing.assert_array_equal(other.matrix, made[0].matrix)
            for field in ("objective", "gap", "converged", "iterations", "solver", "message", "tau", "alpha"):
                np.testing.assert_equal(getattr(other, field), getattr(made[0], field))
            np.testing.assert_equal(other.nuclear_norm, made[0].nuclear_norm)

    def test_another_view_gives_another_release(self, data):
        """The test above would pass for a mechanism that ignored its view."""
        for mechanism in (
            obmc.InputPerturbation(epsilon=1.0),
            obmc.ObjectivePerturbation(epsilon=1.0),
            obmc.GradientPerturbation(epsilon=1.0),
        ):
            made = [
                mechanism._release(
                    data, LINKS["logistic"], CSET, chosen(mechanism, data, seed), SolverOptions()
                ).completion.matrix
                for seed in (5, 6)
            ]
            assert np.abs(made[0] - made[1]).max() > 1e-3

    def test_a_stored_view_gives_the_release(self, data):
        for mechanism in (obmc.InputPerturbation(epsilon=2.0), obmc.ObjectivePerturbation(epsilon=2.0)):
            view = mechanism.noised(data, LINKS["logistic"], CSET, rng=3)
            np.testing.assert_array_equal(
                mechanism.complete(view, LINKS["logistic"], CSET).matrix,
                mechanism.release(data, LINKS["logistic"], CSET, rng=3).completion.matrix,
            )
            assert view.guarantee.simulated

    def test_the_gaussian_likelihood_has_no_view(self, data):
        with pytest.raises(ValueError, match="has no noised labels"):
            obmc.ObjectivePerturbation(epsilon=2.0, calibration="paper").noised(data, LINKS["gaussian"], CSET)


class TestOracle:
    def oracle(self, data, link="logistic", **options):
        mechanism = obmc.GradientPerturbation(epsilon=1.0, **options)
        return GradientOracle(data, mechanism, LINKS[link], 1.0, noise_from(0))

    @pytest.mark.parametrize("options", [{}, {"calibration": "paper"}, {"delta": 1e-5}, {"iterations": 1}])
    def test_refuses_the_next_answer(self, data, options):
        oracle = self.oracle(data, **options)
        for _ in range(options.get("iterations", 10)):
            oracle.ask(np.zeros(len(data)))
        with pytest.raises(OracleExhausted, match="refuses another"):
            oracle.ask(np.zeros(len(data)))

    def test_the_loop_asks_exactly_k_times(self, data):
        noise = ChosenNoise(1)
        mechanism = obmc.GradientPerturbation(epsilon=1.0, iterations=7)
        mechanism._release(data, LINKS["logistic"], CSET, noise, SolverOptions())
        assert noise.calls == 7

    def test_clips_the_question_to_the_box(self, data):
        """A question outside the box is answered as its nearest point inside, where the sensitivity holds."""
        far, near = np.full(len(data), 40.0), np.full(len(data), 1.0)
        for options in ({"calibration": "paper", "clip": None}, {}, {"calibration": "paper"}):
            answers = [self.oracle(data, "gaussian", **options).ask(x) for x in (far, near)]
            np.testing.assert_array_equal(*answers)

    def test_the_loop_gets_only_the_oracle(self):
        """``descend`` runs on anything that has positions and answers: it can reach no data by another way."""

        class Answers:
            def __init__(self):
                self.omega = observations().omega
                self._rng = np.random.default_rng(0)

            def ask(self, x):
                return self._rng.normal(0.0, 1.0, len(x))

        iterate = DenseIterate(observations().omega, CSET, tol=1e-2)
        grap.descend(Answers(), iterate, grap.FixedStep(4.0), 5, callback=None)
        assert np.abs(iterate.mean().dense()).max() > 0.0
        assert "obs" not in inspect.signature(grap.descend).parameters

    def test_no_moment_of_the_loop_depends_on_the_objective(self):
        """Neither file of the loop asks a loss for a value: no line search, no stopping rule, no best iterate."""
        source = inspect.getsource(grap)
        for forbidden in (".values(", "objective(", "likelihood(", "minimise("):
            assert forbidden not in source


def reachable(thing, seen=None):
    """Every object that can be reached from a release."""
    seen = {} if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | bool | type | None):
        return seen
    seen[id(thing)] = thing
    children = []
    if dataclasses.is_dataclass(thing):
        children += [getattr(thing, field.name) for field in dataclasses.fields(thing)]
    if hasattr(thing, "__dict__"):
        children += list(vars(thing).values())
    if isinstance(thing, dict):
        children += [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set):
        children += list(thing)
    for child in children:
        reachable(child, seen)
    return seen


EVERY = [
    ("logistic", obmc.InputPerturbation(epsilon=1.0)),
    ("gaussian", obmc.InputPerturbation(epsilon=1.0, calibration="paper")),
    ("logistic", obmc.ObjectivePerturbation(epsilon=1.0)),
    ("logistic", obmc.GradientPerturbation(epsilon=1.0)),
    ("gaussian", obmc.GradientPerturbation(epsilon=1.0, calibration="paper")),
    *PRIVATE_SOLVER,
]


class TestWhatAReleaseCarries:
    @pytest.mark.parametrize(("link", "mechanism"), EVERY, ids=lambda v: v if isinstance(v, str) else v.label)
    def test_nothing_private_can_be_reached(self, data, link, mechanism):
        release = mechanism.release(data, LINKS[link], CSET, rng=1)
        clean = obmc.complete(data, LINKS[link], CSET).matrix
        found = list(reachable(release).values())
        assert not any(isinstance(thing, obmc.Observations) for thing in found)
        arrays = [thing for thing in found if isinstance(thing, np.ndarray)]
        assert arrays
        for array in arrays:
            for private in (data.signs, data.bits, clean, clean[data.rows, data.cols]):
                assert array.shape != private.shape or not np.allclose(array, private, atol=1e-6)

    @pytest.mark.parametrize(("link", "mechanism"), PRIVATE_SOLVER, ids=lambda v: v if isinstance(v, str) else v.label)
    def test_no_fact_of_a_solver_that_saw_the_signs(self, data, link, mechanism):
        done = mechanism.release(data, LINKS[link], CSET, rng=1).completion
        self.assert_no_facts(done)

    @pytest.mark.parametrize("options", [{}, {"calibration": "paper"}, {"delta": 1e-5}])
    def test_no_fact_of_gradient_perturbation(self, data, options):
        done = (
            obmc.GradientPerturbation(epsilon=1.0, **options).release(data, LINKS["gaussian"], CSET, rng=1).completion
        )
        self.assert_no_facts(done)

    def assert_no_facts(self, done):
        for field in ("objective", "gap", "converged", "iterations", "seconds", "nuclear_norm", "share_at_bound"):
            assert math.isnan(getattr(done, field)), field
        assert len(done.singular_values) == 0
        assert math.isnan(done.largest_entry)
        assert math.isnan(done.rank())
        assert done.message == ""

    @pytest.mark.parametrize(("link", "mechanism"), PRIVATE_SOLVER, ids=lambda v: v if isinstance(v, str) else v.label)
    def test_the_callback_learns_the_step_number_only(self, data, link, mechanism):
        told = []
        mechanism.release(data, LINKS[link], CSET, rng=1, callback=lambda progress: told.append(progress))
        assert told
        assert all(math.isnan(progress.gap) for progress in told)
        assert [progress.iteration for progress in told] == list(range(1, len(told) + 1))

    def test_the_callback_of_gradient_perturbation(self, data):
        told = []
        obmc.GradientPerturbation(epsilon=1.0, iterations=4).release(
            data, LINKS["logistic"], CSET, callback=lambda progress: told.append(progress)
        )
        assert [(p.iteration, p.max_iter) for p in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert all(math.isnan(progress.gap) for progress in told)


ALLOWED = [
    ("logistic", obmc.InputPerturbation(epsilon=1.0)),
    ("gaussian", obmc.InputPerturbationPlus(epsilon=1.0, tuning="rule")),
    ("gaussian", obmc.InputPerturbation(epsilon=1.0, calibration="paper")),
    ("logistic", obmc.ObjectivePerturbation(epsilon=1.0)),
    ("logistic", obmc.ObjectivePerturbation(epsilon=1.0, calibration="paper")),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=1.0)),
    ("logistic", obmc.GradientPerturbation(epsilon=1.0)),
    ("logistic", obmc.GradientPerturbation(epsilon=1.0, calibration="paper")),
    ("gaussian", obmc.GradientPerturbation(epsilon=1.0, calibration="paper")),
    ("gaussian", obmc.GradientPerturbation(epsilon=1.0, delta=1e-5)),
    ("gaussian", obmc.GradientPerturbation(epsilon=1.0, delta=1e-5, calibration="paper")),
    ("logistic", obmc.OutputPerturbation(epsilon=1.0)),
    ("gaussian", obmc.OutputPerturbation(epsilon=1.0, postprocess="project")),
    ("gaussian", obmc.OutputPerturbation(epsilon=1.0, entries=((0, 0), (1, 2)))),
]


REFUSED = [
    ("logistic", obmc.Clear(), "nothing in it is protected"),
    ("logistic", obmc.OutputPerturbation(epsilon=1.0, calibration="paper"), "one entry fixed in advance"),
    ("logistic", obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="project"), "not to hold"),
    ("gaussian", obmc.OutputPerturbation(epsilon=1.0, calibration="paper", postprocess="rank", rank=1), "to hold"),
    ("logistic", obmc.ObjectivePerturbation(epsilon=1.0, calibration="displayed"), "known not to hold"),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=0.3, calibration="paper"), "known not to hold"),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=1.6, calibration="paper"), "not proven|exact minimiser"),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=9.0, calibration="paper"), "exact minimiser"),
    ("gaussian", obmc.ObjectivePerturbation(epsilon=9.0, calibration="exact_minimiser"), "exact minimiser"),
]  # fmt: skip


class TestSecure:
    @pytest.mark.parametrize(("link", "mechanism"), ALLOWED, ids=lambda v: v if isinstance(v, str) else v.label)
    def test_a_release_draws_from_the_operating_system(self, data, link, mechanism, monkeypatch):
        drawn = []
        real = noise_module.os.urandom
        monkeypatch.setattr(noise_module.os, "urandom", lambda size: drawn.append(size) or real(size))
        release = mechanism.release(data, LINKS[link], CSET, rng=obmc.SECURE)
        assert sum(drawn) > 0
        assert release.simulated is False
        assert release.guarantee.release_allowed
        assert release.guarantee.holds

    @pytest.mark.parametrize(("link", "mechanism"), ALLOWED, ids=lambda v: v if isinstance(v, str) else v.label)
    def test_no_seed_is_involved(self, data, link, mechanism, monkeypatch):
        """With numpy's generators broken for everything but the solvers' fixed starts, a release still works."""
        real = np.random.default_rng

        def refuse(seed=None):
            assert seed is not None, "a release must not draw from an unseeded numpy generator"
            return real(seed)

        monkeypatch.setattr(np.random, "default_rng", refuse)
        if isinstance(mechanism, LocalMechanism):
            # Different noise may well end in the same estimate, above all in zeros.
            views = [mechanism.noised(data, LINKS[link], CSET, rng=obmc.SECURE) for _ in range(20)]
            assert len({view.labels.tobytes() for view in views}) > 1
            mechanism.complete(views[0], LINKS[link], CSET)
        else:
            first, second = (mechanism.release(data, LINKS[link], CSET, rng=obmc.SECURE).completion for _ in range(2))
            assert not np.array_equal(first.matrix, second.matrix, equal_nan=True)

    @pytest.mark.parametrize(
        ("link", "mechanism", "reason"), REFUSED, ids=lambda v: v.label if hasattr(v, "label") else None
    )
    def test_what_does_not_hold_is_refused_before_anything_is_drawn_or_solved(
        self, data, link, mechanism, reason, monkeypatch
    ):
        monkeypatch.setattr(noise_module.os, "urandom", lambda size: pytest.fail("noise was drawn"))
        with pytest.raises(ValueError, match=f"rng must be a seed here, not obmc.SECURE.*({reason})"):
            mechanism.release(data, LINKS[link], CSET, rng=obmc.SECURE, callback=lambda p: pytest.fail("it solved"))

    def test_a_simulation_says_so(self, data):
        release = obmc.InputPerturbation(epsilon=1.0).release(data, LINKS["logistic"], CSET, rng=0)
        assert release.simulated
        assert not release.guarantee.release_allowed
        assert release.guarantee.explain().startswith("This is a simulation")

    def test_simulations_are_repeatable_and_seeds_differ(self, data):
        for _, mechanism in EVERY:
            made = [mechanism.release(data, LINKS["gaussian"], CSET, rng=seed).completion.matrix for seed in (1, 1, 2)]
            np.testing.assert_array_equal(made[0], made[1])
            assert not np.array_equal(made[0], made[2], equal_nan=True)

    @pytest.mark.parametrize("wrong", [None, -3, "secure", 1.5])
    def test_bad_rng(self, data, wrong):
        with pytest.raises(ValueError, match="rng must be"):
            obmc.InputPerturbation(epsilon=1.0).release(data, LINKS["logistic"], CSET, rng=wrong)


@pytest.mark.parametrize(
    "mechanism",
    [obmc.OutputPerturbation(epsilon=1.0, entries=((0, 1),)), obmc.InputPerturbation(epsilon=1.0)],
    ids=["OutP", "InP"],
)
def test_a_solver_that_fails_on_the_signs_is_no_free_answer(mechanism, monkeypatch):
    """Whether the rank fits depends on the signs: the failure is a release, and its message holds no number of them."""
    obs = observations(shape=(40, 40), ratio=0.9)
    cset = obmc.ConstraintSet(tau=2000.0, alpha=1.0)
    monkeypatch.setattr(lowrank, "LARGEST_FACTORS", 1)
    told = set()
    for data in (obs, opposite(obs), observations(1, (40, 40), 0.9)):
        book = obmc.Ledger("ratings", [len(data)])
        statement = mechanism.guarantee(LINKS["logistic"], cset, data.shape)
        with pytest.raises(ReleaseFailed, match="counts as a release") as caught:
            book.spend(
                statement,
                lambda data=data: mechanism.release(
                    data, LINKS["logistic"], cset, rng=obmc.SECURE, solver="factored", max_iter=50
                ),
            )
        assert book.epsilon == 1.0
        told.add(str(caught.value))
    assert len(told) == 1
