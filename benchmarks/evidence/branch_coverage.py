"""Branch coverage of ``obmc`` by its own tests: what is reached, and every line and branch that is not.

Left out are the tests of the pages, the browser and the server: what they reach is to be reached by a test of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "build" / "coverage"
TARGET = 95.0
ELSEWHERE = ("tests/browser", "tests/service", "tests/pages")
# What the rows of a file have in common.
WHY = {
    "obmc/experiments/worker.py": "a worker is a program of its own, which coverage does not count as a part of the "
    "package; the tests of executors run all of it",
    "obmc/experiments/executors.py": "what the operating system may do to a process at any moment",
}
JOBS = os.environ.get("JOBS", "2")


def run(*arguments: str) -> int:
    """The exit code of one step, whose output goes where progress goes."""
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, stdout=sys.stderr, check=False).returncode


def measured() -> dict[str, Any]:
    """Run the tests under coverage, and what it found. A test that fails ends the program."""
    if DATA.is_dir():
        for old in DATA.glob("data*"):
            old.unlink()
    left_out = [f"--ignore={folder}" for folder in ELSEWHERE]
    if run("coverage", "run", "-m", "pytest", "-q", "-n", JOBS, "--dist", "loadfile", *left_out) != 0:
        raise SystemExit("a test fails, so that what it would reach is not known")
    return reported()


def reported() -> dict[str, Any]:
    """What the last measurement found."""
    run("coverage", "combine", "-q")
    run("coverage", "json", "-q", "-o", str(DATA / "report.json"))
    found: dict[str, Any] = json.loads((DATA / "report.json").read_text(encoding="utf-8"))
    return found


def share(summary: dict[str, Any]) -> float:
    """The share of branches that were taken, in percent; of a file without any, of its lines."""
    if summary["num_branches"] == 0:
        return float(summary["percent_statements_covered"])
    return 100.0 * summary["covered_branches"] / summary["num_branches"]


def left(name: str, facts: dict[str, Any]) -> list[str]:
    """What of a file is not reached, a row each: lines by their text, and branches that were never taken."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    missing, rows = set(facts["missing_lines"]), []
    for number in sorted(missing):
        # What is in a block that was never entered needs no row of its own.
        if number - 1 not in missing:
            rows.append((number, lines[number - 1].strip(), "never run"))
    for begin, end in facts["missing_branches"]:
        if begin not in missing and abs(end) not in missing:
            to = f"never on to line {end}" if end > 0 else "never to the end"
            rows.append((begin, lines[begin - 1].strip(), to))
    texts = ((number, text.replace("|", "\\|"), what) for number, text, what in sorted(rows))
    return [f"| `{name}` {number} | `{text}` | {what} |" for number, text, what in texts]


def tell(found: dict[str, Any]) -> int:
    """The page; 1 if the target is missed."""
    files, total = found["files"], found["totals"]
    whole = share(total)
    print("# Branch coverage\n")
    print(__doc__.partition("\n")[0].replace("``", "`") + "\n")
    print(
        f"**{whole:.1f} % of {total['num_branches']:,} branches** and {total['percent_statements_covered']:.1f} % of "
        f"{total['num_statements']:,} statements; the target is {TARGET:.0f} % of the branches. Not counted are the "
        "tests of pages, browser and server, which reach further lines.\n"
    )
    print("| file | branches | taken | statements run |\n|---|---|---|---|")
    for name, facts in sorted(files.items(), key=lambda item: share(item[1]["summary"])):
        summary = facts["summary"]
        if summary["num_branches"] and share(summary) < 100.0:
            print(
                f"| `{name}` | {summary['num_branches']} | {share(summary):.1f} % | "
                f"{summary['percent_statements_covered']:.1f} % |"
            )
    print("\nIn all other files every branch is taken.\n")
    for name, why in WHY.items():
        print(f"- `{name}`: {why}.")
    print("\n## What is left\n\n| where | what | |\n|---|---|---|")
    for name, facts in sorted(files.items()):
        for row in left(name, facts):
            print(row)
    return 0 if whole >= TARGET else 1


if __name__ == "__main__":
    sys.exit(tell(measured()))
