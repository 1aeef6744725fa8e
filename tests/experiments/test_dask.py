"""A real Dask scheduler with two worker processes: a sweep on it, and one of the workers killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from experiment_doubles import Quick

from obmc.datasets import synthetic
from obmc.experiments import InMemory, LocalExecutor, MemoryStore, Sweep, open_executor, run
from obmc.experiments.executors import parallelism
from obmc.experiments.jobs import JobRunner

pytest.importorskip("distributed")

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"shape": (30, 20), "ratio": 0.4, "tol": 1e-3}


def start(stack: ExitStack, module: str, *options: str) -> subprocess.Popen[bytes]:
    """A process of a cluster, ended with the stack."""
    paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *options],
        env=os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its two workers."""
    with ExitStack() as stack:
        facts = tmp_path / "scheduler.json"
        options = ("--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(facts))
        start(stack, "dask_scheduler", *options)
        deadline = time.monotonic() + 60
        while not facts.exists() or not facts.read_text():
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        from distributed import Client

        where = ("--scheduler-file", str(facts), "--local-directory", str(tmp_path))
        workers = [
            start(
                stack, "dask_worker", *where, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"
            )
            for _ in range(2)
        ]
        with Client(scheduler_file=str(facts)) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield address, workers


def test_a_sweep_on_dask_loses_nothing_when_a_worker_is_killed(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, workers = cluster
    monkeypatch.setenv("OBMC_DASK", address)
    quick = Quick(epsilon=1.0, pause=0.05)
    sweep = Sweep(mechanisms=[quick, "Clear"], epsilons=list(range(1, 41)), repetitions=2, **SMALL)
    store = MemoryStore()
    rows = []
    with open_executor() as executor:
        assert parallelism(executor) == 2
        for row in run(sweep, executor, store):
            rows.append(row)
            if len(rows) == 10:
                workers[0].send_signal(signal.SIGKILL)
                workers[0].wait()
    with ThreadPoolExecutor(1) as here:
        alone = list(run(Sweep(mechanisms=["Clear"], repetitions=2, **SMALL), here))
    found = [(row["mechanism"], row["epsilon"], row["repetition"]) for row in rows]
    assert len(found) == len(set(found)) == len(sweep) == 82
    # What a cluster computes is what is computed here.
    clear = {row["repetition"]: row["value"] for row in rows if row["mechanism"] == "Clear"}
    assert clear == {row["repetition"]: row["value"] for row in alone}
    assert len(store.find(list(Sweep(mechanisms=["Clear"], repetitions=2, **SMALL).points()))) == 2


def test_a_servers_sweeps_go_to_the_cluster_and_private_data_do_not(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBMC_DASK", cluster[0])
    runner = JobRunner(store=MemoryStore())
    assert isinstance(runner.executor, LocalExecutor)
    public = runner.submit(Sweep(mechanisms=["Clear"], repetitions=3, **SMALL), "ann")
    ended = runner.wait(public, "ann", 120)
    assert ended is not None and (ended.state, ended.n_rows) == ("done", 3)
    assert not runner.executor._processes
    train, test = synthetic(shape=(30, 20), ratio=0.5).observations.split(0.8, rng=0)
    private = runner.submit(Sweep(dataset=InMemory(train, test), mechanisms=["Clear"]), "ann")
    ended = runner.wait(private, "ann", 120)
    assert ended is not None and (ended.state, ended.n_rows) == ("done", 1)
    assert len(runner.executor._processes) == 1
    runner.close()
