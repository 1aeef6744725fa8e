"""What several test files need: contrast of colours, waiting for something to happen, and refusals of commands."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from obmc import cli


def contrast(one: str, other: str) -> float:
    """The contrast of two colours ``#rrggbb``, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    values = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def eventually(condition: Callable[[], object], seconds: float = 30.0) -> bool:
    """Whether it comes true within that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command line says on standard error, in one line, when it ends with exit code 2."""
    try:
        code = cli.main(arguments)
    except SystemExit as end:
        code = end.code  # type: ignore[assignment]
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    return captured.err
