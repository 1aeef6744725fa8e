"""What a long measurement keeps, so that a stopped one goes on where it was; ``make clean`` removes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "build" / "evidence"


class Kept:
    """Measured values by their key, and the file in build/evidence/ that they are in, a line each.

    ``version`` is part of every key: raise it whenever what is measured changes.
    """

    def __init__(self, name: str, version: int) -> None:
        path = FOLDER / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._version = path, version
        self._lines: dict[str, dict[str, Any]] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                # The last line of a killed run may be cut short.
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:
                    continue
                self._lines[json.dumps(entry["key"])] = entry["value"]

    def of(self, key: list[Any], measure: Callable[[], dict[str, float]]) -> dict[str, float]:
        """What was measured under this key, measured now if it was not."""
        name = json.dumps([self._version, *key])
        if name not in self._lines:
            print(*key, file=sys.stderr, flush=True)
            self._lines[name] = measure()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": [self._version, *key], "value": self._lines[name]}) + "\n")
        return self._lines[name]
