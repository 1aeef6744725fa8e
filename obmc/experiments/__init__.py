"""Experiments: what to compute (a sweep), how (the runner and its executors), and where results are kept."""

from obmc.experiments.executors import (
    LocalExecutor,
    NoWorkerError,
    StoppedError,
    WorkerDiedError,
    WorkersGoneError,
    open_executor,
)
from obmc.experiments.known import Known, look_up
from obmc.experiments.measures import MEASURES, Measure
from obmc.experiments.mechanisms import MECHANISMS, MechanismSpec
from obmc.experiments.outcomes import StoreError, StoreWarning
from obmc.experiments.runner import Progress, run
from obmc.experiments.store import LayeredStore, MemoryStore, Store
from obmc.experiments.sweep import FIELDS, RESULTS_VERSION, InMemory, Row, Sweep

__all__ = [
    "FIELDS",
    "MEASURES",
    "MECHANISMS",
    "RESULTS_VERSION",
    "InMemory",
    "Known",
    "LayeredStore",
    "LocalExecutor",
    "Measure",
    "MechanismSpec",
    "MemoryStore",
    "NoWorkerError",
    "Progress",
    "Row",
    "StoppedError",
    "Store",
    "StoreError",
    "StoreWarning",
    "Sweep",
    "WorkerDiedError",
    "WorkersGoneError",
    "look_up",
    "open_executor",
    "run",
]
