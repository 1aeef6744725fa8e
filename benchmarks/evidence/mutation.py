"""Mutation tests: a sample of small faults in the code that privacy rests on, and whether the tests notice.

Each fault is made in a copy of the repository, one at a time: a comparison that takes or leaves its border, another
operator, a sign, a constant that is one larger, a condition turned round. The sample is drawn by a hash of each place's
own line, so that a change elsewhere leaves it as it is. A fault that no test of its file notices is a survivor; each is
looked at, and the page says what it would do and why it may stay.
"""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from _kept import Kept

ROOT = Path(__file__).resolve().parents[2]
# Faults a file: one for so many places where one can be made, and at least as many as this.
PLACES_A_FAULT, LEAST = 24, 4
# A fault that makes a loop endless counts as noticed: what takes so many times as long as without it, and a minute.
TIMES, PATIENCE = 5.0, 60.0
OPTIONS = ("-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0")

TESTS = {
    "obmc/losses.py": ("tests/test_losses.py", "tests/test_guides.py", "tests/solvers/test_proximal.py"),
    "obmc/privacy/accounting.py": (
        "tests/privacy/test_accounting.py",
        "tests/test_guides.py",
        "tests/mechanisms/test_guarantees.py",
        "tests/privacy/test_ledger.py",
    ),
    "obmc/privacy/noise.py": ("tests/privacy/test_noise.py", "tests/mechanisms/test_laws.py"),
    "obmc/privacy/guarantee.py": ("tests/privacy/test_guarantee.py", "tests/mechanisms/test_guarantees.py"),
    "obmc/privacy/ledger.py": ("tests/privacy/test_ledger.py", "tests/test_release.py"),
    "obmc/privacy/audit.py": ("tests/privacy/test_audit.py",),
    "obmc/privacy/attacks.py": ("tests/privacy/test_attacks.py", "tests/privacy/test_audit.py"),
}
OF_MECHANISMS = ("tests/mechanisms",)

# Survivors that have been looked at: a part of the mutated line, and why it may stay.
LOOKED_AT = {
    "if obs.shape[0] * obs.shape[1] >= DENSE_LIMIT:": "a matrix of exactly that size would do either way",
    "for w in (0, 2)]": "any number but 0 names the second world",
    "+ _SMOOTHING) + 2": "more noise than needed, by one step of the grid, 2^-20: the guarantee holds all the same",
    "41.0 * self.link.sigma": "a search begins with an interval that is a fortieth wider",
    "sum((float(losses[1]) for losses, _ in parts))": "a grid finer than it need be: an upper bound all the same",
    "value.adjusted() - 1 < -bits": "below 10^(1 - bits) is below 2^-bits, for the 16 bits and more that are asked",
    "source.words(len(i), _WORD_BITS) % 2 != 0)": "a fair bit either way",
    "1 if factor >= 1.9 else 2": "exactly 1.9 is written as it is with one decimal or with two",
    "scores[0], 701.0)": "e^700 and e^701 both stand for a weight without a bound",
    "slope(signs[world], -reach) + tilt > 0.0": "where the two are equal both sides give the end of the box",
    "highest >= best": "of two events that promise the same either will do",
    "if delta_of(0.0) < delta:": "where the two are equal the search goes on, and ends at an epsilon below 10^-11",
}

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Fault:
    """A place of a file where a fault can be made, by its name, and the two lines before and after it."""

    file: str
    place: str
    line: int
    before: str
    after: str
    source: str


def places(tree: ast.AST, statement: ast.AST | None = None) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """Where a fault can be made, and in which statement: not in annotations, texts or the bodies of raised errors."""
    statement = tree if isinstance(tree, ast.stmt) else statement
    if isinstance(tree, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    swapped = isinstance(tree, ast.Compare) and type(tree.ops[0]) in SWAPS
    swapped |= isinstance(tree, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(tree.op) in SWAPS
    turned = isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub | ast.Not)
    counted = isinstance(tree, ast.Constant) and isinstance(tree.value, int | float)
    if swapped or turned or counted or isinstance(tree, ast.IfExp):
        yield tree, statement
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        # A name that is bound to a type is no code.
        if isinstance(tree, ast.Assign) and name == "value" and isinstance(value, ast.Subscript):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from places(inner, statement)


def names(tree: ast.Module) -> list[str]:
    """A name for every place that changes elsewhere leave alone: the first line of its statement, and which it is."""
    counted: Counter[str] = Counter()
    lines: dict[int, str] = {}
    found = []
    for _, statement in places(tree):
        if statement is None:
            raise ValueError("a place outside every statement has no name.")
        if id(statement) not in lines:
            lines[id(statement)] = ast.unparse(statement).partition("\n")[0]
        line = lines[id(statement)]
        counted[line] += 1
        found.append(f"{line} #{counted[line]}")
    return found


def break_(node: ast.AST) -> None:
    """Make the fault of a place."""
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.UnaryOp):
        # -x becomes +x, and not x becomes not not x.
        turned = ast.UnaryOp(ast.Not(), node.operand)
        node.op, node.operand = (ast.UAdd(), node.operand) if isinstance(node.op, ast.USub) else (ast.Not(), turned)
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
    elif isinstance(node, ast.Constant):
        node.value = (not node.value) if isinstance(node.value, bool) else node.value + 1


def faults(file: str) -> list[Fault]:
    """The sample of one file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    plain = ast.unparse(tree).splitlines()
    named = names(tree)
    drawn = sorted(range(len(named)), key=lambda number: hashlib.sha256(f"{file} {named[number]}".encode()).digest())
    found = []
    for number in sorted(drawn[: max(LEAST, round(len(named) / PLACES_A_FAULT))]):
        mutated = copy.deepcopy(tree)
        node, _ = list(places(mutated))[number]
        break_(node)
        source = ast.unparse(ast.fix_missing_locations(mutated))
        changed = [text for text in difflib.ndiff(plain, source.splitlines()) if text[0] in "+-"]
        before, after = (next((text[2:].strip() for text in changed if text[0] == sign), "") for sign in "-+")
        found.append(Fault(file, named[number], getattr(node, "lineno", 0), before, after, source))
    return found


def is_noticed(fault: Fault, tree: Path, tests: tuple[str, ...], patience: float) -> bool:
    """Whether a test of the file fails, or none comes to an end."""
    path = tree / fault.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(fault.source, encoding="utf-8")
    try:
        return run(tree, tests, patience) != 0
    finally:
        path.write_text(sound, encoding="utf-8")


def run(tree: Path, tests: tuple[str, ...], patience: float | None = None) -> int:
    """The exit code of the tests, 1 if they take longer than ``patience`` seconds."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        command = [sys.executable, "-m", "pytest", *OPTIONS, *tests]
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return 1
    return done.returncode


def main() -> int:
    mechanisms = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "obmc/mechanisms").glob("[!_]*.py"))
    tests = {**TESTS, **dict.fromkeys(mechanisms, OF_MECHANISMS)}
    # Raise the version when tests have come: survivors are tried again.
    kept = Kept("mutation", version=2)
    rows, survivors = [], []
    waits: dict[tuple[str, ...], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".hypothesis", ".*_cache")
        shutil.copytree(ROOT, tree, ignore=ignored)
        for file, names in tests.items():
            sample = faults(file)
            if names not in waits:
                # Tests that fail by themselves would notice everything.
                started = time.perf_counter()
                if run(tree, names) != 0:
                    raise SystemExit(f"the tests of {file} fail without a fault")
                waits[names] = PATIENCE + TIMES * (time.perf_counter() - started)
            alive = []
            for fault in sample:
                key = [file, fault.place, fault.after]
                noticed = kept.of(
                    key,
                    lambda fault=fault, names=names: {"noticed": is_noticed(fault, tree, names, waits[names])},
                )
                if not noticed["noticed"]:
                    alive.append(fault)
            rows.append((file, len(sample), len(sample) - len(alive)))
            survivors += alive
    return tell(rows, survivors)


def tell(rows: list[tuple[str, int, int]], survivors: list[Fault]) -> int:
    """The page; 1 if a survivor has not been looked at."""
    print("# Mutation tests\n")
    print(__doc__.partition("\n\n")[2].replace("\n", " ").strip() + "\n")
    print("| file | faults | noticed |\n|---|---|---|")
    for file, count, noticed in rows:
        print(f"| `{file}` | {count} | {noticed} |")
    print(f"| **all** | **{sum(row[1] for row in rows)}** | **{sum(row[2] for row in rows)}** |\n")
    open_ = 0
    if survivors:
        print("## Survivors\n\n| file | sound | fault | why it may stay |\n|---|---|---|---|")
    for fault in survivors:
        why = next((text for part, text in LOOKED_AT.items() if part in fault.after), "")
        open_ += not why
        before, after = (text.replace("|", "\\|") for text in (fault.before, fault.after))
        print(f"| `{fault.file}` | `{before}` | `{after}` | {why or '**not looked at yet**'} |")
    return 1 if open_ else 0


if __name__ == "__main__":
    sys.exit(main())
