"""The settings file of the dashboard: every setting of its pages as a small JSON text, written and read.

What is read comes from anywhere. It is bounded in size, decoded and parsed here, and every value becomes the text that
an address would hold: the controls of the pages then read both in one way. Nothing here runs what a file says. It is
JSON because its reader takes time and memory in proportion to the text, whatever that holds; that of TOML does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from obmc import pins
from obmc.errors import shown
from obmc.limits import written
from obmc.pins import Pin
from obmc.version import VERSION

# Some twenty times what the dashboard itself writes.
MAX_BYTES = 100_000
_MOST_VALUES = 100
_KNOWN = ("about", "page", "settings", "pins")


@dataclass(frozen=True)
class SettingsFile:
    """What a settings file says.

    Attributes
    ----------
    page
        The page that it was saved on; "" where it does not say.
    texts
        The texts of each setting by its key; None where the file has no settings.
    pins
        Pinned curves; None where the file has none.
    notes
        A sentence for everything in it that cannot be read.
    """

    page: str
    texts: dict[str, list[str]] | None
    pins: list[Pin] | None
    notes: list[str] = field(default_factory=list)


def write(page: str, values: Mapping[str, Any], kept: Iterable[Pin] = ()) -> str:
    """The text of a settings file: numbers, texts, switches, and tuples or lists of these, by their keys."""
    document: dict[str, Any] = {
        "about": f"Settings of obmc {VERSION}. A page of its dashboard opens them: “Open a settings file”.",
        "page": page,
        "settings": dict(values),
    }
    # Without pins, whoever opens the file keeps their own.
    if entries := [pin.to_dict() for pin in kept]:
        document["pins"] = entries
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return _whole(text)


def _whole(text: str) -> str:
    """A text without halves of a pair of surrogates, which a pasted name or an escape may hold and no page can."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read(content: bytes) -> SettingsFile:
    """The settings of a file's content.

    Raises
    ------
    ValueError
        One sentence, where it is too large, no text in UTF-8, no JSON, or holds neither settings nor pins.
    """
    if len(content) > MAX_BYTES:
        raise ValueError(f"This is no settings file: it has {len(content):,} bytes, and one has at most {MAX_BYTES:,}.")
    twice: dict[str, None] = {}

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                twice[key] = None
            found[key] = value
        return found

    try:
        text = content.decode("utf-8-sig")
        entry = json.loads(text, object_pairs_hook=once)
        if any(half in text for half in (r"\ud", r"\uD")):
            entry = json.loads(_whole(json.dumps(entry, ensure_ascii=False)))
    except UnicodeDecodeError:
        raise ValueError("This is no settings file: it is not text in UTF-8.") from None
    except (ValueError, RecursionError) as error:
        # Also a number of thousands of digits, and lists in lists beyond any use.
        said = str(error) if isinstance(error, json.JSONDecodeError) else "a value is beyond all bounds"
        raise ValueError(f"The settings file is not valid JSON: {said}.") from None
    if not isinstance(entry, dict):
        entry = {}
    settings, tables, page = entry.get("settings"), entry.get("pins"), entry.get("page", "")
    if not isinstance(settings, dict) and not isinstance(tables, list):
        raise ValueError("This is no settings file: it has neither settings nor a list of pins.")
    notes = [f"The file has {shown(key)}, which is no part of a settings file." for key in entry if key not in _KNOWN]
    notes += [f"The file has {shown(key)} more than once in one place: the last one counts." for key in twice]
    texts = None
    if isinstance(settings, dict):
        texts = {}
        for key, value in settings.items():
            found = _texts(value)
            if found is None:
                notes.append(f"The file has {shown(key)} with a value that no setting has. It was left out.")
            else:
                texts[key] = found
    kept = None
    if isinstance(tables, list):
        kept, further = pins.from_entries(tables)
        notes += further
    return SettingsFile(page if isinstance(page, str) else "", texts, kept, notes)


def _texts(value: Any) -> list[str] | None:
    """The texts that an address would hold for a value; None for what is no number, text or list of these."""
    several = value if isinstance(value, list) else [value]
    if len(several) > _MOST_VALUES or not all(isinstance(item, str | bool | int | float) for item in several):
        return None
    return [written(item) for item in several]
