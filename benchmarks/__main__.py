"""Run the benchmarks: every script in this folder, each in a process of its own with one BLAS thread.

    python -m benchmarks                 all scripts of this folder; what they print is shown
    python -m benchmarks solvers         the named ones only
    python -m benchmarks --evidence      the long ones in evidence/; what each prints as Markdown goes to
                                         docs/evidence/<name>.md, under a line that says on what machine it was measured

A script prints its result on standard output and its progress on standard error, and ends with an exit code other than
0 when it misses its target; then this command does so too, and files nothing. A script whose page states which targets
it misses ends with MISSED, and is filed. A name that starts with an underscore is no benchmark but
code that several of them share.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

# The exit code of a script that measured all it should and says on its page which targets were missed.
MISSED = 3
# Pages with a place of their own.
PAGES = {"performance": "docs/performance.md", "branch_coverage": "docs/evidence/coverage.md"}
# What a script needs that the project does without.
NEEDS = {"compiled": "numba"}
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", help="names of scripts, without .py; all if none is given")
    parser.add_argument("--evidence", action="store_true", help="the long ones, filed in docs/evidence/")
    options = parser.parse_args(arguments)

    folder = HERE / "evidence" if options.evidence else HERE
    scripts = {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    unknown = [name for name in options.names if name not in scripts]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there is {', '.join(scripts) or 'none'}")

    lacking = {name: package for name, package in NEEDS.items() if not find_spec(package)}
    for name, package in lacking.items():
        if name in options.names:
            parser.error(f"{name} needs {package}, which the project does without: pip install {package}")
    missed = []
    for name in options.names or scripts:
        if name in lacking:
            print(f"== {name}: left out, for want of {lacking[name]}", flush=True)
            continue
        print(f"== {name}", flush=True)
        if run(scripts[name], evidence=options.evidence) != 0:
            missed.append(name)
    if missed:
        print(f"missed their targets or failed: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def run(script: Path, *, evidence: bool) -> int:
    """Run one script; with ``evidence`` file what it prints, unless it failed."""
    command = [sys.executable, str(script)]
    environment = {**os.environ, **ONE_THREAD}
    if not evidence:
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    if done.returncode in (0, MISSED):
        target = ROOT / PAGES.get(script.stem, f"docs/evidence/{script.stem}.md")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            f"{done.stdout.rstrip()}\n\n{machine(f'python -m benchmarks --evidence {script.stem}')}\n", encoding="utf-8"
        )
    return done.returncode


def machine(command: str) -> str:
    """The line under each figure: by which command, with which versions and on what machine it was measured."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("obmc", "numpy", "scipy"))
    return (
        f"_Measured by `{command}` with {versions}, Python {platform.python_version()}, on {os.cpu_count()} cores "
        f"({platform.machine()}), one BLAS thread per process._"
    )


if __name__ == "__main__":
    sys.exit(main())
