"""``python -m obmc release``: a private release of a ratings file."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from obmc.constraints import ConstraintSet
from obmc.datasets.ratings_table import RatingsTable
from obmc.errors import RatingsError, check_integer, check_number
from obmc.experiments.commands.console import (
    add_columns,
    add_link,
    check_apart,
    check_folder,
    in_place,
    link_of,
    read_file,
)
from obmc.experiments.commands.sweep import parse_mechanism
from obmc.experiments.mechanisms import MAJORITY, MechanismSpec
from obmc.experiments.runner import one_blas_thread
from obmc.privacy.guarantee import Guarantee
from obmc.privacy.ledger import Ledger
from obmc.release import (
    ALONE,
    FILE_FORMATS,
    OUTPUTS,
    ReleasedRatings,
    ReleasePlan,
    ReleaseRefused,
    check_threshold,
    draw,
    find_pairs,
    now,
)


def release(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], None]:
    """Make a private release of a ratings file, with the operating system's randomness.

    Writes a zip with the probabilities, a JSON statement of the guarantee and a README. Only what has a proven
    guarantee for everything that leaves is made, as InP, InP+, ObjP, GraP, and OutP with a ridge and delta or for named
    entries; anything else is refused with the reason. With --ledger all releases of the same ratings add up in one
    file, and a budget refuses more than was planned.
    """
    parser.add_argument("source", metavar="RATINGS", help="a ratings file of nearly any form")
    parser.add_argument("--epsilon", type=float, required=True, metavar="X", help="the privacy parameter, above 0")
    parser.add_argument(
        "--mechanism",
        default="InP+",
        metavar="NAME",
        help="with settings as GraP:delta=1e-5 or OutP:ridge=1,delta=1e-5 (default: InP+)",
    )
    parser.add_argument("--entries", metavar="FILE", help="OutP: a user's id, a comma and an item's id in each line")
    file = parser.add_argument_group("of the file (what is not given is found out, and said)")
    add_columns(file)
    signs = parser.add_argument_group("what counts as +1 (one of the two, fixed without looking at the ratings)")
    signs.add_argument("--scale", type=float, nargs=2, metavar=("LOW", "HIGH"), help="its midpoint is the threshold")
    signs.add_argument("--threshold", metavar="X", help="+1 strictly above this number")
    model = parser.add_argument_group("the model")
    add_link(model)
    model.add_argument("--alpha", type=float, default=1.0, metavar="X", help="bound of the entries (default: 1)")
    model.add_argument("--rank", type=int, default=1, metavar="R", help="of tau = alpha sqrt(R d1 d2) (default: 1)")
    model.add_argument("--tau-multiple", type=float, default=1.0, metavar="X", help="in units of tau (default: 1)")
    spent = parser.add_argument_group("what has been spent")
    spent.add_argument("--ledger", metavar="FILE.json", help="all releases of these ratings, read and added to")
    kept = "the most epsilon in all; a ledger keeps it, and lets it fall only"
    spent.add_argument("--budget", type=float, metavar="X", help=kept)
    spent.add_argument("--delta-budget", type=float, metavar="X", help="the most delta in all")
    out = parser.add_argument_group("what to write")
    out.add_argument("--what", default="top", choices=OUTPUTS, help="the best items of every user, or all pairs")
    out.add_argument("--top", type=int, default=10, metavar="N", help="items for every user (default: 10)")
    out.add_argument("--format", default="csv", choices=FILE_FORMATS, help="of the table (default: csv)")
    out.add_argument("--output", default="release.zip", metavar="FILE.zip", help="default: release.zip")

    def run(options: argparse.Namespace) -> None:
        target = _target(options.output)
        check_apart(source=options.source, entries=options.entries, ledger=options.ledger, output=options.output)
        check_integer("--top", options.top, low=1)
        threshold, scale = _threshold(options)
        table = read_file(options)
        plan = _plan(options, table, threshold, scale)
        guarantee = plan.check((table.n_users, table.n_items))
        if options.ledger is not None:
            # Where a link leads, or the file behind it would not know of this release.
            options.ledger = os.path.realpath(options.ledger)
        with _alone(options.ledger):
            made = _spend(options, table, plan, guarantee, target)
        print(f"{target}: {guarantee.headline}. {guarantee.unit[0].upper()}{guarantee.unit[1:]}.", file=sys.stderr)
        for text in filter(None, made):
            print(text, file=sys.stderr)

    return run


def _spend(
    options: argparse.Namespace, table: RatingsTable, plan: ReleasePlan, guarantee: Guarantee, target: Path
) -> tuple[str, str]:
    """Book, draw and write; what there is to say of the release, and of all of them together."""
    ledger = _ledger(options, table)
    before = ledger.to_dict()

    def keep(statement: dict[str, Any]) -> None:
        if options.ledger is not None:
            _write(Path(options.ledger), (json.dumps(statement, indent=2) + "\n").encode())

    lowers = options.budget is not None or options.delta_budget is not None
    if lowers and options.ledger is not None and Path(options.ledger).exists():
        # A budget that was lowered stays so, whatever becomes of the release.
        keep(before)

    def drawn() -> tuple[ReleasedRatings, bytes]:
        with one_blas_thread():
            released = draw(table, plan)
        made = ReleasedRatings.of(table, plan, released, None if options.ledger is None else ledger)
        return made, made.bundle(options.what, options.top, options.format)

    label = f"{MechanismSpec.of(plan.mechanism).label}, threshold {plan.threshold:g}"
    try:
        made, packed = ledger.spend(guarantee, drawn, label, now())
    except Exception:
        # What failed after it had seen the ratings stays booked.
        if ledger.to_dict() != before:
            keep(ledger.to_dict())
        raise
    # The booking is on disk before the release is: a crash between them costs privacy that is counted.
    keep(ledger.to_dict())
    try:
        _write(target, packed)
    except OSError:
        keep(before)
        raise
    return made.warning, f"{ALONE} --ledger FILE.json keeps count." if options.ledger is None else ledger.statement


@contextmanager
def _alone(ledger: str | None) -> Iterator[None]:
    """Be the only release on this ledger from its reading to its writing, so that no two overlook each other.

    The lock is the system's, on a file beside the ledger: it ends with the process, however that ends.
    """
    if ledger is None:
        yield
        return
    path = Path(ledger)
    check_folder(path.parent, "--ledger")
    if path.exists() and not os.access(path, os.W_OK):
        raise OSError(f"--ledger must be a file that can be written, and {path} is not.")
    with path.with_name(f".{path.name}.lock").open("ab") as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _target(path: str) -> Path:
    target = Path(path)
    if target.suffix.lower() != ".zip" or target.is_dir():
        raise ValueError(f"--output must be the name of a .zip file, got {path}.")
    check_folder(target.parent)
    return target


def _threshold(options: argparse.Namespace) -> tuple[float, tuple[float, float] | None]:
    if (options.scale is None) == (options.threshold is None):
        raise ValueError(
            "--scale LOW HIGH or --threshold X must be given, one of the two: what counts as +1 must be fixed without "
            "looking at the ratings."
        )
    if options.scale is not None:
        low, high = options.scale
        return RatingsTable.public_threshold(low, high), (low, high)
    try:
        given: float | str = float(options.threshold)
    except ValueError:
        given = options.threshold
    return check_threshold(given), None


def _plan(
    options: argparse.Namespace, table: RatingsTable, threshold: float, scale: tuple[float, float] | None
) -> ReleasePlan:
    entry = parse_mechanism(options.mechanism)
    if options.entries is not None:
        try:
            text = Path(options.entries).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"--entries must be a text file in UTF-8, and {options.entries} is none.") from None
        entry["options"]["entries"] = find_pairs(text, table.users, table.items)
    spec = MechanismSpec.of(entry)
    if spec.name == MAJORITY:
        raise ReleaseRefused("Majority: It may not be released: it is the share of +1 itself, without noise.")
    multiple = check_number("--tau-multiple", options.tau_multiple, low=0.0, open_low=True)
    alpha = check_number("--alpha", options.alpha, low=0.0, open_low=True)
    cset = ConstraintSet.for_rank((table.n_users, table.n_items), options.rank, alpha, multiple)
    link = link_of(options)
    epsilon = check_number("--epsilon", options.epsilon, low=0.0, open_low=True)
    return ReleasePlan(spec.build(epsilon), link, cset, threshold, scale)


def _ledger(options: argparse.Namespace, table: RatingsTable) -> Ledger:
    counts = table.ratings_per_user
    path = None if options.ledger is None else Path(options.ledger)
    if path is None or not path.exists():
        known = Ledger(Path(options.source).name, counts)
    else:
        try:
            known = Ledger.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (KeyError, TypeError, ValueError, RecursionError):
            raise ValueError(f"--ledger must be a file that this command wrote, and {path} is none.") from None
        if not known.is_of(counts):
            raise RatingsError(
                f"{path} is the ledger of other ratings ({known.table}): their users have other numbers of ratings; "
                "give this file a ledger of its own."
            )
    try:
        known.set_budget(epsilon=options.budget, delta=options.delta_budget)
    except ValueError as error:
        option = "--delta-budget" if str(error).startswith("delta") else "--budget"
        raise ValueError(f"{option} {str(error).partition(' ')[2]}") from None
    return known


def _write(target: Path, content: bytes) -> None:
    """Put a file in place whole, with the rights that it had, or not at all."""
    with in_place(target) as part:
        part.write_bytes(content)
        if target.exists():
            shutil.copymode(target, part)
