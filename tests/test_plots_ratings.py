"""The bars of a file's ratings: their counts, told apart by more than colour where a threshold is given."""

from __future__ import annotations

import pandas as pd

from obmc.plots_ratings import ABOVE, BELOW, rating_bars

WHOLE = pd.DataFrame({"low": [1.0, 2.0, 4.0], "high": [1.0, 2.0, 4.0], "count": [5, 7, 9]})


def test_bars_above_the_threshold_have_another_look() -> None:
    figure = rating_bars(WHOLE, threshold=2.0)
    (bars,) = figure.data
    assert list(bars.y) == [5, 7, 9] and list(bars.customdata) == ["1", "2", "4"]
    assert list(bars.marker.color) == [BELOW, BELOW, ABOVE]
    assert list(bars.marker.pattern.shape) == ["", "", "/"]
    # The narrowest gap sets the width, so that no two bars touch.
    assert bars.width == 0.8
    assert [line.x0 for line in figure.layout.shapes] == [2.0]


def test_ranges_are_named_as_such_and_without_a_threshold_nothing_is_above() -> None:
    figure = rating_bars(pd.DataFrame({"low": [0.0, 0.5], "high": [0.5, 1.0], "count": [1, 2]}))
    (bars,) = figure.data
    assert list(bars.customdata) == ["0 to 0.5", "0.5 to 1"]
    assert list(bars.x) == [0.25, 0.75] and bars.width == 0.4
    assert set(bars.marker.color) == {BELOW} and not figure.layout.shapes


def test_one_rating_alone_has_a_bar() -> None:
    assert rating_bars(WHOLE.head(1), threshold=0.5).data[0].width == 0.8
