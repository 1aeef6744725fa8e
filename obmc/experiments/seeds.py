"""Where the randomness of an experiment comes from: two seeds per run, each a hash of what it may depend on.

A hash in place of a counter or a shared stream makes every run independent of the others: adding a point to a sweep,
running it in another order or on another number of workers changes no other row.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

# What numpy, SQLite and Parquet all hold as a whole number.
_BITS = 63
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(value: Any) -> str:
    """JSON that is the same for equal values: keys sorted, no spaces, floats by their shortest exact digits."""
    return _ENCODER.encode(value)


def data_seed(seed: int, repetition: int) -> int:
    """The seed of a draw of the data: from (seed, repetition) alone.

    All mechanisms and epsilons of a repetition see the same truth, the same observed entries and the same split, so
    that their results can be compared in pairs.
    """
    return _hashed("data", seed, repetition)


def noise_seed(seed: int, repetition: int, mechanism: str, options: str, epsilon: float) -> int:
    """The seed of a mechanism's noise: from (seed, repetition, mechanism, options, epsilon).

    Two epsilons never share noise. The calibrations of one mechanism do: they differ in what is done with the noised
    data, which is then compared on the same noise.
    """
    level = float(epsilon)
    # What has no epsilon may draw at random all the same, such as the folds of a cross-validation.
    return _hashed("noise", seed, repetition, mechanism, options, level if math.isfinite(level) else "inf")


def side_seed(purpose: str, seed: int, repetition: int) -> int:
    """The seed of something else that is drawn once per repetition, named by ``purpose``."""
    return _hashed(purpose, seed, repetition)


def _hashed(*parts: Any) -> int:
    digest = hashlib.sha256(canonical(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _BITS)
