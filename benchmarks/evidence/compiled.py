"""Compiled kernels: what numba would change in the factored solver, measured before anybody depends on it.

The solver's passes over the ratings are of two kinds: products with the sparse gradient, which scipy does in compiled
code, and the values of left right' at the observed entries, which numpy does. The second kind is compared with the same
loop compiled by numba, alone and in whole solves of the same problem; the numbers of both must agree.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numba  # type: ignore[import-not-found]
import numpy as np
from _large import popular
from numpy.typing import NDArray

import obmc
from obmc.solvers import lowrank
from obmc.solvers.lowrank import Effects, Positions

Array = NDArray[np.float64]

SHAPES = ((6_040, 3_706, 1_000_000), (12_000, 8_000, 1_000_000))
RANK = 16
REPEATS = 5
# Of a whole solve, the same for both kernels; most of them end before.
ITERATIONS = 60


@numba.njit(cache=False)
def _entries(rows: NDArray[np.int32], cols: NDArray[np.int32], left: Array, right: Array, out: Array) -> None:
    for place in range(len(rows)):
        total = 0.0
        for k in range(left.shape[1]):
            total += left[rows[place], k] * right[cols[place], k]
        out[place] = total


def compiled_values(self: Positions, left: Array, right: Array, effects: Effects | None) -> Array:
    """``Positions.values`` by the compiled loop."""
    self.passes += 1
    out = np.zeros(len(self.rows))
    if left.shape[1] > 0:
        _entries(self.rows, self.cols, np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    if effects is not None:
        out += effects.at(self.rows, self.cols)
    return out


def least(function: Callable[[], object]) -> float:
    """The smallest CPU time of a few runs, seconds."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def solved(train: obmc.Observations) -> tuple[float, float, float]:
    """CPU seconds of a solve to a gap of 1e-3, those of them in ``Positions.values``, and the objective."""
    cset = obmc.ConstraintSet.for_rank(train.shape)
    spent = 0.0
    values = lowrank.Positions.values

    def timed(self: Positions, left: Array, right: Array, effects: Effects | None) -> Array:
        nonlocal spent
        started = time.process_time()
        found = values(self, left, right, effects)
        spent += time.process_time() - started
        return found

    lowrank.Positions.values = timed
    started = time.process_time()
    try:
        done = obmc.complete(train, obmc.Logistic(), cset, "factored", tol=1e-3, max_iter=ITERATIONS)
    finally:
        lowrank.Positions.values = values
    return time.process_time() - started, spent, done.objective


def main() -> int:
    numpy_values = Positions.values
    lines, gains, agree = [], [], True
    started = time.process_time()
    _entries(np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
    compiling = time.process_time() - started
    for d1, d2, n in SHAPES:
        train, _ = popular((d1, d2), round(1.05 * n), 3, 0)
        positions = Positions(train.omega)
        rng = np.random.default_rng(0)
        left, right = rng.standard_normal((d1, RANK)), rng.standard_normal((d2, RANK))
        once = {
            "numpy": least(lambda: numpy_values(positions, left, right, None)),  # noqa: B023
            "numba": least(lambda: compiled_values(positions, left, right, None)),  # noqa: B023
        }
        agree &= np.allclose(
            numpy_values(positions, left, right, None), compiled_values(positions, left, right, None), rtol=1e-12
        )
        whole = {}
        for name, values in (("numpy", numpy_values), ("numba", compiled_values)):
            Positions.values = values
            whole[name] = solved(train)
        Positions.values = numpy_values
        gains.append(f"{1.0 - whole['numba'][0] / whole['numpy'][0]:.0%} at {d1:,} x {d2:,}")
        agree &= abs(whole["numpy"][2] / whole["numba"][2] - 1.0) < 1e-3
        for name in ("numpy", "numba"):
            total, spent, _ = whole[name]
            lines.append(
                f"| {d1:,} x {d2:,}, {len(train):,} ratings | {name} | {1e3 * once[name]:.1f} | {total:.2f} |"
                f" {spent / total:.0%} |"
            )
    print("# Compiled kernels: would numba help?\n")
    print((__doc__ or "").partition("\n\n")[2].replace("\n", " ").strip() + "\n")
    print(
        f"| problem | kernel | one pass of rank {RANK}, CPU ms | whole solve, CPU s | of it in that pass |\n"
        "|---|---|---|---|---|"
    )
    print("\n".join(lines))
    print(
        f"\nCompiling the one loop takes {compiling:.1f} CPU s on its first call (numba {numba.__version__}). "
        f"The two kernels {'agree' if agree else 'do NOT agree'}.\n"
    )
    print(
        f"A whole solve would be shorter by {' and by '.join(gains)}: most where the rank grows, and the passes with "
        "it. The targets are met without that, and numba with its compiler takes some 210 MB, as much as numpy and "
        "scipy together, so the solver stays with these two."
    )
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
