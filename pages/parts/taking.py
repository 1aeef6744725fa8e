"""Take it away: what a page shows as files, its settings out and in.

Buttons and help are those of the table ``obmc.export.EXPORTS``. A file is made when it is asked for, never before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from obmc.export import EXPORTS, Exhibit, Export
from obmc.views import View
from pages.parts import settings_file

# Of a picture for a paper or a slide, in pixels; those of PNG are doubled.
_SIZE = {"width": 1000, "height": 550}
_SCALES = {"svg": 1, "png": 2}
_HERE = Path(__file__).parent

_pictures = st.components.v2.component(
    "obmc-taking",
    html='<div class="obmc-taking"></div>',
    css=(_HERE / "taking.css").read_text(encoding="utf-8"),
    js=(_HERE / "taking.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def offer(view: View, data: Any, charts: Mapping[str, str], *, missing: int = 0, without: tuple[str, ...] = ()) -> None:
    """Buttons for every format.

    ``charts``: what the charts of the page are called, by the keys that they are shown under. ``missing``: how many
    runs are not there yet. ``without``: formats that hold nothing of their own here.
    """
    with st.expander("Take it away"):
        wanted = [export for key, export in EXPORTS.items() if key not in without]
        with st.container(horizontal=True):
            for export in wanted:
                if export.make is not None:
                    made = partial(_made, export, view, data, missing, settings_file.taken())
                    _button(export, view.name, made)
        pictures = [export for export in wanted if export.make is None]
        buttons = [_picture(export, view.name, key, title) for key, title in charts.items() for export in pictures]
        _pictures(key=f"taking-{view.name}", data={"buttons": buttons})
        if missing:
            st.caption(f"{missing:,} runs of this chart are not there yet: files hold what is drawn now.")


def _made(export: Export, view: View, data: Any, missing: int, taken: settings_file.Taken) -> bytes:
    """A file, when it is asked for: link and settings are complete by then."""
    assert export.make is not None
    return export.make(Exhibit(view, data, taken.settings(), taken.address, missing))


def _button(export: Export, name: str, made: Callable[[], bytes]) -> None:
    st.download_button(
        export.label,
        made,
        export.file(name),
        export.media_type,
        key=f"take-{export.key}",
        help=export.help,
        icon=":material/download:",
        on_click="ignore",
    )


def _picture(export: Export, name: str, chart: str, title: str) -> dict[str, Any]:
    """What ``taking.js`` needs for one button; with several charts each is named."""
    size = {**_SIZE, "scale": _SCALES[export.key]}
    label = f"{title}, {export.key.upper()}" if title else export.label
    file = export.file(f"{name}-{title.lower().replace(' ', '-')}" if title else name)
    return {"label": label, "help": export.help, "file": file, "format": export.key, "chart": chart, **size}
