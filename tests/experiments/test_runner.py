"""The runner: rows that nothing but their settings decides, whoever computes them and however it ends."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from experiment_doubles import Quick

import obmc
from obmc.datasets import synthetic
from obmc.experiments import (
    FIELDS,
    InMemory,
    LocalExecutor,
    MemoryStore,
    Progress,
    Row,
    Store,
    StoreError,
    StoreWarning,
    Sweep,
    WorkersGoneError,
    run,
)
from obmc.experiments.draws import find_draw
from obmc.experiments.runner import complete_point, group
from obmc.experiments.seeds import data_seed, noise_seed

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"shape": (30, 20), "ratio": 0.4, "tol": 1e-3}
PAPER = [{"name": name, "calibration": "paper"} for name in ("InP", "ObjP", "GraP", "OutP")]


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    """An executor without processes, to which all but their handling is the same."""
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalExecutor]:
    """Two worker processes that the tests of this module share."""
    executor = LocalExecutor(2)
    yield executor
    executor.kill()


def numbers(rows: list[Row]) -> dict[tuple[object, ...], tuple[float, ...]]:
    """The rows without their order and their seconds: settings to (value, gap, converged, iterations)."""
    facts = ("value", "gap", "converged", "iterations")
    return {
        tuple(row[name] for name in FIELDS if name not in (*facts, "seconds")): tuple(  # type: ignore[literal-required]
            repr(row[name])
            for name in facts  # type: ignore[literal-required]
        )
        for row in rows
    }


def test_rows_are_tidy_and_say_what_they_are(threads: ThreadPoolExecutor) -> None:
    sweep = Sweep(mechanisms=["Clear", *PAPER, "OutP"], epsilons=[1, 4], metrics=["are", "auc"], seed=3, **SMALL)
    rows = list(run(sweep, threads))
    assert all(tuple(row) == FIELDS for row in rows)
    assert len(rows) == 2 * (1 + 5 * 2)
    assert {row["dataset"] for row in rows} == {"synthetic 30 x 20"}
    by = {(row["mechanism"], row["calibration"], row["epsilon"], row["metric"]): row for row in rows}
    clear = by["Clear", "", math.inf, "are"]
    assert clear["tau"] == pytest.approx(math.sqrt(600))
    assert 0 <= clear["gap"] <= 1e-3
    assert clear["converged"] == 1.0
    assert by["OutP", "rigorous", 1.0, "are"]["delta"] == 1e-5
    assert by["OutP", "paper", 1.0, "are"]["delta"] == 0.0
    assert math.isnan(by["OutP", "paper", 1.0, "are"]["gap"])
    assert json.loads(by["InP", "paper", 4.0, "auc"]["options"]) == {}
    assert 0 < by["Clear", "", math.inf, "auc"]["value"] < 1


def test_a_row_is_what_the_mechanism_itself_gives(threads: ThreadPoolExecutor) -> None:
    sweep = Sweep(mechanisms=["Clear", *PAPER], epsilons=[2], link="gaussian", sigma=0.5, seed=8, **SMALL)
    rows = {row["mechanism"]: row for row in run(sweep, threads)}
    link = obmc.Gaussian(0.5)
    problem = synthetic(shape=(30, 20), ratio=0.4, link=link, rng=data_seed(8, 0))
    cset = obmc.ConstraintSet.for_rank((30, 20), rank=1, alpha=1.0)
    for name, made in (
        ("InP", obmc.mechanisms.InputPerturbation),
        ("GraP", obmc.mechanisms.GradientPerturbation),
        ("OutP", obmc.mechanisms.OutputPerturbation),
    ):
        rng = noise_seed(8, 0, name, "{}", 2.0)
        release = made(epsilon=2.0, calibration="paper").release(problem.observations, link, cset, rng=rng, tol=1e-3)
        expected = obmc.metrics.average_relative_error(release.completion, problem.truth)
        assert rows[name]["value"] == pytest.approx(expected, rel=1e-12)
    done = obmc.complete(problem.observations, link, cset, tol=1e-3)
    assert rows["Clear"]["value"] == pytest.approx(obmc.metrics.average_relative_error(done, problem.truth), rel=1e-12)


def test_neither_order_nor_workers_change_a_row(threads: ThreadPoolExecutor, workers: LocalExecutor) -> None:
    sweep = Sweep(mechanisms=["Clear", *PAPER], epsilons=[1, 4], repetitions=3, **SMALL)
    backwards = Sweep(mechanisms=[*PAPER[::-1], "Clear"], epsilons=[4, 1], repetitions=3, **SMALL)
    one = numbers(list(run(sweep, threads)))
    two = numbers(list(run(backwards, workers)))
    assert len(one) == 3 * 9
    assert one == two


def test_adding_a_point_changes_no_other_row(threads: ThreadPoolExecutor) -> None:
    few = numbers(list(run(Sweep(mechanisms=["Clear", PAPER[0]], epsilons=[1], **SMALL), threads)))
    wide = {"epsilons": [0.5, 1, 2], "repetitions": 2, "tau_multiple": [1.0, 0.5]}
    many = numbers(list(run(Sweep(mechanisms=["Majority", *PAPER, "InP", "Clear"], **{**wide, **SMALL}), threads)))
    assert few.items() <= many.items()
    assert len(many) > 50


def test_data_are_shared_and_noise_is_not(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    log = tmp_path / "log"
    quick = Quick(epsilon=1.0, log=str(log))
    list(run(Sweep(mechanisms=[quick], epsilons=[1, 2, 3], repetitions=2, **SMALL), threads))
    lines = [line.split() for line in log.read_text().splitlines()]
    assert len(lines) == 6
    assert len({rng for _, rng, _ in lines}) == 6
    assert len({data for *_, data in lines}) == 2


def test_one_solve_serves_clear_and_all_of_output_perturbation(
    threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    solves = []

    def counted(*arguments: object, **options: object) -> object:
        solves.append(arguments)
        return obmc.complete(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("obmc.experiments.runner.complete", counted)
    projected = {"name": "OutP", "calibration": "paper", "postprocess": "rank", "rank": 1}
    sweep = Sweep(mechanisms=["Clear", PAPER[3], projected], epsilons=[1, 2, 4], repetitions=2, seed=41, **SMALL)
    rows = list(run(sweep, threads))
    assert len(rows) == 2 * (1 + 2 * 3)
    assert len(solves) == 2


def test_large_runs_are_tasks_of_their_own_and_small_ones_share() -> None:
    small = Sweep(mechanisms=["Clear", *PAPER, "OutP"], epsilons=[1, 2], shape=(100, 100))
    # Clear with OutP, the three others at each epsilon, and OutP's ridge variant on a solve of its own.
    assert sorted(map(len, group(list(small.points())))) == [1] * 6 + [2, 3]
    large = Sweep(mechanisms=["Clear", *PAPER], epsilons=[1, 2], dataset="ml-100k")
    assert set(map(len, group(list(large.points())))) == {1}


def test_progress_counts_and_ends_at_the_total(threads: ThreadPoolExecutor) -> None:
    seen: list[Progress] = []
    sweep = Sweep(mechanisms=["Clear", PAPER[0]], epsilons=[1, 2], repetitions=2, **SMALL)
    list(run(sweep, threads, callback=seen.append))
    assert seen[0].done == 0
    assert seen[-1].done == seen[-1].total == len(sweep) == 6
    assert seen[-1].share == 1.0
    assert seen[-1].remaining == 0.0
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    assert any(progress.remaining > 0.0 for progress in seen)


def test_a_callback_stops_the_sweep_in_the_middle_of_a_long_run(workers: LocalExecutor) -> None:
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0, pause=300.0)], epsilons=[1, 2, 3], **SMALL)
    assert list(run(sweep, workers, callback=lambda progress: progress.seconds < 0.5)) == []
    # The workers are free again.
    assert [workers.submit(pow, 2, 3).result(60) for _ in range(4)] == [8] * 4


def test_leaving_the_loop_drops_what_is_left(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0, log=str(log))], epsilons=list(range(1, 101)), **SMALL)
    for _ in run(sweep, threads):
        break
    threads.submit(int).result(60)
    assert len(log.read_text().splitlines()) < 20


def test_what_a_mechanism_refuses_is_reported_and_the_rest_computed(threads: ThreadPoolExecutor) -> None:
    seen: list[Progress] = []
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0, least=2.0)], epsilons=[1, 2, 3], repetitions=2, **SMALL)
    rows = list(run(sweep, threads, callback=seen.append))
    assert {row["epsilon"] for row in rows} == {2.0, 3.0}
    assert seen[-1].done == seen[-1].total
    (sentence,) = map(str, seen[-1].refused)
    assert "Quick" in sentence
    assert "at epsilon = 1: epsilon must be at least 2, got 1." in sentence


def test_an_error_in_a_run_comes_up_after_the_rows_before_it(threads: ThreadPoolExecutor) -> None:
    rows = []
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0), Quick(epsilon=1.0, fault="out of cheese")], epsilons=[1, 2], **SMALL)
    with pytest.raises(RuntimeError, match="out of cheese"):
        rows.extend(run(sweep, threads))
    assert [row["epsilon"] for row in rows] == [1.0, 2.0]


def test_workers_that_are_shut_down_are_an_error_and_not_an_end() -> None:
    executor = LocalExecutor(1)
    rows = []
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0, pause=0.02)], epsilons=list(range(1, 101)), **SMALL)
    with pytest.raises(WorkersGoneError, match=r"stopped or lost after \d+ of 100 runs: start it again"):
        for row in run(sweep, executor):
            rows.append(row)
            if len(rows) == 3:
                executor.kill()
    assert 3 <= len(rows) < 10


def test_a_killed_worker_costs_no_row(workers: LocalExecutor, tmp_path: Path) -> None:
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0, die_once=str(tmp_path / "died"))], epsilons=[1, 2, 3, 4], **SMALL)
    rows = list(run(sweep, workers))
    assert (tmp_path / "died").exists()
    assert sorted(row["epsilon"] for row in rows) == [1, 2, 3, 4]


def test_data_in_memory_are_computed_on_and_never_kept(threads: ThreadPoolExecutor) -> None:
    problem = synthetic(shape=(30, 20), ratio=0.5, rng=1)
    train, test = problem.observations.split(0.8, rng=0)
    store = MemoryStore()
    store.find = store.keep = pytest.fail  # type: ignore[method-assign, assignment]
    sweep = Sweep(dataset=(train, test), mechanisms=["Clear", *PAPER], epsilons=[1, 2], ratio=[0.5, 1.0])
    rows = list(run(sweep, threads, store))
    assert {row["dataset"] for row in rows} == {"in memory"}
    assert {row["metric"] for row in rows} == {"sign_accuracy"}
    assert len(rows) == 2 * 9
    # What a release of private data must not tell.
    assert all(math.isnan(row["seconds"]) for row in rows if row["mechanism"] in ("OutP", "GraP"))
    find_draw.__globals__["_kept"].cache_clear()
    named = Sweep(dataset=InMemory(train, test, problem.truth, "mine"), mechanisms=["Clear"])
    assert [row["dataset"] for row in run(named, threads)] == ["mine"]
    assert find_draw.__globals__["_kept"].cache_info().currsize == 0


def test_ratios_of_real_data_are_nested_shares_of_the_training_ratings() -> None:
    train, test = synthetic(shape=(30, 20), ratio=0.5, rng=1).observations.split(0.8, rng=0)
    sweep = Sweep(dataset=(train, test), mechanisms=["Clear"], ratio=[0.25, 0.5, 1.0])
    quarter, half, whole = (find_draw(point.draw).train for point in sweep.points())
    assert len(quarter) == round(0.25 * len(train))
    assert len(half) == round(0.5 * len(train))
    assert whole is train
    assert set(quarter.omega.flat) < set(half.omega.flat) < set(train.omega.flat)


def test_held_out_signs_of_synthetic_data_are_of_unobserved_entries_and_follow_the_truth() -> None:
    (point,) = Sweep(mechanisms=["Clear"], shape=(120, 100), alpha=3.0, ratio=0.3, seed=5).points()
    draw = find_draw(point.draw)
    assert draw.test is not None and draw.truth is not None
    assert len(draw.test) + len(draw.train) == 12_000
    assert not set(draw.test.omega.flat) & set(draw.train.omega.flat)
    # Standard score of the number of +1: independent signs with probabilities h(M).
    chance = obmc.Logistic().probability(draw.truth[draw.test.rows, draw.test.cols])
    score = (draw.test.bits.sum() - chance.sum()) / math.sqrt(float((chance * (1 - chance)).sum()))
    assert abs(score) < 3.0
    assert (
        obmc.metrics.sign_accuracy(type("Truth", (), {"predict": lambda _, r, c: draw.truth[r, c]})(), draw.test) > 0.55
    )


def test_the_majority_is_the_best_constant() -> None:
    train, test = synthetic(shape=(30, 20), ratio=0.5, rng=1).observations.split(0.8, rng=0)
    bits = np.where(np.arange(len(train)) < 0.7 * len(train), 1, -1)
    sweep = Sweep(dataset=(train.with_signs(bits), test), mechanisms=["Majority"], link="gaussian", sigma=2.0)
    (point,) = sweep.points()
    done = complete_point(point, find_draw(point.draw))
    assert done.probability([0], [0]) == pytest.approx(0.7, abs=0.005)
    assert np.ptp(done.matrix) == 0.0


# With a store ---------------------------------------------------------------------------------------------------------


def test_what_is_in_the_store_is_not_computed_again(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    store = Store(tmp_path / "results.sqlite3")
    sweep = Sweep(mechanisms=["Clear", *PAPER], epsilons=[1, 4], **SMALL)
    first = list(run(sweep, threads, store))
    seen: list[Progress] = []
    with ThreadPoolExecutor(1) as unused:
        unused.submit = pytest.fail  # type: ignore[method-assign, assignment]
        second = list(run(sweep, unused, store, seen.append))
    assert numbers(first) == numbers(second)
    assert {row["seconds"] for row in first} == {row["seconds"] for row in second}
    assert seen[-1].cached == seen[-1].done == len(sweep)


def test_a_metric_that_was_not_taken_is_computed_and_added(threads: ThreadPoolExecutor) -> None:
    store = MemoryStore()
    settings = {"mechanisms": ["Clear"], **SMALL}
    (are,) = run(Sweep(metrics=["are"], **settings), threads, store)
    (auc,) = run(Sweep(metrics=["auc"], **settings), threads, store)
    seen: list[Progress] = []
    both = list(run(Sweep(metrics=["auc", "are"], **settings), threads, store, seen.append))
    assert seen[-1].cached == 1
    assert [row["value"] for row in both] == [auc["value"], are["value"]]


def test_mechanisms_of_ones_own_are_not_kept(threads: ThreadPoolExecutor) -> None:
    store = MemoryStore()
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0), "Clear"], epsilons=[1], **SMALL)
    seen: list[Progress] = []
    for _ in range(2):
        assert len(list(run(sweep, threads, store, seen.append))) == 2
    assert seen[-1].cached == 1


@pytest.mark.parametrize("method", ["find", "keep"])
def test_a_store_that_fails_is_left_out_and_said_so(threads: ThreadPoolExecutor, method: str) -> None:
    def fail(*_: object) -> object:
        raise StoreError("the results store has no room left.")

    store = MemoryStore()
    setattr(store, method, fail)
    seen: list[Progress] = []
    sweep = Sweep(mechanisms=["Clear"], repetitions=3, **SMALL)
    with pytest.warns(StoreWarning, match="no room left") as caught:
        rows = list(run(sweep, threads, store, seen.append))
    assert len(caught) == 1
    assert len(rows) == 3
    assert seen[-1].note == "the results store has no room left."


KILLED = """
import sys
from obmc.experiments import Store, Sweep, run
for row in run(Sweep.read(sys.argv[1]), store=Store(sys.argv[2])):
    print(row["epsilon"], row["repetition"], flush=True)
"""


def test_a_sweep_killed_in_the_middle_goes_on_where_it_was(threads: ThreadPoolExecutor, tmp_path: Path) -> None:
    sweep = Sweep(mechanisms=["Clear", PAPER[0]], epsilons=[1, 2, 4], repetitions=300, **SMALL)
    (tmp_path / "sweep.toml").write_text(sweep.to_toml())
    command = [sys.executable, "-c", KILLED, str(tmp_path / "sweep.toml"), str(tmp_path / "results.sqlite3")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline().split() for _ in range(25)]
        process.send_signal(signal.SIGKILL)
        seen += [line.split() for line in process.stdout.read().splitlines()]
    assert process.returncode == -signal.SIGKILL
    said = {(float(epsilon), int(repetition)) for epsilon, repetition in seen}
    store = Store(tmp_path / "results.sqlite3")
    kept = {(point.epsilon, point.draw.repetition) for point in store.find(list(sweep.points()))}
    assert said <= kept
    assert len(said) == len(seen)
    few = Sweep(mechanisms=["Clear", PAPER[0]], epsilons=[1, 2, 4], repetitions=10, **SMALL)
    progress: list[Progress] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = list(run(few, threads, store, progress.append))
    assert progress[0].cached == sum(repetition < 10 for _, repetition in kept) > 10
    assert numbers(again) == numbers(list(run(few, threads)))


def test_two_sweeps_at_once_share_the_workers(workers: LocalExecutor) -> None:
    long = Sweep(mechanisms=[Quick(epsilon=1.0, pause=0.05)], epsilons=list(range(1, 61)), **SMALL)
    short = Sweep(mechanisms=[Quick(epsilon=1.0, pause=0.05)], epsilons=[1, 2], **SMALL)
    ended: list[str] = []
    begun = threading.Event()

    def compute(sweep: Sweep, name: str) -> None:
        for _ in run(sweep, workers.lane(name)):
            begun.set()
        ended.append(name)

    computing = [threading.Thread(target=compute, args=(long, "long"))]
    computing[0].start()
    assert begun.wait(60)
    computing.append(threading.Thread(target=compute, args=(short, "short")))
    computing[1].start()
    for thread in computing:
        thread.join(120)
    assert ended == ["short", "long"]
