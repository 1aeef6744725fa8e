"""``python -m obmc audit``: attack mechanisms, and say how much they reveal at least."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import obmc
from obmc.constraints import ConstraintSet
from obmc.datasets.bridge import bridge
from obmc.datasets.registry import DATA_SETS, load
from obmc.datasets.synthetic import synthetic
from obmc.errors import check_choice, check_integer, check_number
from obmc.experiments.commands.console import Table, add_link, check_output, link_of
from obmc.experiments.commands.sweep import parse_mechanism
from obmc.experiments.mechanisms import MAJORITY, MECHANISMS, MechanismSpec
from obmc.experiments.runner import one_blas_thread
from obmc.experiments.sweep import several
from obmc.links import Link
from obmc.observations import Observations
from obmc.privacy.audit import STATISTICS, Audit

COLUMNS = (
    "mechanism", "calibration", "options", "link", "sigma", "claimed", "delta", "proven", "lower_bound", "confidence",
    "comparisons", "exact", "ceiling", "refuted", "entry_row", "entry_col", "statistic", "runs", "true_hits",
    "false_hits", "evaluated", "seed",
)  # fmt: skip
BRIDGE = "bridge"
SYNTHETIC = "synthetic"


def audit(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Attack mechanisms on two data sets that differ in one rating, and bound their true epsilon from below.

    Every run of a mechanism is reduced to a number that tells the two worlds apart as well as it can; the bound holds
    with the stated confidence for all audits of one command together, whatever the attack. An audit can refute a claim
    and never confirm one.
    """
    names = ", ".join(name for name in MECHANISMS if name != MAJORITY)
    parser.add_argument(
        "--mechanisms",
        nargs="+",
        default=["InP"],
        metavar="NAME",
        help=f"{names}; with settings as ObjP:displayed or OutP:paper,postprocess=rank,rank=1 (default: InP)",
    )
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0], metavar="X", help="default: 1")
    data = parser.add_argument_group("on which data")
    data.add_argument(
        "--dataset", default=SYNTHETIC, metavar="NAME", help=f"{SYNTHETIC} (default), {BRIDGE}, {', '.join(DATA_SETS)}"
    )
    data.add_argument("--size", type=int, default=20, metavar="D", help="of synthetic or bridge, D x D (default: 20)")
    data.add_argument("--ratio", type=float, default=0.3, metavar="X", help="of synthetic data (default: 0.3)")
    add_link(data)
    data.add_argument("--alpha", type=float, default=1.0, metavar="X", help="bound of the entries (default: 1)")
    data.add_argument("--rank", type=int, default=1, metavar="R", help="R of tau = alpha sqrt(R d1 d2) (default: 1)")
    how = parser.add_argument_group("how")
    how.add_argument("--runs", type=int, default=2000, metavar="N", help="runs in each world (default: 2000)")
    how.add_argument("--entry", type=int, nargs=2, metavar=("ROW", "COL"), help="the observed entry that is flipped")
    how.add_argument("--statistic", default=STATISTICS[0], choices=STATISTICS, help=f"default: {STATISTICS[0]}")
    how.add_argument("--confidence", type=float, default=0.95, metavar="X", help="of all audits (default: 0.95)")
    how.add_argument("--tol", type=float, default=1e-6, metavar="X", help="of the solves (default: 1e-6)")
    how.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--output", metavar="FILE", help="a .csv or .parquet file (default: CSV on the output)")

    def run(options: argparse.Namespace) -> None:
        target = check_output(options.output)
        epsilons = several("--epsilons", options.epsilons, lambda _, epsilon: epsilon)  # mechanisms check each value
        specs = [_spec(text) for text in options.mechanisms]
        planned = [(spec, epsilon) for spec in specs for epsilon in (epsilons if spec.is_private else [1.0])]
        mechanisms = [(spec, spec.build(epsilon)) for spec, epsilon in planned]
        link = link_of(options)
        seed = check_integer("--seed", options.seed, low=0)
        obs, cset, entry = _data(options, seed, link)
        with one_blas_thread(), Table(target, COLUMNS) as table:
            for place, (spec, mechanism) in enumerate(mechanisms):
                found = obmc.audit(
                    mechanism,
                    obs,
                    link,
                    cset,
                    runs=options.runs,
                    rng=np.random.default_rng([seed, place]),
                    entry=entry,
                    statistic=options.statistic,
                    confidence=options.confidence,
                    comparisons=len(mechanisms),
                    tol=options.tol,
                )
                table.write(_row(spec, found, options, link))
                print(f"{spec.label}, epsilon = {found.claimed:g}: {found.verdict}", file=sys.stderr)

    return run


def _spec(text: str) -> MechanismSpec:
    spec = MechanismSpec.of(parse_mechanism(text))
    if spec.name == MAJORITY:
        raise ValueError(f"--mechanisms: {MAJORITY} is a constant, and there is nothing to attack.")
    return spec


def _data(
    options: argparse.Namespace, seed: int, link: Link
) -> tuple[Observations, ConstraintSet, tuple[int, int] | None]:
    """The observations, the constraint set and the entry to flip (None: to be chosen)."""
    alpha = check_number("--alpha", options.alpha, low=0.0, open_low=True)
    entry = None if options.entry is None else (options.entry[0], options.entry[1])
    check_choice("--dataset", options.dataset, (SYNTHETIC, BRIDGE, *DATA_SETS))
    if options.dataset == BRIDGE:
        made = bridge(options.size, alpha)
        return made.observations, made.constraints, made.entry if entry is None else entry
    if options.dataset == SYNTHETIC:
        size = check_integer("--size", options.size, low=1)
        obs = synthetic((size, size), options.rank, alpha, options.ratio, link, seed).observations
    else:
        obs = load(options.dataset).train
    return obs, ConstraintSet.for_rank(obs.shape, options.rank, alpha), entry


def _row(spec: MechanismSpec, found: Audit, options: argparse.Namespace, link: Link) -> dict[str, Any]:
    return {
        "mechanism": spec.name,
        "calibration": spec.calibration,
        "options": spec.options_text,
        "link": options.link,
        "sigma": link.sigma,
        "claimed": found.claimed,
        "delta": found.delta,
        "proven": found.proven,
        "lower_bound": found.lower_bound,
        "confidence": found.confidence,
        "comparisons": found.comparisons,
        "exact": found.exact,
        "ceiling": found.ceiling,
        "refuted": found.refutes,
        "entry_row": found.entry[0],
        "entry_col": found.entry[1],
        "statistic": found.statistic,
        "runs": found.runs,
        "true_hits": found.true_hits,
        "false_hits": found.false_hits,
        "evaluated": found.evaluated,
        "seed": options.seed,
    }
