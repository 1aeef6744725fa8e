"""How a process of a test is kept from reaching out of the machine, and its attempts are written down."""

from __future__ import annotations

import os
from pathlib import Path

WATCHED = Path(__file__).parent / "watched"


def watched(record: Path) -> dict[str, str]:
    """The environment of such a process and all that it starts; ``record`` is written where one tries to."""
    path = os.pathsep.join(filter(None, (str(WATCHED), os.environ.get("PYTHONPATH"))))
    return os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path, "OBMC_OUTGOING": str(record)}
