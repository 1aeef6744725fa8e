"""The page of the reproduction: its verdicts are those of the rows, and every shipped figure is drawn."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from page_figures import drawn, traces

from obmc.experiments.figures import choices, find_figure, shipped_rows
from obmc.experiments.report import varied
from obmc.experiments.statements import judge


def test_verdicts_and_figure_are_those_of_the_rows(open_page):
    at = open_page("reproduction.py")
    labels = [part.label for part in at.expander]
    for found in judge({name: shipped_rows(name) for name in ("1a", "1b")})[:5]:
        assert f"{found.verdict.capitalize()}: {found.claim}" in labels
    assert {"InP", "ObjP", "GraP", "OutP", "Clear"} <= set(traces(drawn(at)["reproduction"]))
    at.selectbox(key="figure").set_value(find_figure("5").title).run()
    assert not at.exception
    link = parse_qs(urlsplit(at.code[-1].value).query)
    assert link["figure"] == [find_figure("5").title]
    assert "Means against ratio." in drawn(at)["reproduction"]["alt"]


def test_choices_and_data_sets_are_those_that_are_shipped(open_page):
    at = open_page("reproduction.py")
    offered = at.selectbox(key="choice").options
    assert offered == [figure.title for figure in choices().values() if not shipped_rows(figure.name).empty]
    figure = next(figure for figure in choices().values() if figure.title == offered[-1])
    at.selectbox(key="choice").set_value(figure.title).run()
    tables = [part.value for part in at.dataframe]
    assert any(table.equals(varied(shipped_rows(figure.name), figure.against)) for table in tables)
    assert list(tables[-1]["density as printed"]) == ["6.3%", "5.2%"]
