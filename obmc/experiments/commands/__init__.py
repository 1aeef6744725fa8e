"""The commands of ``python -m obmc`` that compute: each a function that ``obmc.cli`` lists in its table."""

from obmc.experiments.commands.audit import audit
from obmc.experiments.commands.complete import complete
from obmc.experiments.commands.release import release
from obmc.experiments.commands.reproduce import reproduce
from obmc.experiments.commands.store import store
from obmc.experiments.commands.sweep import sweep

__all__ = ["audit", "complete", "release", "reproduce", "store", "sweep"]
