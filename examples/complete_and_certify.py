"""Complete a matrix from 15 % of its signs, and prove how close to the optimum the answer is."""

import obmc

link = obmc.Logistic()
problem = obmc.datasets.synthetic(shape=(100, 100), rank=1, alpha=1.0, ratio=0.15, link=link, rng=0)
constraints = obmc.ConstraintSet.for_rank((100, 100), rank=1, alpha=1.0)

done = obmc.complete(problem.observations, link, constraints, tol=1e-4)
print(done.message)
print(f"objective {done.objective:.2f}, at most {done.gap:.1e} of f(0) above the optimum, {done.iterations} iterations")
print(
    f"average relative error {obmc.metrics.average_relative_error(done, problem.truth):.3f} (a matrix of zeros has 1)"
)
