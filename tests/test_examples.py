"""The examples run as they stand and show what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def printed(name: str) -> str:
    done = subprocess.run(
        [sys.executable, f"examples/{name}.py"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_complete_and_certify():
    text = printed("complete_and_certify")
    assert "the certified gap is within the tolerance" in text
    assert 1.0 < float(re.search(r"average relative error ([\d.]+)", text)[1]) < 2.5


def test_attack_and_release():
    refuted, released, booked = printed("attack_and_release").splitlines()
    assert float(re.search(r"at least ([\d.]+)", refuted)[1]) > 4.0
    assert released == "epsilon = 2 for the whole output"
    assert "epsilon = 2 for one rating's sign" in booked


def test_what_does_epsilon_cost():
    lines = {line.split()[0]: line.split()[1:] for line in printed("what_does_epsilon_cost").splitlines()[2:]}
    clear, usual, better = (
        float(lines["Clear"][0]),
        *([float(value) for value in lines[name]] for name in ("InP", "InP+")),
    )
    assert usual[0] > usual[1] > usual[2] > usual[3] > 0.95 * clear
    assert max(better) < 1.1 < min(usual)


def test_the_notebook(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    notebook = json.loads((ROOT / "examples" / "five_minutes.ipynb").read_text(encoding="utf-8"))
    made: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec("".join(cell["source"]), made)
    assert made["clear"].gap <= 1e-4
    assert made["private"].guarantee.holds
    error = {
        name: made["obmc"].metrics.average_relative_error(made[name].completion, made["problem"].truth)
        for name in ("private", "better")
    }
    assert error["better"] < 0.5 * error["private"] < 0.5
    assert made["found"].refutes
    assert "odds about one rating" in capsys.readouterr().out
