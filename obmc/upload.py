"""Reading what a visitor hands over, within what a server can take: ratings, or one sentence and the first rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from obmc.datasets.ratings_file import RatingsPreview, preview_ratings, read_ratings
from obmc.datasets.ratings_table import RatingsTable
from obmc.errors import RatingsError

ROWS_VARIABLE = "OBMC_UPLOAD_ROWS"
DEFAULT_ROWS = 2_000_000
# How much larger than the largest upload a packed file may be when it is unpacked.
UNPACKED = 4


def most_rows() -> int:
    """How many ratings an upload may hold: ``OBMC_UPLOAD_ROWS``, two million by default."""
    text = os.environ.get(ROWS_VARIABLE, "")
    if not text:
        return DEFAULT_ROWS
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{ROWS_VARIABLE} must be a whole number of at least 1, got {text!r}.")
    return int(text)


@dataclass(frozen=True, eq=False)
class Upload:
    """What became of a file: ``table``, or ``fault`` in one sentence; ``preview`` where its columns can be told."""

    table: RatingsTable | None
    preview: RatingsPreview | None
    fault: str


def read_upload(data: bytes, options: Mapping[str, Any], megabytes: int, rows: int) -> Upload:
    """Read an upload of at most ``megabytes`` (packed) and ``rows`` ratings; ``options`` go to ``read_ratings``.

    Never raises for what is in the file.
    """
    limit = UNPACKED * megabytes * 1_000_000
    of_preview = {name: options[name] for name in ("separator", "encoding", "header") if name in options}
    preview = None
    try:
        preview = preview_ratings(data, max_bytes=limit, **of_preview)
        table = read_ratings(data, max_bytes=limit, **options)
        if table.n_ratings > rows:
            raise RatingsError(
                f"The file holds {table.n_ratings:,} ratings, and this dashboard takes at most {rows:,}: keep a part "
                f"of the users, raise {ROWS_VARIABLE}, or use python -m obmc release."
            )
    except RatingsError as error:
        return Upload(None, preview, str(error))
    except MemoryError:
        return Upload(None, preview, "The file needs more memory than there is: keep a part of it.")
    return Upload(table, preview, "")
