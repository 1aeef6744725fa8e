"""The switches of the frame: boxes that teach, the projector view, and a link that opens the same view again."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from streamlit.testing.v1 import AppTest


def boxes(at: AppTest) -> int:
    return sum("lightbulb" in text.value for text in at.markdown)


def link(at: AppTest) -> dict[str, list[str]]:
    return parse_qs(urlsplit(at.code[-1].value).query)


def test_the_boxes_that_teach_can_be_switched_off(open_page):
    at = open_page(settle=False)
    assert boxes(at) > 0
    at.toggle(key="explain").set_value(False).run()
    assert boxes(at) == 0


def test_the_link_holds_what_differs_from_the_defaults_and_opens_the_same_view(open_page):
    at = open_page(settle=False)
    assert link(at) == {}
    at.selectbox(key="noise").set_value("Gaussian")
    at.number_input(key="eps").set_value(3.3)
    at.select_slider(key="range").set_value((0.5, 8.0))
    at.pills(key="mechs").set_value(["InP", "InP+"])
    at.toggle(key="loss").set_value(True).run()
    found = link(at)
    assert found == {
        "noise": ["Gaussian"],
        "eps": ["3.3"],
        "mechs": ["InP", "InP+"],
        "range": ["0.5", "8"],
        "loss": ["true"],
    }


def test_every_control_of_the_pages_has_help(open_page):
    for page in (None, "observation_ratio.py", "compare.py"):
        at = open_page(page, settle=False, noise="Gaussian")
        for kind in ("selectbox", "slider", "select_slider", "number_input", "toggle", "multiselect", "radio"):
            for control in at.get(kind):
                assert control.help, (page, control.label)
