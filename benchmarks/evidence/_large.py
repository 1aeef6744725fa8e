"""Large problems, each measured in a process of its own, whose peak memory is then that of the problem alone.

    python benchmarks/evidence/_large.py million | growth N | film-file ROWS

prints what was measured as JSON.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import obmc
from obmc.losses import likelihood
from obmc.observations import Observations
from obmc.solvers.lowrank import Descent, Model, Positions
from obmc.solvers.problem import Problem

EPSILON = 2.0
HELD_OUT = 0.02
USERS, ITEMS = 162_541, 59_047
# Steps through the items that share no factor with their number, so that no user rates an item twice.
STRIDES = (7, 11, 101, 997, 5003, 20011)


def measured(*arguments: str) -> dict[str, Any]:
    """What this script prints for the arguments, run in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def peak() -> float:
    """The largest resident memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0**2


def popular(shape: tuple[int, int], n: int, rank: int, seed: int) -> tuple[Observations, Observations]:
    """Training and held-out signs of a matrix of this rank; few items and users have most of the ratings."""
    rng = np.random.default_rng(seed)
    sides = [rng.permutation(d) for d in shape]
    drawn = int(1.5 * n)
    rows, cols = (
        sides[k][np.minimum((shape[k] * rng.random(drawn) ** 2).astype(np.int64), shape[k] - 1)] for k in (0, 1)
    )
    flat = rng.permutation(np.unique(rows * shape[1] + cols))[:n]
    rows, cols = np.divmod(np.sort(flat), shape[1])
    left, right = (rng.standard_normal((d, rank)).astype(np.float32) for d in shape)
    truth = np.empty(len(rows))
    for begin in range(0, len(rows), 1_000_000):
        part = slice(begin, begin + 1_000_000)
        truth[part] = np.einsum("ij,ij->i", left[rows[part]], right[cols[part]])
    positive = rng.random(len(rows)) < obmc.Logistic().probability(2.0 * truth / np.sqrt(rank))
    whole = Observations(rows, cols, np.where(positive, 1, -1), shape)
    return whole.split(0.95, seed)


def million() -> dict[str, Any]:
    """1 million ratings of 6,040 users for 3,706 items, solved to a gap of 1e-3."""
    train, test = popular((6040, 3706), 1_050_000, 3, 0)
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    done = obmc.complete(train, obmc.Logistic(), obmc.ConstraintSet.for_rank(train.shape), "factored", tol=1e-3)
    return {
        "ratings": len(train),
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "gigabytes": peak(),
        "gigabytes_before": before,
        "gap": done.gap,
        "iterations": done.iterations,
        "rank": done.rank(1e-9),
        "accuracy": obmc.metrics.sign_accuracy(done, test),
        "majority": obmc.metrics.majority_accuracy(train, test),
    }


def growth(n: int) -> dict[str, Any]:
    """CPU seconds of a step on n ratings of a fixed matrix, at a radius that keeps the rank and the block the same."""
    train, _ = popular((20_000, 10_000), int(n / 0.95), 1, 0)
    pattern = Positions(train.omega)
    problem = Problem(likelihood(obmc.Logistic(), train.signs), train.omega, obmc.ConstraintSet(100.0, None))
    descent = Descent(Model(problem, pattern, pattern.arranged(problem.loss)), 100.0)
    seconds, ranks = [], []
    for _ in range(9):
        passes, began = pattern.passes, time.process_time()
        descent.step()
        # A step that was shortened on the way or turned its block twice counts once for every time.
        seconds.append((time.process_time() - began) / (pattern.passes - passes) * 3.0)
        ranks.append(descent.point.left.shape[1])
    return {"n": len(train), "cpu": float(np.median(seconds[2:])), "rank": int(np.median(ranks)), "gigabytes": peak()}


def write_ratings(path: Path, n: int) -> None:
    """n half-star ratings, whose sign follows a pattern of users and items but for a shift that is the user's own."""
    rng = random.Random(78)
    users = min(USERS, max(1, n // 5))
    share, extra = divmod(n, users)
    with path.open("w", encoding="ascii", buffering=1 << 20) as file:
        file.write("userId,movieId,rating,timestamp\n")
        for user in range(users):
            count = share + (user < extra)
            start, step, shift = rng.randrange(ITEMS), rng.choice(STRIDES), rng.randrange(-1, 2)
            order = np.arange(1, count + 1)
            items = (start + step * order) % ITEMS
            noise = ((items * 2_654_435_761 + user * 40_503) >> 7) % 3 - 1
            halves = 6 + shift + np.where((user ^ items) & 1, 2, -2) + noise
            lines = zip(items.tolist(), halves.tolist(), order.tolist(), strict=True)
            file.write("".join(f"{user + 1},{i + 1},{h / 2},{1_099_999_999 + k}\n" for i, h, k in lines))


def film_file(n: int) -> dict[str, Any]:
    """Reading a file of n ratings, and InP+ on them with and without its low-rank part."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        subprocess.run([sys.executable, __file__, "write", str(path), str(n)], check=True)
        wall, cpu = time.perf_counter(), time.process_time()
        table = obmc.datasets.read_ratings(path)
    read = {"read_cpu": time.process_time() - cpu, "read_wall": time.perf_counter() - wall}
    train, test = table.binarize("mean").split(1.0 - HELD_OUT, 0)
    del table
    found: dict[str, Any] = {"ratings": n, "users": train.shape[0], "items": train.shape[1], **read}
    cset = obmc.ConstraintSet.for_rank(train.shape)
    for name, low_rank in (("plus", True), ("alone", False)):
        start_wall, start = time.perf_counter(), time.process_time()
        mechanism = obmc.InputPerturbationPlus(epsilon=EPSILON, low_rank=low_rank)
        done = mechanism.release(train, obmc.Logistic(), cset, rng=0, tol=1e-3).completion
        found[f"{name}_cpu"] = time.process_time() - start
        found[f"{name}_wall"] = time.perf_counter() - start_wall
        found[f"{name}_accuracy"] = obmc.metrics.sign_accuracy(done, test)
        found[f"{name}_gap"] = done.gap
        found.setdefault("total_cpu", time.process_time() - cpu)
        found.setdefault("total_wall", time.perf_counter() - wall)
        found.setdefault("gigabytes", peak())
    return found


def main(what: str, *rest: str) -> None:
    if what == "write":
        write_ratings(Path(rest[0]), int(rest[1]))
        return
    asked = {"million": million, "growth": growth, "film-file": film_file}[what]
    print(json.dumps(asked(*map(int, rest))))


if __name__ == "__main__":
    main(*sys.argv[1:])
