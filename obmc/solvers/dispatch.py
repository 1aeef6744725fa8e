"""From a problem to its completion: the choice of the solver, and ``complete``, the estimator without privacy."""

from __future__ import annotations

from obmc.constraints import ConstraintSet
from obmc.errors import check_choice, check_instance, check_integer, check_number
from obmc.links import Link
from obmc.losses import Loss, likelihood
from obmc.observations import Observations, Omega
from obmc.solvers.admm import admm
from obmc.solvers.completion import Callback, Completion, DenseEstimate, FactoredEstimate
from obmc.solvers.factored import FactoredOutcome, factored
from obmc.solvers.problem import Problem
from obmc.solvers.spg import spg

SOLVERS = ("auto", "admm", "spg", "factored")
MAX_ITER = {"admm": 5_000, "spg": 2_000, "factored": 2_000}
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
    effects: float | None = None,
    low_rank: bool = True,
) -> Completion:
    """Minimise sum over Omega of l(X_ij) + ridge/2 ||X||_F^2 over C. What every mechanism calls on its noised loss.

    With ``effects`` = lam the matrix is mu + b 1' + 1 c' + L, ||L||_* <= tau, box on the sum, and
    lam/2 (|b|^2 + |c|^2) is added: one jointly convex problem.

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
        "admm", "spg", "factored", or "auto": admm where the matrix fits densely, factored above. The factored solver
        imposes the box only at the end, by a clip; the result's ``solver`` and ``message`` say so.
    tol
        Relative gap at which to stop, in (0, 1): (f - f*) / f(0). Without convexity, relative residuals.
    max_iter
        Largest number of iterations; None for the solver's own.
    callback
        Called after every iteration; returning False stops the solver.
    ridge
        Weight of 1/2 ||X||_F^2, at least 0.
    effects
        Weight lam of the effects' ridge, above 0; None for no effects. Not for "spg".
    low_rank
        False: the effects alone, L = 0.

    Raises
    ------
    ValueError
        Naming the argument that is out of range, or a size that no dense solver can hold.

    Source: docs/mathematics.md, Solvers.
    """
    check_instance("link", link, Link, "Logistic() or Gaussian(sigma)")
    check_instance("cset", cset, ConstraintSet, "a ConstraintSet(tau, alpha)")
    if loss.n != len(omega):
        raise ValueError(f"loss must have as many entries as omega, {len(omega)}, got {loss.n}.")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of a Progress, or None, got {callback!r}.")
    name = check_choice("solver", solver, SOLVERS)
    tolerance = check_number("tol", tol, low=0.0, high=1.0, open_low=True, open_high=True)
    fits = omega.shape[0] * omega.shape[1] <= DENSE_LIMIT
    chosen = ("admm" if fits else "factored") if name == "auto" else name
    if chosen != "factored" and not fits:
        raise ValueError(
            f"solver {chosen!r} works on dense matrices of at most {DENSE_LIMIT:,} entries, "
            f"but shape is {omega.shape[0]} x {omega.shape[1]}; use 'factored' or 'auto'."
        )
    weight = None if effects is None else check_number("effects", effects, low=0.0, open_low=True)
    if weight is not None and (chosen == "spg" or ridge):
        raise ValueError("effects go with the solvers 'admm' and 'factored' only, and without a ridge.")
    if weight is None and not low_rank:
        raise ValueError("low_rank must be True where there are no effects.")
    limit = MAX_ITER[chosen] if max_iter is None else check_integer("max_iter", max_iter, low=1)
    problem = Problem(loss, omega, cset, check_number("ridge", ridge, low=0.0), weight, low_rank)
    if chosen == "factored":
        return _from_factors(factored(problem, tolerance, limit, callback), link, cset)
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
        effects=outcome.effects,
    )


def _from_factors(outcome: FactoredOutcome, link: Link, cset: ConstraintSet) -> Completion:
    """The completion of a factored solve: objective and gap are those of the problem without the box."""
    boxless = "" if cset.alpha is None else f"; the bound {cset.alpha:g} was imposed only at the end, by a clip"
    return Completion(
        estimate=FactoredEstimate(outcome.left, outcome.right, outcome.effects, cset.alpha),
        link=link,
        tau=cset.tau,
        alpha=cset.alpha,
        objective=outcome.objective,
        gap=outcome.gap,
        converged=outcome.converged,
        iterations=outcome.iterations,
        seconds=outcome.seconds,
        solver="factored",
        message=outcome.message + boxless,
        effects=outcome.effects,
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

    Raises ``ValueError`` naming the argument that is out of its range.

    Source: paper, equation (2); Davenport et al. 2014.
    """
    check_instance("obs", obs, Observations, "an Observations(rows, cols, signs, shape)")
    check_instance("link", link, Link, "Logistic() or Gaussian(sigma)")
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
