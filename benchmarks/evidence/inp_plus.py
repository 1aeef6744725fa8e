"""InP+ against its targets: ML-100K (u1), the paper's synthetic setting, and the processor time that it takes.

What is measured is kept line by line in build/evidence/inp_plus.jsonl, so that a stopped run goes on where it was.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd
from _kept import Kept

from obmc import metrics
from obmc.constraints import ConstraintSet
from obmc.datasets import movielens_100k, synthetic
from obmc.experiments.seeds import data_seed
from obmc.links import Gaussian, Link, Logistic
from obmc.mechanisms import Clear, InputPerturbationPlus
from obmc.observations import Observations
from obmc.solvers import Completion

# To be raised whenever the estimator changes.
VERSION = 3
TAU = float(np.sqrt(943 * 1682))
TOLERANCE = 1e-3

ACCURACY = {0.5: 0.640, 1.0: 0.684, 2.0: 0.710, 4.0: 0.722}
ACCURACY_OF_CLEAR = 0.726
BELOW_EFFECTS = 0.002
CPU_SECONDS = 20.0
DRAWS, DRAWS_AT_ONE, DRAWS_SYNTHETIC = 10, 3, 40
# The choice of structure was developed on draws of seeds 0, 1 and 5000 onwards, so what is reported is of another.
SEED = 2
EPSILONS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
ARE_AT_MOST = 1.05
ARE_AT_80 = {4.0: 0.85, 10.0: 0.80}


def main() -> int:
    kept, missed = Kept("inp_plus", VERSION), []
    print("# InP+: measured against its targets\n")
    missed += films(kept)
    missed += made_up(kept)
    print("\n**Every target is met.**" if not missed else "\nMissed: " + "; ".join(missed))
    # The page says what was missed: it is filed all the same (MISSED of the command).
    return 3 if missed else 0


def films(kept: Kept) -> list[str]:
    """Sign accuracy on u1.test, with effects alone on the same noised signs, and the time."""
    data = movielens_100k()
    link = Logistic()

    def one(alpha: float, epsilon: float, draw: int, low_rank: bool) -> dict[str, float]:
        mechanism = InputPerturbationPlus(epsilon=epsilon, low_rank=low_rank)
        began = time.process_time()
        done = mechanism.release(data.train, link, ConstraintSet(TAU, alpha), rng=draw, tol=TOLERANCE).completion
        seconds = time.process_time() - began
        return {
            "accuracy": metrics.sign_accuracy(done, data.test),
            "log_loss": metrics.log_loss(done, data.test),
            "auc": metrics.auc(done, data.test),
            "radius": done.tau,
            "gap": done.gap,
            "seconds": seconds,
        }

    def clear() -> dict[str, float]:
        began = time.process_time()
        done = Clear(effects=True).release(data.train, link, ConstraintSet(TAU, 3.0), tol=TOLERANCE).completion
        seconds = time.process_time() - began
        return {
            "accuracy": metrics.sign_accuracy(done, data.test),
            "log_loss": metrics.log_loss(done, data.test),
            "auc": metrics.auc(done, data.test),
            "error_by_users": error_by_users(done, data.test),
            "seconds": seconds,
        }

    rows = []
    for alpha, draws in ((3.0, DRAWS), (1.0, DRAWS_AT_ONE)):
        for draw in range(draws):
            for epsilon in ACCURACY:
                plus, alone = (
                    kept.of(
                        ["ml-100k", alpha, epsilon, draw, low_rank],
                        lambda a=alpha, e=epsilon, d=draw, w=low_rank: one(a, e, d, w),
                    )
                    for low_rank in (True, False)
                )
                rows.append({"alpha": alpha, "epsilon": epsilon, **plus, "alone": alone["accuracy"]})
    unprotected = kept.of(["ml-100k", "clear"], clear)
    table = pd.DataFrame(rows)
    error = float(np.sqrt(unprotected["accuracy"] * (1.0 - unprotected["accuracy"]) / len(data.test)))
    majority = metrics.majority_accuracy(data.train, data.test)

    print(f"## ML-100K, u1.test, logistic link, radius at most {TAU:.2f}, certified gap at most {TOLERANCE:g}\n")
    print(
        f"Means over {DRAWS} draws of the noise at the public bound alpha = 3 ({DRAWS_AT_ONE} draws at alpha = 1). "
        "*Effects alone* see the same noised signs. *Spread* is the standard deviation over the draws; it does not "
        f"contain the sampling error of the {len(data.test):,} test ratings, which is the same for all rows: "
        f"{error:.4f} if they were independent, {unprotected['error_by_users']:.4f} where whole users are drawn. "
        f"The majority class scores {majority:.4f}.\n"
    )
    print("| alpha | eps | InP+ | spread | effects alone | difference | log-loss | AUC | radius | CPU s (largest) |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    missed = []
    for (alpha, epsilon), part in table.groupby(["alpha", "epsilon"], sort=False):
        mean, difference = part["accuracy"].mean(), (part["accuracy"] - part["alone"]).mean()
        print(
            f"| {alpha:g} | {epsilon:g} | {mean:.4f} | {part['accuracy'].std():.4f} | {part['alone'].mean():.4f} "
            f"| {difference:+.4f} | {part['log_loss'].mean():.4f} | {part['auc'].mean():.4f} "
            f"| {part['radius'].mean():.0f} | {part['seconds'].mean():.1f} ({part['seconds'].max():.1f}) |"
        )
        if alpha == 3.0 and mean < ACCURACY[epsilon]:
            missed.append(f"accuracy {mean:.4f} at eps {epsilon:g}, target {ACCURACY[epsilon]}")
        if difference < -BELOW_EFFECTS:
            missed.append(f"{difference:+.4f} against effects alone at eps {epsilon:g}, alpha {alpha:g}")
        if part["seconds"].max() > CPU_SECONDS:
            missed.append(f"{part['seconds'].max():.1f} CPU s at eps {epsilon:g}, alpha {alpha:g}")
    print(
        f"\nClear with effects (no privacy): accuracy {unprotected['accuracy']:.4f}, log-loss "
        f"{unprotected['log_loss']:.4f}, AUC {unprotected['auc']:.4f}, {unprotected['seconds']:.1f} CPU s.\n"
    )
    print(
        f"Targets: InP+ at least {', '.join(f'{value:.3f}' for value in ACCURACY.values())} at eps "
        f"{', '.join(f'{epsilon:g}' for epsilon in ACCURACY)}; never below effects alone by more than "
        f"{BELOW_EFFECTS:g} in the mean; Clear with effects at least {ACCURACY_OF_CLEAR}; at most {CPU_SECONDS:g} CPU "
        "seconds, cross-validation included.\n"
    )
    if unprotected["accuracy"] < ACCURACY_OF_CLEAR:
        missed.append(f"Clear with effects {unprotected['accuracy']:.4f}, target {ACCURACY_OF_CLEAR}")
    return missed


def error_by_users(done: Completion, test: Observations) -> float:
    """The standard error of the accuracy where whole users are drawn: what a user's ratings share counts once.

    sqrt(sum over users of (sum of their ratings' deviations from the mean)^2) / n, the error of a ratio estimate.
    """
    right = np.where(done.predict(test.rows, test.cols) >= 0.0, 1, -1) == test.signs
    sums = np.bincount(test.rows, weights=right - right.mean())
    return float(np.sqrt((sums**2).sum())) / len(test)


def made_up(kept: Kept) -> list[str]:
    """The relative error in the paper's synthetic setting."""
    print(f"## Synthetic, 100 x 100, r = alpha = sigma = 1, {DRAWS_SYNTHETIC} draws\n")
    print("Mean relative error with its standard error; zeros score 1. In brackets the share of draws left at zeros.\n")
    settings: list[tuple[str, Link, float]] = [
        (name, link, ratio)
        for ratio in (0.15, 0.8)
        for name, link in (("logistic", Logistic()), ("Gaussian", Gaussian()))
    ]
    print("| link, ratio | " + " | ".join(f"eps {epsilon:g}" for epsilon in EPSILONS) + " |")
    print("|---" * (len(EPSILONS) + 1) + "|")
    missed = []
    for name, link, ratio in settings:
        cells = []
        for epsilon in EPSILONS:
            draws = [
                kept.of(
                    ["synthetic", name, ratio, epsilon, draw],
                    lambda h=link, q=ratio, e=epsilon, d=draw: relative_error(h, q, e, d),
                )
                for draw in range(DRAWS_SYNTHETIC)
            ]
            errors = np.array([entry["are"] for entry in draws])
            zeros = np.mean([entry["zeros"] for entry in draws])
            cells.append(f"{errors.mean():.3f} ± {errors.std(ddof=1) / np.sqrt(len(errors)):.3f} ({zeros:.0%})")
            limit = ARE_AT_80.get(epsilon, ARE_AT_MOST) if (name, ratio) == ("logistic", 0.8) else ARE_AT_MOST
            if errors.mean() > limit:
                missed.append(
                    f"relative error {errors.mean():.3f} at {name}, {ratio:g}, eps {epsilon:g}, target {limit}"
                )
        print(f"| {name}, {ratio:.0%} | " + " | ".join(cells) + " |")
    print(
        f"\nTargets: at most {ARE_AT_MOST:g} everywhere; at ratio 80 %, logistic link, at most "
        + " and ".join(f"{limit:.2f} at eps {epsilon:g}" for epsilon, limit in ARE_AT_80.items())
        + "."
    )
    return missed


def relative_error(link: Link, ratio: float, epsilon: float, draw: int) -> dict[str, float]:
    problem = synthetic(ratio=ratio, link=link, rng=data_seed(SEED, draw))
    cset = ConstraintSet.for_rank((100, 100))
    done = (
        InputPerturbationPlus(epsilon=epsilon)
        .release(problem.observations, link, cset, rng=data_seed(SEED + 1000, draw))
        .completion
    )
    return {"are": metrics.average_relative_error(done, problem.truth), "zeros": float(done.solver == "none")}


if __name__ == "__main__":
    sys.exit(main())
