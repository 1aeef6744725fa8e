"""A small table arrives as the data frame of the same texts would."""

from __future__ import annotations

import pandas as pd
from streamlit.testing.v1 import AppTest

TEXTS = {"Whom": ["one rating", "a user & <b>all</b>"], "epsilon": ["1", "65"], "delta": ["0", "0.00001"]}


def test_the_first_column_names_the_rows() -> None:
    def page(columns: dict[str, list[str]]) -> None:
        from pages.parts import tables

        tables.show(columns)

    (table,) = AppTest.from_function(page, args=(TEXTS,)).run().table
    pd.testing.assert_frame_equal(table.value, pd.DataFrame(TEXTS).set_index("Whom"), check_dtype=False)
    assert not table.proto.hide_index
