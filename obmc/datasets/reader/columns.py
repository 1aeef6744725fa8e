"""Which column is the user, which the item and which the rating: as asked for, by name, or by what is in them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from obmc.datasets.reader.codes import HIGH_CODES, NEGATIVE_CODES, serial_days
from obmc.datasets.reader.names import COUNT_RANK, ITEM, OTHER, RATING, TIME, USER, Meaning, meanings
from obmc.datasets.reader.values import DATE_LIKE, MISSING, RATED, MixedScales, read_values
from obmc.errors import RatingsError

ONE_PERSON = re.compile(r"(?:my|your|own|meine?|deine?|ihre?|mes|mon|ma|votre|ta|mi|tu|mia|mio|minha)\b", re.IGNORECASE)
REVIEW = re.compile(r"(?:user[ _]?|critic[ _]?)?reviews?", re.IGNORECASE)
CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?.*|.*\d{1,2}:\d{2}:\d{2}.*")
# Seconds, milli-, micro- and nanoseconds since 1970 for the years 1980 to 2100, and dates written in one number.
EPOCHS = tuple((3.1e8 * unit, 4.2e9 * unit) for unit in (1.0, 1e3, 1e6, 1e9))
# Numbers that stand for "not rated" in some files.
CODES = frozenset((*HIGH_CODES, *NEGATIVE_CODES))
# A column of words that were read as numbers.
WORDED = -1
# So many cells of the sample are looked at, and from so many columns on they are looked at together.
MOST_CELLS, MANY_COLUMNS = 2_000_000, 50
WRITTEN_DATES = ((19000101, 21001231), (19000101000000, 21001231235959))


@dataclass
class Profile:
    """What a sample of a column holds.

    How many cells are ``filled`` and ``blank`` and how many texts of the filled are ``different``; the ``levels``, the
    numbers that the texts would be as ratings, ascending, and of these the ``scale``, those that are no codes such as
    99; the share of filled cells that have one, dates that a spreadsheet made among them apart; whether they are words,
    and whether they are times; and the ``trouble`` of numbers that do not compare.
    """

    filled: int
    blank: int
    different: int
    levels: list[float]
    scale: list[float]
    rated_share: float
    is_time: bool
    worded: bool
    trouble: MixedScales | None = None

    @property
    def reach(self) -> float:
        """The largest distance from 0 on the scale; 0 if there is none."""
        return max((abs(value) for value in self.scale), default=0.0)


@dataclass
class Roles:
    """Positions of the three columns, and what was guessed."""

    user: int
    item: int
    rating: int
    notes: list[str] = field(default_factory=list)


def profile_columns(sample: list[list[str]], width: int, decimal: str | None) -> list[Profile]:
    """A profile of every column. In a table of many columns the later ones are read together, being of one kind."""
    rows = sample[: max(20, MOST_CELLS // width)]
    columns = [Counter(row[k].strip() for row in rows) for k in range(width)]
    alone = width if width <= MANY_COLUMNS else MANY_COLUMNS // 10
    profiles = [_profile(texts, _read(texts, decimal)) for texts in columns[:alone]]
    if alone < width:
        together: Counter[str] = Counter()
        for texts in columns[alone:]:
            together.update(texts)
        read = _read(together, decimal)
        profiles += [_profile(texts, read) for texts in columns[alone:]]
    return profiles


@dataclass
class _Read:
    """The value and the kind of every text as a rating, no kinds if they are none; what words stand for is WORDED."""

    values: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, int] | None = None
    trouble: MixedScales | None = None


def _read(texts: Counter[str], decimal: str | None) -> _Read:
    counts = np.array(list(texts.values()), dtype=np.int64)
    try:
        reading = read_values(list(texts), counts, decimal=decimal, words=None, column="the file")
    except MixedScales as trouble:
        return _Read(trouble=trouble)
    except RatingsError:
        return _Read()
    kinds = dict(zip(texts, reading.kinds.tolist(), strict=True))
    if reading.words:
        kinds |= {text: WORDED for text, kind in kinds.items() if kind == RATED}
    return _Read(dict(zip(texts, reading.values.tolist(), strict=True)), kinds)


def _profile(texts: Counter[str], read: _Read) -> Profile:
    values, kinds = read.values, read.kinds
    blank = sum(count for text, count in texts.items() if not text or (kinds and kinds[text] == MISSING))
    filled = sum(texts.values()) - blank
    rated = [text for text in texts if kinds and kinds[text] in (RATED, WORDED)]
    worded = any(kinds[text] == WORDED for text in rated) if kinds else False
    levels = sorted({values[text] for text in rated})
    days = serial_days(np.array(levels))
    scale = [value for value, day in zip(levels, days.tolist(), strict=True) if not day and value not in CODES]
    times = sum(count for text, count in texts.items() if DATE_LIKE.fullmatch(text) or CLOCK.fullmatch(text))
    among = filled - times if kinds and times < 0.5 * filled else filled
    share = sum(texts[text] for text in rated if not DATE_LIKE.fullmatch(text)) / max(among, 1)
    is_time = filled > 0 and (times >= 0.8 * filled or (share >= 0.9 and not worded and _are_times(levels)))
    different = sum(1 for text in texts if text and not (kinds and kinds[text] == MISSING))
    return Profile(filled, blank, different, levels, scale, share, is_time, worded, read.trouble)


def _are_times(levels: list[float]) -> bool:
    low, high = levels[0], levels[-1]
    if any(start <= low and high <= end for start, end in EPOCHS):
        return True
    for start, end in WRITTEN_DATES:
        if start <= low and high <= end:
            days = [value if end < 1e9 else value // 1e6 for value in levels]
            return all(
                value == value // 1 and 1 <= day // 100 % 100 <= 12 and 1 <= day % 100 <= 31
                for value, day in zip(levels, days, strict=True)
            )
    return False


def label(names: list[str] | None, position: int) -> str:
    """A column as messages name it."""
    name = names[position] if names and position < len(names) else ""
    return repr(name) if name else f"column {position + 1}"


def listed(names: list[str] | None, width: int) -> str:
    shown = ", ".join(label(names, k) for k in range(min(width, 12)))
    return shown + (f" and {width - 12} more" if width > 12 else "")


def position_of(role: str, wanted: Any, names: list[str] | None, width: int) -> int:
    """The position of a column given by name or 0-based position."""
    if isinstance(wanted, bool) or not isinstance(wanted, str | int | np.integer):
        raise RatingsError(f"{role} must be a column name or a 0-based position, got {wanted!r}.")
    if not isinstance(wanted, str):
        if not 0 <= int(wanted) < width:
            raise RatingsError(f"{role} must be a position from 0 to {width - 1}, got {wanted}.")
        return int(wanted)
    for same in (str, lambda text: str(text).strip().casefold()):
        found = [k for k, name in enumerate(names or []) if same(name) == same(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise RatingsError(
                f"{role}={wanted!r} names {len(found)} columns: give the 0-based position of the one meant."
            )
    raise RatingsError(f"{role}={wanted!r} is no column of the file; its columns are {listed(names, width)}.")


def find_roles(
    names: list[str] | None, profiles: list[Profile], sample: list[list[str]], *, user: Any, item: Any, rating: Any
) -> Roles:
    """Raises ``RatingsError`` if there is no column for one of the three: above all, if nothing is a rating."""
    width = len(profiles)
    wanted = {
        role: position_of(role, given, names, width)
        for role, given in ((USER, user), (ITEM, item), (RATING, rating))
        if given is not None
    }
    if len(set(wanted.values())) < len(wanted):
        raise RatingsError("user, item and rating must name three different columns.")
    if width < 3:
        raise RatingsError(
            f"The file has {width} column{'s' if width > 1 else ''} ({listed(names, width)}): a user, an item and a "
            "rating are needed in every row."
        )
    known: list[Meaning | None] = meanings(names) if names else [None] * width
    notes: list[str] = []
    taken = dict(wanted)
    for role in (RATING, USER, ITEM):
        if role not in taken:
            by_name = _by_name(role, known, names, profiles, set(taken.values()), notes)
            if by_name is not None:
                taken[role] = by_name
    if RATING not in taken:
        taken |= _worded_review(known, names, profiles, set(taken.values()), notes)
    guessed = _guess_rest(taken, known, names, profiles)
    if USER in guessed and names is not None and ITEM in taken:
        _check_several_users(names, profiles, taken | guessed, ITEM in wanted)
    taken |= guessed
    if USER in guessed and ITEM in guessed:
        _check_pairs(names, sample, taken[USER], taken[ITEM])
    if guessed:
        notes.insert(0, _guess_note(guessed, taken, names))
    return Roles(taken[USER], taken[ITEM], taken[RATING], notes)


def _worded_review(
    known: list[Meaning | None], names: list[str] | None, profiles: list[Profile], used: set[int], notes: list[str]
) -> dict[str, int]:
    """A review is mostly prose, but "Recommended" and the like are ratings, where there are no others."""
    found = [
        k
        for k, name in enumerate(names or [])
        if k not in used and known[k] is not None and REVIEW.fullmatch(name.strip())
        if profiles[k].worded and profiles[k].rated_share >= 0.9 and len(profiles[k].levels) > 1
    ]
    if len(found) != 1:
        return {}
    notes.append(f"{label(names, found[0])}, whose words are those of a scale, was taken as the rating.")
    return {RATING: found[0]}


def _check_several_users(names: list[str], profiles: list[Profile], taken: dict[str, int], item_given: bool) -> None:
    """A column that no name calls the user is none in what one person exports: "My Rating", and no item twice."""
    item = profiles[taken[ITEM]]
    own = ONE_PERSON.match(names[taken[RATING]].strip())
    if own or (item.different == item.filled >= 20 and not item_given):
        reason = (
            f"{label(names, taken[RATING])} is one person's" if own else f"no {label(names, taken[ITEM])} occurs twice"
        )
        raise RatingsError(
            f"The file has no column for the user, and {reason}, as in an export of one's own ratings, which tell "
            "nothing of others; if it has several users, name their column with user=."
        )


def _check_pairs(names: list[str] | None, sample: list[list[str]], user: int, item: int) -> None:
    """Do the guessed columns make a table of ratings? In one, pairs are mostly different, and users or items recur."""
    pairs = [(row[user].strip(), row[item].strip()) for row in sample if row[user].strip() and row[item].strip()]
    n = len(pairs)
    users, items = len({who for who, _ in pairs}), len({what for _, what in pairs})
    strangers = min(users, items) >= 0.95 * n or (users == n and items <= 3)
    if n >= 10 and (len(set(pairs)) < 0.5 * n or strangers):
        raise RatingsError(
            f"The file does not look like ratings: read as users and items, {label(names, user)} and "
            f"{label(names, item)} have {users:,} and {items:,} different values in {n:,} rows of {len(set(pairs)):,} "
            "kinds; if it holds ratings, name the columns with user=, item= and rating=."
        )


def _guess_note(guessed: dict[str, int], taken: dict[str, int], names: list[str] | None) -> str:
    if names is None:
        places = ", ".join(f"{role} = column {taken[role] + 1}" for role in (USER, ITEM, RATING))
        return (
            f"The file has no header; its columns were told apart by what they hold: {places} (change with user=, "
            "item=, rating=)."
        )
    double = [name for name, often in Counter(name for name in names if name).items() if often > 1]
    places = ", ".join(f"{role} = {label(names, k)} (column {k + 1})" for role, k in sorted(guessed.items()))
    twice = f" The header has {double[0]!r} {names.count(double[0])} times." if double else ""
    return f"The header does not tell all columns; taken as {places} (change with user=, item=, rating=).{twice}"


def _by_name(
    role: str,
    known: list[Meaning | None],
    names: list[str] | None,
    profiles: list[Profile],
    used: set[int],
    notes: list[str],
) -> int | None:
    candidates = [
        (found.rank, k) for k, found in enumerate(known) if found is not None and found.role == role and k not in used
    ]
    candidates = [pair for pair in candidates if profiles[pair[1]].filled] or candidates
    if role == RATING:
        usable = [(rank, k) for rank, k in candidates if not profiles[k].is_time and profiles[k].rated_share >= 0.5]
        # A column of the right name that holds dates is no rating; one that holds odd words is, and they are named.
        candidates = usable or [(rank, k) for rank, k in candidates if not profiles[k].is_time and rank < 3]
    if not candidates:
        return None
    rank, best = min(candidates)
    rivals = [k for other, k in candidates if other == rank and k != best]
    if rivals:
        others = ", ".join(label(names, k) for k in rivals[:4])
        if role == RATING:
            notes.append(f"{label(names, best)} was taken as the rating and {others} not (change with rating=).")
        elif names and any(names[k] == names[best] for k in rivals):
            return None
        else:
            notes.append(f"{label(names, best)} was taken as the {role} and {others} not (change with {role}=).")
    if role == RATING and rank >= COUNT_RANK:
        notes.append(f"{label(names, best)}, a count, was taken as the rating (change with rating=).")
    return best


def _guess_rest(
    taken: dict[str, int], known: list[Meaning | None], names: list[str] | None, profiles: list[Profile]
) -> dict[str, int]:
    """The roles that no name tells, by content: first the rating, then user and item in the order of the file."""
    guessed: dict[str, int] = {}
    width = len(profiles)
    open_columns = [k for k in range(width) if k not in taken.values() and profiles[k].filled]
    if names is not None:
        repeated = {name for name, often in Counter(names).items() if often > 1}
        open_columns = [k for k in open_columns if _untold(known[k], RATING in taken) or names[k] in repeated]
    if RATING not in taken:
        guessed[RATING] = _guess_rating(open_columns, taken, known, names, profiles)
        open_columns.remove(guessed[RATING])
    missing = [role for role in (USER, ITEM) if role not in taken]
    if not missing:
        return guessed
    ids = [k for k in open_columns if not profiles[k].is_time and names is not None and names[k] != ""] or open_columns
    if names is None or len(ids) < len(missing):
        ids = [k for k in open_columns if not profiles[k].is_time]
    ids = [k for k in ids if not _has_decimals(profiles[k])] or ids
    if names is None and len(ids) > len(missing) and _is_row_number(profiles[ids[0]]):
        ids = ids[1:]
    if len(ids) < len(missing):
        what = missing[0] if len(missing) == 1 else "user and the item"
        raise RatingsError(
            f"The file has no column for the {what}; its columns are {listed(names, width)}: name it with "
            f"{missing[0]}=."
        )
    if USER in missing and any(found is not None for found in known):
        who = profiles[ids[0]]
        if who.different == who.filled > 1:
            raise RatingsError(
                f"The file has no column for the user: no value of {label(names, ids[0])} occurs twice, as users would "
                "that rate several items; name the column with user=."
            )
    return guessed | dict(zip(missing, ids, strict=False))


def _untold(known: Meaning | None, rating_found: bool) -> bool:
    """Is the column free to be a user or an item? A weak name for a rating tells nothing once the rating is found."""
    return known is None or (rating_found and known.role == RATING and 3 <= known.rank < COUNT_RANK)


def _has_decimals(column: Profile) -> bool:
    return column.rated_share > 0.9 and not column.worded and any(value % 1 for value in column.levels)


def _is_row_number(column: Profile) -> bool:
    """All different and in steps of one."""
    return (
        column.different == column.filled > 20
        and column.rated_share == 1.0
        and column.levels[-1] - column.levels[0] < 1.5 * column.filled
    )


def _guess_rating(
    open_columns: list[int],
    taken: dict[str, int],
    known: list[Meaning | None],
    names: list[str] | None,
    profiles: list[Profile],
) -> int:
    scores = {k: _rating_score(profiles[k], k, names is None) for k in open_columns}
    plausible = {k: score for k, score in scores.items() if score > 0}
    named = [role for role in (USER, ITEM) if role in taken]
    told = [found for found in known if found is not None]
    # Where names tell other columns, an untold one is taken for the rating only if it could hardly be anything else.
    if told and (len(named) < 2 or max(plausible.values(), default=0.0) < 3):
        plausible = {}
    if not plausible:
        trouble = next((profiles[k].trouble for k in open_columns if profiles[k].trouble), None)
        if trouble is not None:
            raise trouble
        raise RatingsError(_no_rating(known, names, profiles))
    return max(plausible, key=lambda k: (plausible[k], -len(profiles[k].levels), k))


def _no_rating(known: list[Meaning | None], names: list[str] | None, profiles: list[Profile]) -> str:
    width = len(profiles)
    times = [k for k in range(width) if profiles[k].is_time or (known[k] is not None and known[k].role == TIME)]  # type: ignore[union-attr]
    aside = f" ({label(names, times[0])} is a time, not a rating)" if times else ""
    roles = {found.role for found in known if found is not None}
    kind = ""
    if ITEM in roles and USER not in roles and names is not None:
        kind = "it looks like a list of items rather than ratings; "
    elif USER in roles and ITEM in roles and OTHER not in roles:
        kind = "a list of who took what tells nothing about dislike and cannot be used; "
    elif OTHER in roles and USER in roles and ITEM in roles:
        kind = "it may be another file of the data set, such as tags or reviews; "
    return (
        f"The file has no rating column among {listed(names, width)}{aside}: {kind}give a file with a rating in every "
        "row or name the column with rating=."
    )


def _rating_score(column: Profile, position: int, headless: bool) -> float:
    """How much a column looks like ratings; 0 or less if it cannot be."""
    if column.is_time or column.rated_share < 0.8 or not column.scale or column.reach > 100:
        return 0.0
    if headless and position != 2 and column.different == column.filled > 1:
        return 0.0
    size = len(column.scale)
    score = 2.0 * (size <= 11) + 1.0 * (11 < size <= 21) + 2.0 * (column.reach <= 10)
    score += 0.5 + 1.0 * any(value % 1 for value in column.scale) + 2.0 * column.worded
    score -= 1.5 * (len(column.levels) == 1)
    return score + (1.5 * (position == 2) if headless else 0.0)
