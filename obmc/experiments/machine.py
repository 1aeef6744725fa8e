"""What of a machine decides the last digits of a number that it computes."""

from __future__ import annotations

import platform

import numpy as np
import scipy
from threadpoolctl import threadpool_info


def machine() -> dict[str, str]:
    """The processor and the libraries that compute; equal where the same run gives the same bits.

    Elsewhere it gives the same numbers to the solver's tolerance.
    """
    blas = {f"{part['internal_api']} {part['version']} {part.get('architecture', '')}" for part in threadpool_info()}
    return {
        "processor": f"{platform.machine()} {_processor()}",
        "blas": ", ".join(sorted(blas)),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def _processor() -> str:
    """The processor's model as Linux has it; elsewhere what Python knows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
