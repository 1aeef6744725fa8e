"""Experiments: Figure 1 whole, what runner and store add to a run, and how long it takes from the store.

Targets: Figure 1 (2 links x 40 draws x 10 epsilons x 4 mechanisms, and Clear) within 90 s on two cores, its workers
busy at least 85 % of the time; runner and store below 3 % of a sweep of 2,000 runs at 100 x 100, which take some 40 ms
each; the whole figure from the store within 0.5 s.
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import wait
from pathlib import Path

import pandas as pd

from obmc.experiments import LocalExecutor, Progress, Store, Sweep, run
from obmc.experiments.figures import find_figure
from obmc.experiments.jobs import duration

WORKERS = 2
RUN_SECONDS = 0.040


def main() -> int:
    sweeps = [find_figure(name).parts[part] for name in ("1a", "1b") for part in ("paper", "paper-gradient")]
    with tempfile.TemporaryDirectory() as folder:
        added = overhead(Store(Path(folder) / "overhead.sqlite3"))
        store = Store(Path(folder) / "results.sqlite3")
        runs, seconds = figure_1(sweeps, store)
        cached = min(from_store(sweeps, store) for _ in range(3))
    print(f"Figure 1: {len(runs):,} runs on {WORKERS} workers")
    for (link, mechanism), mean in runs.groupby(["link", "mechanism"], sort=False)["seconds"].mean().items():
        print(f"    {link:9} {mechanism:9} {1e3 * mean:7.1f} ms per run")
    targets = {
        "whole figure, s": (seconds, 90.0),
        "share of the time that workers are idle": (1.0 - runs["seconds"].sum() / (WORKERS * seconds), 0.15),
        f"runner and store, share of runs of {1e3 * RUN_SECONDS:g} ms": (added / RUN_SECONDS, 0.03),
        "whole figure from the store, s": (cached, 0.5),
    }
    for name, (value, target) in targets.items():
        print(f"{name}: {value:.3g} (at most {target:g}){'' if value <= target else '  MISSED'}")
    return int(any(value > target for value, target in targets.values()))


def figure_1(sweeps: list[Sweep], store: Store) -> tuple[pd.DataFrame, float]:
    """The figure's runs, each once, and the time they took together."""

    def show(progress: Progress) -> None:
        left = "" if progress.remaining != progress.remaining else f", {duration(progress.remaining)} left"
        print(f"\r{progress.done} of {progress.total}{left}    ", end="", file=sys.stderr, flush=True)

    with LocalExecutor(WORKERS) as executor:
        wait(executor.warm_up())
        started = time.perf_counter()
        rows = [row for sweep in sweeps for row in run(sweep, executor, store, show)]
        seconds = time.perf_counter() - started
    print(file=sys.stderr)
    table = pd.DataFrame(rows)
    return table[table["metric"] == "are"], seconds


def from_store(sweeps: list[Sweep], store: Store) -> float:
    """The time to get the figure's rows out of the store."""
    started = time.perf_counter()
    rows = [row for sweep in sweeps for row in run(sweep, None, store)]
    assert len(rows) > 3_000
    return time.perf_counter() - started


def overhead(store: Store) -> float:
    """CPU seconds that runner, executor, worker and store take for a run, beside its own computation.

    Measured on 2,000 runs that compute next to nothing: the majority class, on 40 draws with 50 radii each.
    """
    radii = [0.02 * (number + 1) for number in range(50)]
    sweep = Sweep(mechanisms=["Majority"], tau_multiple=radii, repetitions=40, metrics=["are"])
    with LocalExecutor(1) as executor:
        wait(executor.warm_up())
        before = executor.submit(time.process_time).result()
        started = time.process_time()
        count = sum(1 for _ in run(sweep, executor, store))
        own = time.process_time() - started
        others = executor.submit(time.process_time).result() - before
    return (own + others) / count


if __name__ == "__main__":
    sys.exit(main())
