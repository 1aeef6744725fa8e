"""Files of all sorts in a real browser, each from its upload to a downloaded release."""

from __future__ import annotations

import pytest
from rating_steps import HOME, OWN, check_release

pytestmark = pytest.mark.browser

# One of each sort: separators, decimal commas, encodings, wide, packed, words, other names, duplicates, formulas.
SHARED = (
    "01_tab_noheader.data",
    "03_semicolon_decimal_comma.csv",
    "16_utf16_tab.csv",
    "17_cp1252_accents.csv",
    "27_dup_exact.csv",
    "31_spanish_header.csv",
    "45_like_dislike.csv",
    "52_wide_nan.csv",
    "68_formula_ids.csv",
    "69_ratings.csv.gz",
)
OF_OUR_OWN = ("five_words.csv", "shift_jis.csv", "wide_nan.csv")


@pytest.mark.skipif(not (HOME / SHARED[0]).exists(), reason="the shared collection of files is not at hand")
def test_ten_files_from_upload_to_a_downloaded_release(visit):
    page = visit("/your_ratings")
    for name in SHARED:
        check_release(page, HOME / name)
    assert page.outside == []


def test_files_of_our_own_one_after_the_other(visit):
    page = visit("/your_ratings")
    for name in OF_OUR_OWN:
        check_release(page, OWN / name)
