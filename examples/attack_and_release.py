"""Output perturbation, attacked; and a release that may leave the house."""

from pathlib import Path

import obmc

bridge = obmc.datasets.bridge(20)
claimed = obmc.OutputPerturbation(epsilon=0.5, calibration="paper")
audit = obmc.audit(claimed, bridge.observations, obmc.Logistic(), bridge.constraints, entry=bridge.entry, runs=400)
print(audit.verdict)

table = obmc.datasets.read_ratings(Path(__file__).parents[1] / "data" / "sample_ratings.csv")
observations = table.binarize(threshold=3.5)  # a public constant, not the mean of the ratings
constraints = obmc.ConstraintSet.for_rank(observations.shape)
ledger = obmc.Ledger.for_observations("sample", observations, epsilon_budget=2.0)

mechanism = obmc.InputPerturbationPlus(epsilon=2.0)
guarantee = mechanism.guarantee(obmc.Logistic(), constraints, observations.shape)
release = ledger.spend(
    guarantee, lambda: mechanism.release(observations, obmc.Logistic(), constraints, rng=obmc.SECURE)
)
print(release.guarantee.headline)
print(ledger.statement)
