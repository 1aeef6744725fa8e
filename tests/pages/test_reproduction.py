"""The page of the reproduction: its verdicts are those of the rows, and every shipped figure is drawn."""

from __future__ import annotations

from page_figures import drawn, traces

from obmc.experiments.figures import find_figure, shipped_rows
from obmc.experiments.statements import judge


def test_verdicts_and_figure_are_those_of_the_rows(open_page):
    at = open_page("reproduction.py")
    labels = [part.label for part in at.expander]
    for found in judge({name: shipped_rows(name) for name in ("1a", "1b")})[:5]:
        assert f"{found.verdict.capitalize()}: {found.claim}" in labels
    assert {"InP", "ObjP", "GraP", "OutP", "Clear"} <= set(traces(drawn(at)["reproduction"]))
    at.selectbox(key="figure").set_value(find_figure("5").title).run()
    assert not at.exception
    assert "Means against ratio." in drawn(at)["reproduction"]["alt"]
