"""The privacy check: each view in each state, with the numbers of the core."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from obmc import checks
from obmc.checks import PRESETS
from obmc.privacy.guarantee import PRIVATE_VIEW, number
from pages.parts import privacy_check_game
from pages.parts.privacy_check_controls import VIEWS

PAGE = "privacy_check.py"
# Few runs: what the page shows must be what the core finds, not something significant.
FEW = ("outp-bridge", "outp-entry", "inp", "objp-displayed", "clear")
FAST = {preset.key: replace(preset, check=replace(preset.check, runs=40)) for preset in PRESETS.values()}


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short audits of a few. The page's controls, imported above, know all of the presets nevertheless."""
    assert len(VIEWS) == 4
    for key, preset in FAST.items():
        if key in FEW:
            monkeypatch.setitem(PRESETS, key, preset)
        else:
            monkeypatch.delitem(PRESETS, key)


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def test_the_overview_draws_every_mechanism_by_itself(open_page, fast):
    at = open_page(PAGE)
    table = at.dataframe[0].value.set_index("Mechanism")
    assert list(table.index) == [preset.short for preset in PRESETS.values()]
    assert set(table["Verdict"]) <= {"refuted", "not refuted", "nothing was promised"}
    for key in FEW:
        preset = FAST[key]
        joint = checks.advance(preset.check, None, 1e9).joint
        assert table.loc[preset.short, "Audited, at least"] == number(joint.lower_bound)
        assert table.loc[preset.short, "Asked for"] == number(joint.claimed)
    assert not any(button.label == "Cancel" for button in at.button)


def test_the_overview_is_cancelled_and_goes_on(open_page, settle, fast):
    at = open_page(PAGE, settle=False)
    at.button(key="overview-cancel").click().run()
    assert not any(button.label == "Cancel" for button in at.button)
    assert "stopped" in set(at.dataframe[0].value["Verdict"])
    at.button(key="overview-go-on").click().run()
    settle(at)
    assert "stopped" not in set(at.dataframe[0].value["Verdict"])


def test_a_preset_leads_to_its_verdict(open_page, settle, fast):
    at = open_page(PAGE)
    at.button(key="open-objp-displayed").click().run()
    settle(at)
    check = FAST["objp-displayed"].check
    # The presets of the controls have the usual number of runs.
    check = replace(check, runs=None)
    audit = checks.advance(check, None, 1e9).audit
    assert [error.value for error in at.error] == [checks.verdict(audit, check.guarantee)]
    shown = metrics(at)
    assert shown["Asked for"] == "1" and shown["Exact, for this pair"] == "2"
    assert shown["Audited, at least"] == number(audit.lower_bound)
    assert any("seed 0" in caption.value for caption in at.caption)


@pytest.mark.parametrize("key", ["inp", "outp-entry", "clear", "grap"])
def test_what_holds_is_never_confirmed(open_page, key):
    at = open_page(PAGE, preset=key)
    assert not at.error
    said = " ".join(info.value for info in at.info)
    assert ("Not refuted" in said) != ("Nothing was promised" in said)
    assert "proves nothing" in said or key == "clear"


def test_an_attack_is_cancelled_without_a_verdict(open_page):
    at = open_page(PAGE, settle=False, preset="grap", attack_cal="Paper")
    at.segmented_control(key="attack_cal").set_value("Paper").run()
    at.button(key="attack-cancel").click().run()
    assert any(button.label == "Go on" for button in at.button)
    assert not any("efuted" in info.value for info in at.info)


def test_the_controls_decide(open_page, settle):
    at = open_page(PAGE, preset="inp")
    at.select_slider(key="attack_eps").set_value(4.0)
    at.selectbox(key="attack_data").set_value("A single rating")
    at.selectbox(key="attack_runs").set_value("500").run()
    settle(at)
    check = replace(PRESETS["inp"].check, epsilon=4.0, instance="single", runs=500)
    audit = checks.advance(check, None, 1e9).audit
    assert metrics(at)["Audited, at least"] == number(audit.lower_bound)
    assert metrics(at)["Asked for"] == "4"


def test_the_flipped_rating_can_be_chosen(open_page, settle):
    at = open_page(PAGE, preset="inp")
    box = at.selectbox(key="attack_entry")
    chosen = next(option for option in box.options if option.startswith("row "))
    box.set_value(chosen).run()
    settle(at)
    row, col = (int(word.strip(",")) for word in chosen.split()[1:4:2])
    assert any(f"row {row}, column {col} is" in caption.value for caption in at.caption)
    link = parse_qs(urlsplit(at.code[-1].value).query)
    assert link["attack_entry"] == [chosen]
    again = open_page(PAGE, settle=False, **link)
    assert again.selectbox(key="attack_entry").value == chosen and not again.warning


def test_what_a_reader_learns(open_page):
    at = open_page(PAGE, preset="outp-bridge", open="What a reader learns")
    shown = metrics(at)
    assert shown["Multiplier"] == "200"
    assert shown["Epsilon of the whole matrix"] == "200"
    assert shown["Epsilon of the entry that moves most"] == "1"
    assert any(PRIVATE_VIEW in caption.value for caption in at.caption)


def test_the_game_keeps_score(open_page, settle):
    at = open_page(PAGE, preset="inp", open="Guess the rating")
    at.select_slider(key="attack_eps").set_value(20.0).run()
    settle(at)
    for played in range(1, 4):
        seen = metrics(at)["The noised sign"]
        at.button(key="guess1" if seen == "+1" else "guess-1").click().run()
        settle(at)
        assert metrics(at)["You"] == f"{played} of {played}"
        assert any("Right" in text.value for text in at.markdown)
    at.button(key="game-again").click().run()
    settle(at)
    assert "You" not in metrics(at)


def test_a_wrong_guess_is_counted(open_page, settle):
    at = open_page(PAGE, preset="inp", open="Guess the rating", look="Guess the rating")
    at.select_slider(key="attack_eps").set_value(20.0).run()
    settle(at)
    seen = metrics(at)["The noised sign"]
    at.button(key="guess-1" if seen == "+1" else "guess1").click().run()
    settle(at)
    assert metrics(at)["You"] == "0 of 1"


def test_the_best_guesser_plays(open_page, settle):
    at = open_page(PAGE, preset="outp-bridge", open="Guess the rating")
    at.button(key="machine").click().run()
    settle(at)
    won = int(metrics(at)["Best guesser"].split()[0])
    assert won > 190
    assert any("The whole interval lies above that: refuted" in caption.value for caption in at.caption)


def test_where_no_best_guess_is_known_a_sentence_says_so(open_page, settle):
    at = open_page(PAGE, preset="clear", open="Guess the rating")
    at.button(key="machine").click().run()
    settle(at)
    assert any("best guess is known" in warning.value for warning in at.warning)


def test_missing_data_are_offered(open_page, empty_data_home):
    at = open_page(PAGE, preset="inp")
    at.selectbox(key="attack_data").set_value("MovieLens sample, 30 x 30").run()
    assert any("is not on this machine yet" in info.value for info in at.info)
    assert not at.exception


def test_what_a_mechanism_refuses_is_one_sentence(open_page):
    at = open_page(PAGE, preset="outp-projected")
    # A ridge needs a matrix; whatever the combination, the page answers with a sentence.
    at.selectbox(key="attack_data").set_value("A single rating").run()
    assert not at.exception


def test_a_new_series_of_the_game_asks_anew():
    """Rounds are numbered from 1 in every series: alike but for the series, an old answer would be taken for a new."""
    assert len({privacy_check_game._Game().series for _ in range(5)}) == 5
