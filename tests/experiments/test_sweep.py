"""The description of a sweep: what it accepts, what it refuses in one sentence, and how it goes to a file and back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from experiment_doubles import Quick
from hypothesis import given, settings
from hypothesis import strategies as st

import obmc
from obmc.datasets import synthetic
from obmc.experiments import FIELDS, InMemory, MechanismSpec, Sweep
from obmc.experiments import sweep as sweep_module

EVERYTHING = {
    "dataset": "synthetic",
    "mechanisms": [
        "Clear",
        {"name": "InP", "calibration": "paper"},
        {"name": "GraP", "calibration": "paper", "options": {"iterations": 3}},
        {"name": "OutP", "calibration": "paper", "postprocess": "rank", "rank": 2},
        "Majority",
    ],
    "epsilons": [0.5, 2],
    "link": "gaussian",
    "sigma": 0.3,
    "alpha": [1.0, None],
    "rank": [1, 3],
    "tau_multiple": [0.25, 1.0],
    "ratio": [0.2, 0.8],
    "shape": (40, 30),
    "repetitions": 3,
    "seed": 9,
    "metrics": ["are", "sign_accuracy"],
    "solver": "admm",
    "tol": 1e-3,
    "max_iter": 50,
}


def test_a_link_may_be_given_itself() -> None:
    for link in (obmc.Logistic(), obmc.Gaussian(0.3)):
        assert Sweep(mechanisms=["Clear"], link=link) == Sweep(mechanisms=["Clear"], link=link.name, sigma=link.sigma)
    assert Sweep(mechanisms=["Clear"], link=obmc.Logistic(), sigma=3.0).sigma == 1.0


class Steep(obmc.Logistic):
    """A link that passes for another by its name."""

    def __repr__(self) -> str:
        return "Steep()"


def refusal(**changes: object) -> str:
    with pytest.raises(ValueError) as caught:
        Sweep(**{"mechanisms": ["Clear"], **changes})
    return str(caught.value)


def test_a_sweep_survives_toml() -> None:
    sweep = Sweep(**EVERYTHING)
    again = Sweep.from_toml(sweep.to_toml())
    assert again == sweep
    assert again.key == sweep.key
    assert [point.key for point in again.points()] == [point.key for point in sweep.points()]


def test_a_sweep_survives_a_dictionary_and_is_hashable() -> None:
    sweep = Sweep(**EVERYTHING)
    assert Sweep.from_dict(sweep.to_dict()) == sweep
    assert len({sweep, Sweep(**EVERYTHING)}) == 1


@settings(max_examples=40, deadline=None)
@given(
    epsilons=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4, unique=True),
    alpha=st.one_of(st.none(), st.floats(1e-3, 100.0)),
    seed=st.integers(0, 2**63 - 1),
    tol=st.floats(1e-9, 0.5),
)
def test_any_numbers_survive_toml_exactly(epsilons: list[float], alpha: float | None, seed: int, tol: float) -> None:
    sweep = Sweep(mechanisms=["InP"], epsilons=epsilons, alpha=alpha, seed=seed, tol=tol)
    assert Sweep.from_toml(sweep.to_toml()) == sweep


def test_points_are_the_product_of_the_grid() -> None:
    sweep = Sweep(**EVERYTHING)
    points = list(sweep.points())
    # Clear and Majority once per draw, three mechanisms at two epsilons each.
    assert len(points) == len(sweep) == 3 * 2 * 2 * 2 * 2 * (2 + 3 * 2)
    assert len({point.key for point in points}) == len(points)
    assert {point.epsilon for point in points if point.spec.name == "Clear"} == {math.inf}
    taus = {(point.draw.alpha, point.draw.rank, point.settings.tau) for point in points}
    assert (1.0, 3, 0.25 * math.sqrt(3 * 40 * 30)) in taus
    assert (None, 1, math.sqrt(40 * 30)) in taus


def test_keys_tell_all_settings_apart_and_nothing_else() -> None:
    base = {"mechanisms": ["InP"], "epsilons": [1.0]}
    changes = [
        {},
        {"mechanisms": [{"name": "InP", "calibration": "paper"}]},
        {"mechanisms": ["ObjP"]},
        {"epsilons": [2.0]},
        {"link": "gaussian"},
        {"link": "gaussian", "sigma": 2.0},
        {"alpha": 2.0},
        {"rank": 2},
        {"tau_multiple": 0.5},
        {"ratio": 0.3},
        {"shape": (50, 100)},
        {"seed": 1},
        {"tol": 1e-3},
        {"max_iter": 7},
        {"solver": "spg"},
        {"dataset": "rc"},
        {"dataset": "ml-100k"},
        {"dataset": "ml-100k", "fold": 2},
    ]
    keys = [next(Sweep(**{**base, **change}).points()).key for change in changes]
    assert len(set(keys)) == len(keys)
    # The metrics, and what stands at its default, make no other run.
    same = Sweep(mechanisms=[{"name": "InP", "options": {"estimator": None}}], epsilons=1, metrics=["sign_accuracy"])
    assert next(same.points()).key == keys[0]


def test_a_new_version_of_the_results_has_new_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    def key() -> str:
        return next(Sweep(mechanisms=["InP"], epsilons=1).points()).key

    before = key()
    monkeypatch.setattr(sweep_module, "RESULTS_VERSION", sweep_module.RESULTS_VERSION + 1)
    assert key() != before


def test_mechanisms_are_understood_by_any_of_their_names() -> None:
    forms = ["OutP", "outp", "OutputPerturbation", {"name": "OutP"}, obmc.mechanisms.OutputPerturbation]
    specs = {MechanismSpec.of(form) for form in [*forms, obmc.mechanisms.OutputPerturbation(epsilon=3.0)]}
    assert len(specs) == 1
    tuned = obmc.mechanisms.OutputPerturbation(epsilon=3.0, calibration="paper", postprocess="rank", rank=2)
    assert MechanismSpec.of(tuned).options == (("postprocess", "rank"), ("rank", 2))
    assert MechanismSpec.of(tuned).build(5.0).epsilon == 5.0


def test_a_mechanism_of_ones_own_can_run_but_not_go_to_a_file() -> None:
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0, pause=0.5)], epsilons=[1, 2])
    assert sweep.mechanisms[0].options == (("pause", 0.5),)
    with pytest.raises(ValueError, match="Quick is a mechanism of one's own"):
        sweep.to_toml()
    with pytest.raises(ValueError, match="no key"):
        next(sweep.points()).key


def test_data_in_memory_can_run_but_have_no_key() -> None:
    problem = synthetic(shape=(20, 10), ratio=0.5)
    sweep = Sweep(dataset=problem, mechanisms=["Clear"])
    assert sweep.shape == (20, 10)
    assert not sweep.is_stored
    with pytest.raises(ValueError, match="data in memory"):
        sweep.key
    with pytest.raises(ValueError, match="no key"):
        next(sweep.points()).key


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dataset": "netflix"}, "dataset must be one of 'synthetic', 'ml-100k', 'rc'"),
        ({"dataset": 3}, "dataset must be one of synthetic, ml-100k, rc, a pair"),
        ({"mechanisms": []}, "mechanisms must hold at least one value"),
        ({"mechanisms": ["InX"]}, "mechanisms[0]: mechanism must be one of 'Clear', 'InP'"),
        ({"mechanisms": [{"calibration": "paper"}]}, "mechanisms[0]: a mechanism must have a name"),
        ({"mechanisms": ["InP", {"name": "InP", "calibration": "exact"}]}, "mechanisms[1]: calibration must be one of"),
        ({"mechanisms": [{"name": "InP", "steps": 3}]}, "unknown option 'steps': the options of InP are estimator"),
        ({"mechanisms": [{"name": "Clear", "steps": 3}]}, "unknown option 'steps'"),
        ({"mechanisms": [{"name": "GraP", "iterations": 0}]}, "mechanisms[0]: iterations must be"),
        ({"mechanisms": [{"name": "InP", "options": 3}]}, "options of InP must be a table"),
        ({"mechanisms": ["InP", "InputPerturbation"]}, "mechanisms must name every value once"),
        ({"mechanisms": [object()]}, "a mechanism must be a name"),
        ({"epsilons": []}, "epsilons must hold at least one value"),
        ({"epsilons": [1, 0]}, "epsilons[1] must be a finite number of at least 0.001 and at most 1000"),
        ({"epsilons": [math.inf]}, "epsilons[0] must be a finite number"),
        ({"epsilons": [1, 1.0]}, "epsilons must name every value once"),
        ({"epsilons": "1"}, "epsilons must be a number"),
        ({"link": "cauchy"}, "link must be one of 'logistic', 'gaussian'"),
        ({"link": Steep()}, "link must be one of logistic, gaussian, or a link of such a name, got Steep()"),
        ({"link": "gaussian", "sigma": -1}, "sigma must be a finite number"),
        ({"alpha": 0}, "alpha must be a finite number above 0"),
        ({"rank": 0}, "rank must be a whole number from 1 to 100"),
        ({"rank": [1, 101]}, "rank[1] must be a whole number from 1 to 100"),
        ({"tau_multiple": math.nan}, "tau_multiple must be a finite number above 0"),
        ({"ratio": 1.5}, "ratio must be a finite number above 0 and at most 1"),
        ({"shape": (0, 5)}, "shape[0] must be a whole number of at least 1"),
        ({"shape": 7}, "shape must be a pair"),
        ({"shape": (100_000, 100_000)}, "shape must hold at most"),
        ({"shape": (3, 3), "dataset": "rc"}, "shape must be (138, 130) with this dataset, or left out"),
        ({"fold": 6, "dataset": "ml-100k"}, "fold must be a whole number from 1 to 5"),
        ({"fold": 2}, "fold belongs to the dataset ml-100k alone"),
        ({"repetitions": 0}, "repetitions must be a whole number from 1"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"metrics": ["rmse"]}, "metrics must be one of 'are', 'sign_accuracy'"),
        (
            {"metrics": ["are"], "dataset": "rc"},
            "metrics on rc can be sign_accuracy, auc, log_loss: are needs the truth",
        ),
        ({"solver": "gurobi"}, "solver must be one of"),
        ({"tol": 0}, "tol must be a finite number above 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        ({"repetitions": 10_000, "alpha": [float(a) for a in range(1, 31)]}, "the sweep has 300,000 runs"),
    ],
)
def test_bad_values_are_named_in_one_sentence(changes: dict[str, object], text: str) -> None:
    message = refusal(**changes)
    assert text in message
    assert "\n" not in message
    assert message.endswith(".")


def test_bad_data_in_memory_are_refused() -> None:
    first = synthetic(shape=(20, 10), ratio=0.5).observations
    other = synthetic(shape=(20, 11), ratio=0.5).observations
    assert "test must have the shape of train" in refusal(dataset=(first, other))
    assert "must hold train and test as Observations" in refusal(dataset=(first, 3))
    assert "test or truth" in refusal(dataset=(first, None))
    with pytest.raises(ValueError, match="truth must have the shape"):
        InMemory(first, truth=np.ones((2, 2)))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("epsilon = [1.0]\n", "'epsilon' is not a key of a sweep: did you mean 'epsilons'? Allowed are dataset"),
        ("colour = 1\n", "'colour' is not a key of a sweep: Allowed are dataset, mechanisms"),
        ("epsilons = [1.0\n", "not valid TOML"),
        ('alpha = "wide"\n', "alpha must be a number"),
        ("[dataset]\na = 1\n", "dataset must be one of"),
        ('[[mechanisms]]\nname = "InP"\ncalibration = "best"\n', "mechanisms[0]: calibration must be one of"),
        ('mechanisms = "InP"\nrank = 0.5\n', "rank must be a whole number"),
    ],
)
def test_a_wrong_file_names_itself_and_the_key(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        Sweep.read(path)
    assert fault in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not text in UTF-8"):
        Sweep.read(tmp_path / "sweep.toml")
    with pytest.raises(FileNotFoundError):
        Sweep.read(tmp_path / "none.toml")


def test_rows_have_the_fields_of_the_interface() -> None:
    names = (
        "dataset link sigma mechanism calibration options epsilon delta alpha rank tau ratio repetition seed "
        "metric value gap converged iterations seconds version"
    )
    assert " ".join(FIELDS) == names
