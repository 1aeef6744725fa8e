"""Small tables of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import pandas as pd
import pyarrow as pa
import streamlit as st


def show(columns: Mapping[str, Sequence[str]]) -> None:
    """A table of texts by its columns, the first of which names the rows.

    It is made as the browser takes it: the way by a data frame costs some milliseconds, which a page has better uses
    for, each time that it runs.
    """
    schema = _schema(tuple(columns))
    made = pa.Table.from_arrays([pa.array(columns[name], pa.string()) for name in schema.names], schema=schema)
    # Said, since finding it out would make a data frame of the table.
    st.table(made, hide_index=False)


@lru_cache
def _schema(names: tuple[str, ...]) -> pa.Schema:
    """That of a data frame with these columns, the first as its index. Names are the program's own, no data."""
    found = pa.Schema.from_pandas(pd.DataFrame({name: [""] for name in names}).set_index(names[0]))
    return pa.schema([pa.field(field.name, pa.string()) for field in found], metadata=found.metadata)
