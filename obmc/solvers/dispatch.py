"""From a problem to its completion: the choice of the solver, and ``complete``, the estimator without privacy."""

from __future__ import annotations

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice, check_integer, check_number
from obmc.links import Link
from obmc.losses import Loss, likelihood
from obmc.observations import Observations, Omega
from obmc.solvers.admm import admm
from obmc.solvers.certificate import Problem
from obmc.solvers.completion import Callback, Completion, DenseEstimate
from obmc.solvers.spg import spg

SOLVERS = ("auto", "admm", "spg")
MAX_ITER = {"admm": 5_000, "spg": 2_000}
# Above this many entries a dense solve (about ten matrices of doubles) would take more than two gigabytes.
DENSE_LIMIT = 25_000_000


def minimise(
    loss: Loss,
    omega: Omega,
    link: Link,
    cset: ConstraintSet,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int | None = None,
    callback: Callback | None = None,
    ridge: float = 0.0,
) -> Completion:
    """Minimise sum over Omega of l(X_ij) + ridge/2 ||X||_F^2 over C. What every mechanism calls on its noised loss.

    Parameters
    ----------
    loss
        Loss of the n observed entries, in the order of ``omega``. It may come from noised labels; the solver sees
        nothing else of the data.
    omega
        The observed positions.
    link
        The link that the completion turns entries into probabilities with.
    cset
        The constraint set C.
    solver
        "admm", "spg", or "auto" (admm).
    tol
        Relative gap at which to stop, in (0, 1): (f - f*) / f(0). Without convexity, relative residuals.
    max_iter
        Largest number of iterations; None for the solver's own.
    callback
        Called after every iteration; returning False stops the solver.
    ridge
        Weight of 1/2 ||X||_F^2, at least 0.

    Raises
    ------
    ValueError
        Naming the argument that is out of range, or a size that no dense solver can hold.

    Source: theory section 2.
    """
    name = check_choice("solver", solver, SOLVERS)
    tolerance = check_number("tol", tol, low=0.0, high=1.0, open_low=True, open_high=True)
    if omega.shape[0] * omega.shape[1] > DENSE_LIMIT:
        raise ValueError(
            f"shape {omega.shape[0]} x {omega.shape[1]} is too large for the dense solvers, "
            f"which take at most {DENSE_LIMIT:,} entries."
        )
    chosen = "admm" if name == "auto" else name
    limit = MAX_ITER[chosen] if max_iter is None else check_integer("max_iter", max_iter, low=1)
    problem = Problem(loss, omega, cset, check_number("ridge", ridge, low=0.0))
    outcome = (spg if chosen == "spg" else admm)(problem, tolerance, limit, callback)
    return Completion(
        estimate=DenseEstimate(outcome.matrix),
        link=link,
        tau=cset.tau,
        alpha=cset.alpha,
        objective=outcome.objective,
        gap=outcome.gap,
        converged=outcome.converged,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        solver=chosen,
        message=outcome.message,
    )


def complete(
    obs: Observations,
    link: Link,
    cset: ConstraintSet,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> Completion:
    """One-bit matrix completion without privacy: the maximum likelihood matrix within C.

        minimise  - sum over Omega of [ (1+Y)/2 log h(X) + (1-Y)/2 log(1 - h(X)) ]
        subject to  ||X||_* <= tau,  max |X_ij| <= alpha.

    Parameters
    ----------
    obs
        The observed signs.
    link
        ``Logistic()`` or ``Gaussian(sigma)``.
    cset
        Radius tau and bound alpha (None: nuclear norm alone).
    solver, tol, max_iter, callback
        As for ``minimise``.

    Source: paper, equation (3); Davenport et al. 2014.
    """
    return minimise(
        likelihood(link, obs.signs),
        obs.omega,
        link,
        cset,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
