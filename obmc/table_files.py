"""Tables as files that may leave: CSV whose cells no spreadsheet runs, and Parquet."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pandas as pd

# A spreadsheet runs a cell that begins so, in some languages also with the wide forms.
_RUNS = tuple("=+-@\t\r\n＝＋－＠|%")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?%?")


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet runs: an apostrophe before a formula; a number stays as it is."""
    return f"'{text}" if text.startswith(_RUNS) and not _NUMBER.fullmatch(text) else text


def as_csv(table: pd.DataFrame) -> bytes:
    """A table as CSV in UTF-8: numbers by their shortest exact digits, texts such that no spreadsheet runs them."""
    safe = table.copy()
    for name, column in table.items():
        if not pd.api.types.is_numeric_dtype(column):
            safe[name] = _harmless_column(column.astype("string"))
    return safe.to_csv(index=False, lineterminator="\n").encode()


def as_spreadsheet(frame: pd.DataFrame) -> bytes:
    """A table as CSV in UTF-8 with a mark that spreadsheets need, its texts harmless, numbers to six places."""
    safe = {
        name: _harmless_column(column) if pd.api.types.is_string_dtype(column) else column
        for name, column in frame.items()
    }
    text = pd.DataFrame(safe).to_csv(index=False, float_format="%.6f", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    return b"\xef\xbb\xbf" + text.encode()


def _harmless_column(column: pd.Series[Any]) -> pd.Series[Any]:
    known = {text: harmless(text) for text in column.dropna().unique()}
    return column.map(known)


def as_parquet(frame: pd.DataFrame) -> bytes:
    """A table as Parquet; ``ValueError`` where pyarrow is not installed."""
    stream = io.BytesIO()
    try:
        frame.to_parquet(stream, index=False, compression="zstd")
    except ImportError:
        raise ValueError("The format can be Parquet only where pyarrow is installed: pip install pyarrow.") from None
    return stream.getvalue()
