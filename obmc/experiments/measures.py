"""The measures of a run as a table: what each is called, what it needs of a data set, and what a good value is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from obmc import metrics
from obmc.errors import check_choice

Needs = Literal["truth", "test"]


@dataclass(frozen=True)
class Measure:
    """A number that says how good a completion is.

    Attributes
    ----------
    name
        As in the rows' ``metric``.
    label
        For the axis of a chart.
    needs
        What ``function`` compares the completion with: the matrix of "truth" or the held-out "test" observations.
    lower_is_better
        The direction of better.
    form
        How a value is written, and the ends of its interval.
    function
        From a completion and what it needs to a number.
    """

    name: str
    label: str
    needs: Needs
    lower_is_better: bool
    form: str
    function: Callable[[Any, Any], float]

    @property
    def is_share(self) -> bool:
        """Whether it is a share, which is written in per cent."""
        return self.form.endswith("%")


MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        Measure("are", "Average relative error", "truth", True, ".3f", metrics.average_relative_error),
        Measure("sign_accuracy", "Sign accuracy", "test", False, ".1%", metrics.sign_accuracy),
        Measure("auc", "Area under the ROC curve", "test", False, ".3f", metrics.auc),
        Measure("log_loss", "Log-loss", "test", True, ".3f", metrics.log_loss),
    )
}


def find_measure(name: Any) -> Measure:
    """The row of the table with this name; ``ValueError`` listing the names if there is none."""
    return MEASURES[check_choice("metrics", name, tuple(MEASURES))]
