"""What a page shows in place of a real data set that is not on this machine: how to get it here."""

from __future__ import annotations

import io
import time
import zipfile

import streamlit as st

from obmc.datasets import DATA_SETS, fetch
from obmc.datasets.registry import DataSet
from obmc.errors import DataNotFoundError

_EVERY_SECONDS = 0.2


def show(name: str) -> None:
    """Offer to fetch the data set, or to take its archive or its folder."""
    row = DATA_SETS[name]
    st.info(f"{row.title} is not on this machine yet: {row.summary}. All else works without it.")
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Fetch it")
        st.markdown(f"From [{row.page}]({row.page}). {row.licence}")
        if st.button("Download now", type="primary", key=f"fetch-{name}"):
            _download(row)
    with right:
        st.header("Or hand it over")
        archive = st.file_uploader("The zip archive", type="zip", key=f"archive-{name}")
        files = st.file_uploader(
            f"Or its folder, with {', '.join(file.name for file in row.files if file.needed)}",
            accept_multiple_files="directory",
            key=f"folder-{name}",
        )
        if archive is not None:
            _take(row, archive)
        elif files:
            _take(row, _as_archive(files))


def _download(row: DataSet) -> None:
    bar = st.progress(0.0, "Asking for it …")
    last = 0.0

    def progress(done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last > _EVERY_SECONDS:
            last = time.monotonic()
            share = min(done / total, 1.0) if total else 0.0
            bar.progress(share, f"{done / 1e6:.1f}{f' of {total / 1e6:.1f}' if total else ''} MB")

    try:
        fetch(row.name, progress=progress)
    except DataNotFoundError as error:
        bar.empty()
        st.error(str(error))
        return
    st.rerun()


def _take(row: DataSet, source: io.BytesIO) -> None:
    try:
        fetch(row.name, source=source)
    except DataNotFoundError as error:
        st.error(str(error))
        return
    st.rerun()


def _as_archive(files: list) -> io.BytesIO:
    """The uploaded files of a folder as one archive, which is what ``fetch`` reads safely."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for file in files:
            opened.writestr(file.name.replace("\\", "/").rpartition("/")[2], file.getvalue())
    archive.seek(0)
    archive.name = "the given folder"  # What a message calls it.
    return archive
