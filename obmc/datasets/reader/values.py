"""Rating texts to numbers: decimal commas, thousands, fractions, percent, stars, units, words; each guess is said."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from obmc.datasets.reader.words import NO_RATING, NOT_FINITE, match
from obmc.errors import RatingsError

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
GROUPED = {mark: re.compile(rf"[+-]?\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+", re.ASCII) for mark in ",."}
COMMA_NUMBER = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
ENGLISH_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
# 1,23,456: in India the groups before the last one are pairs.
INDIAN_THOUSANDS = re.compile(r"[+-]?\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d*)?", re.ASCII)
EUROPEAN_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?", re.ASCII)
POINTED_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
SPACED_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:[ '_]\d{3})+(?:[.,]\d*)?", re.ASCII)
PERCENT = re.compile(r"(.+?)\s*%")
OUT_OF = re.compile(
    r"(.+?)\s*(?:/|⁄|out of|of|von|sur|su|de|van|из)\s*(\d+(?:[.,]\d+)?)(?:\s*[^\W\d]+)?", re.IGNORECASE
)
UNIT = re.compile(r"([+-]?[\d.,]+)\s*([^\d\s.,+-].*)")
GLYPHS = frozenset("★⭐🌟✭✮✯✪☆✩⯨❤♥👍*")
EMPTY_GLYPHS = frozenset("☆✩")
HALVES = {"½": ".5", "¼": ".25", "¾": ".75"}
SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "﹣": "-", "⁺": "+", "’": "'", "٫": ".", "٬": ",", "\ufe0f": None})
MONTH = (
    r"(?:jan(?:uary?|uar)?|january|jän(?:ner)?|janv(?:ier)?|ene(?:ro)?|gen(?:naio)?|feb(?:ruary?|ruar|rero|braio)?|february"
    r"|févr?(?:ier)?|fevr?(?:ier)?|mar(?:ch|s|zo)?|mär(?:z)?|mrz|apr(?:il|ile)?|avr(?:il)?|abr(?:il)?|may|mai|mayo|mag(?:gio)?"
    r"|june?|juni|juin|junio|giu(?:gno)?|july?|juli|juil(?:let)?|julio|lug(?:lio)?|aug(?:ust)?|août|aout|ago(?:sto)?"
    r"|sept?(?:ember|embre|iembre)?|set(?:tembre)?|oct(?:ober|obre|ubre)?|okt(?:ober)?|ott(?:obre)?"
    r"|nov(?:ember|embre|iembre)?|dec(?:ember)?|dez(?:ember)?|déc(?:embre)?|dic(?:iembre|embre)?)\.?"
)
DATE_LIKE = re.compile(
    rf"\d{{1,2}}[-. /]*(?:de )?{MONTH}(?:[-. /]*(?:de )?\d{{2,4}})?|{MONTH}[-. /]*\d{{1,4}}"
    r"|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}.*|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}.*",
    re.IGNORECASE,
)
LABELLED = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*[-–—:=(.)]+\s*[^\W\d].*")
SURE_UNIT = re.compile(
    r"(?:stars?|stern(?:e|en)?|étoiles?|estrellas?|estrelas?|stell[ae]|ster(?:ren)?|gwiazd(?:ka|ki|ek)|звезд[аы]?|звёзд[аы]?"
    r"|星|点|點|分|점|개|points?|pts?|punkte?n?|punt[oi]s?|pontos?|баллов|балла?|★|⭐|☆|hearts?|[*♥❤])",
    re.IGNORECASE,
)

# 1.2k counts; a lone small "m" may also be metres or minutes.
MAGNITUDE = re.compile(
    r"([+-]?[\d.,]+)\s*(k|t(?:ausend|sd|housand)\.?|m|mio\.?|mln\.?|million(?:en|s)?)", re.IGNORECASE
)

# No number is longer; what is longer is a comment.
LONGEST = 100
RATED, MISSING, INFINITE, UNREADABLE = 0, 1, 2, 3


class MixedScales(RatingsError):
    """Ratings of one column that do not compare, such as 80% beside 4."""


@dataclass
class Reading:
    """What the texts say: values (nan where there is none), kinds (RATED, MISSING, INFINITE or UNREADABLE), and how."""

    values: NDArray[np.float64]
    kinds: NDArray[np.int8]
    decimal: str
    words: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def plain_number(text: str) -> float:
    """The number that ``text`` is as it stands, else nan."""
    return float(text) if NUMBER.fullmatch(text) else math.nan


def read_values(
    texts: Sequence[str],
    counts: NDArray[np.int64],
    *,
    decimal: str | None,
    words: Mapping[str, float] | None,
    column: str,
) -> Reading:
    """Turn the different texts of a rating column into numbers; ``counts`` says how often each occurs.

    The column is read as a whole: which mark is the decimal one, and which words belong together, no single text can
    tell. Raises ``RatingsError`` if less than half of what is not missing is a rating.
    """
    size = len(texts)
    reading = Reading(np.full(size, np.nan), np.full(size, UNREADABLE, dtype=np.int8), decimal or ".")
    given = {_clean(str(word)): _word_value(word, value) for word, value in (words or {}).items()}
    open_texts: dict[int, str] = {}
    signs = _signs_in_use(texts)
    for k, raw in enumerate(texts):
        text = raw.strip()
        if len(text) > LONGEST and text not in given:
            open_texts[k] = text
            continue
        if not given and decimal != "," and NUMBER.fullmatch(text):
            _put(reading, k, float(text))
            continue
        text = _clean(text)
        if text in given or text.casefold() in given:
            _put(reading, k, given.get(text, given.get(text.casefold(), math.nan)))
        elif text.casefold() in NO_RATING and text not in signs:
            reading.kinds[k] = MISSING
        elif text.casefold() in NOT_FINITE:
            reading.kinds[k] = INFINITE
        else:
            open_texts[k] = text
    reading.words.update(given)
    _read_marked(reading, open_texts, counts, texts, decimal)
    _read_decorated(reading, open_texts, counts, column)
    _read_words(reading, open_texts, counts, column)
    _check_readable(reading, open_texts, counts, column)
    return reading


def _signs_in_use(texts: Sequence[str]) -> set[str]:
    """Signs that are ratings beside others of their kind, and else mean "no rating": "-" with "+", "*" with "**"."""
    shown = {text.strip() for text in texts[:1000]}
    minus = {"-"} if "+" in shown else set()
    return minus | ({"*"} if "**" in shown or "***" in shown else set())


def _word_value(word: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise RatingsError(f"words must map texts to finite numbers, but {word!r} is mapped to {value!r}.")
    return float(value)


def _put(reading: Reading, k: int, value: float) -> None:
    finite = math.isfinite(value)
    reading.values[k] = value if finite else math.nan
    reading.kinds[k] = RATED if finite else INFINITE


def _clean(text: str) -> str:
    """One form for what looks the same: full-width digits, minus signs, quotes around the value, ="4", halves."""
    if text.startswith('="') and text.endswith('"') and len(text) > 2:
        text = text[2:-1]
    for glyph, half in HALVES.items():
        if glyph in text and not GLYPHS & set(text):
            text = re.sub(rf"(?<!\d)\s*{glyph}", "0" + half, re.sub(rf"(?<=\d)\s*{glyph}", half, text))
    if not text.isascii():
        if "½" not in text:
            text = unicodedata.normalize("NFKC", text)
        text = text.translate(SIGNS)
        text = "".join(str(unicodedata.digit(char)) if char.isdigit() and not char.isascii() else char for char in text)
        text = text.strip("\ufeff\u200b\u200e\u200f\u202a\u202c")
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].strip()
    # Spreadsheets mark a number that is kept as text by an apostrophe before it.
    return text[1:] if text.startswith("'") and NUMBER.fullmatch(text[1:]) else text


def _read_marked(
    reading: Reading, open_texts: dict[int, str], counts: NDArray[np.int64], texts: Sequence[str], decimal: str | None
) -> None:
    """Numbers with a comma, with thousands, or with a point that may stand for thousands."""
    comma = decimal == "," or (decimal is None and _comma_is_decimal(reading, open_texts, texts))
    reading.decimal = "," if comma else "."
    mark = "." if comma else ","
    thousands = 0
    rated = np.abs(reading.values[reading.kinds == RATED])
    indian = not comma and (
        float(rated.max(initial=0.0)) >= 100 or any(ENGLISH_THOUSANDS.fullmatch(text) for _, text in _short(open_texts))
    )
    forms = [EUROPEAN_THOUSANDS if comma else ENGLISH_THOUSANDS] + [INDIAN_THOUSANDS] * indian
    for k, text in _short(open_texts):
        grouped = mark in text and any(form.fullmatch(text) for form in forms)
        spaced = SPACED_THOUSANDS.fullmatch(text)
        if grouped and not (comma and decimal is None and not _points_group(open_texts)):
            number, thousands = text.replace(mark, ""), thousands + int(counts[k])
        elif spaced:
            number, thousands = re.sub("[ '_]", "", text), thousands + int(counts[k])
        else:
            number = text
        number = number.replace(",", ".") if comma and "," in number else number
        if NUMBER.fullmatch(number):
            _put(reading, k, float(number))
            del open_texts[k]
    if decimal is None and not comma and (pointed := _points_as_thousands(reading, open_texts, texts, counts)):
        mark, thousands = ".", thousands + pointed
    if thousands:
        reading.notes.append(
            f"Ratings read with a thousands mark, such as 1{mark}234 for 1234: {thousands:,} (change with decimal=)."
        )


def _short(texts: dict[int, str]) -> list[tuple[int, str]]:
    """Those that may be numbers with something around them."""
    return [(k, text) for k, text in texts.items() if len(text) <= LONGEST]


def _points_group(open_texts: dict[int, str]) -> bool:
    """With a decimal comma in use, do points group thousands? They do if one number has both, or two points."""
    both = [text for _, text in _short(open_texts) if EUROPEAN_THOUSANDS.fullmatch(text)]
    return any("," in text or text.count(".") > 1 for text in both)


def _comma_is_decimal(reading: Reading, open_texts: dict[int, str], texts: Sequence[str]) -> bool:
    with_comma = [re.sub(r"(?<=\d)[ '_](?=\d{3})", "", text) for _, text in _short(open_texts) if "," in text]
    single = [text for text in with_comma if COMMA_NUMBER.fullmatch(_bare(text))]
    if any(EUROPEAN_THOUSANDS.fullmatch(text) or re.fullmatch(r".*\.\d+,\d+", text) for text in with_comma):
        return True
    if not single or any(ENGLISH_THOUSANDS.fullmatch(text) and "." in text for text in with_comma):
        return False
    if any(not GROUPED[","].fullmatch(_bare(text)) for text in single):
        return not any(text.count(",") > 1 for text in with_comma if ENGLISH_THOUSANDS.fullmatch(text))
    # Three digits after every comma: 1,234 is thousands among large numbers, and 3,250 a decimal among small ones.
    others = np.abs(reading.values[reading.kinds == RATED])
    heads = [abs(float(_bare(text).split(",")[0])) for text in single]
    if max(heads) >= 10 or float(others.max(initial=0.0)) > 10:
        return False
    # In every rating: with as many decimals a rating such as 4 would be 4,000 too, but counts have them from 1,000 on.
    if not len(others) and min(heads) >= 1:
        return False
    reading.notes.append(
        f"The comma in ratings such as {single[0]!r} was taken as the decimal mark (change with decimal='.')."
    )
    return True


def _bare(text: str) -> str:
    """The number of a text like "3,5 %", "3,5/5" or "3,5 Sterne"."""
    found = re.match(r"[+-]?[\d.,]+", text)
    return found[0] if found else text


def _points_as_thousands(
    reading: Reading, open_texts: dict[int, str], texts: Sequence[str], counts: NDArray[np.int64]
) -> int:
    """1.401 among whole numbers in the hundreds is 1401, as counts are written where the comma is the decimal mark.

    So it is wherever numbers have two points, as 12.345.678 has; one alone among others with one point is no proof.
    """
    rated = reading.kinds == RATED
    several = {k: text for k, text in _short(open_texts) if text.count(".") > 1 and POINTED_THOUSANDS.fullmatch(text)}
    pointed = {k: texts[k].strip() for k in np.flatnonzero(rated).tolist() if "." in texts[k]}
    if not (pointed or several) or len(pointed) > 100_000:
        return 0
    whole = np.abs(reading.values[np.setdiff1d(np.flatnonzero(rated), list(pointed), assume_unique=True)])
    large = len(whole) > 0 and float(whole.max()) >= 100
    sure = large or (len(several) > 1 if pointed else bool(several))
    if not sure or not all(map(POINTED_THOUSANDS.fullmatch, pointed.values())):
        return 0
    for k, text in (pointed | several).items():
        _put(reading, k, float(text.replace(".", "")))
        open_texts.pop(k, None)
    return int(counts[[*pointed, *several]].sum())


def _number(text: str, comma: bool) -> float:
    text = text.strip()
    return plain_number(text.replace(",", ".") if comma else text)


def _read_decorated(reading: Reading, open_texts: dict[int, str], counts: NDArray[np.int64], column: str) -> None:
    """80 %, 4/5, "4 out of 5 stars", ★★★☆☆, "4 stars": numbers with something around them."""
    comma = reading.decimal == ","
    fractions: dict[int, tuple[float, float]] = {}
    kinds: dict[str, int] = {}

    def settle(k: int, value: float, what: str) -> None:
        _put(reading, k, value)
        kinds[what] = kinds.get(what, 0) + int(counts[k])
        del open_texts[k]

    several = any(
        len(text) > 1 and (GLYPHS | {"½"}).issuperset(text.replace(" ", "")) for _, text in _short(open_texts)
    )
    hollow = not any((GLYPHS - EMPTY_GLYPHS) & set(text) for text in open_texts.values() if "☆" in text or "✩" in text)
    percents: dict[int, float] = {}
    for k, text in _short(open_texts):
        percent, out_of = PERCENT.fullmatch(text), OUT_OF.fullmatch(text)
        if percent and math.isfinite(value := _number(percent[1], comma)):
            percents[k] = value
        elif out_of and math.isfinite(value := _number(out_of[1], comma)) and _number(out_of[2], comma) > 0:
            fractions[k] = (value, _number(out_of[2], comma))
        elif several and math.isfinite(value := _glyphs(text, hollow)):
            settle(k, value, "written in signs such as ★, which were counted")
    if percents and fractions:
        fractions |= {k: (value, 100.0) for k, value in percents.items()}
        percents = {}
    _settle_fractions(fractions, reading, open_texts, settle, column)
    _settle_magnitudes(open_texts, reading, comma, settle, column)
    units = {
        k: found
        for k, text in _short(open_texts)
        if k not in percents and (found := UNIT.fullmatch(text)) and not DATE_LIKE.fullmatch(text)
    }
    common = {found[2].casefold().rstrip("s. ") for found in units.values()}
    # Beside numbers without one, a unit that is not known may change the scale: such texts are left unread.
    alone = len(common) == 1 and len(units) > 1 and not percents and not (reading.kinds == RATED).any()
    for k, found in units.items():
        value = _number(found[1], comma)
        if math.isfinite(value) and (alone or SURE_UNIT.fullmatch(found[2].rstrip(". "))):
            settle(k, value, f"with a unit such as {found[2]!r}, which was left out")
    _settle_percents(percents, reading, open_texts, settle, column)
    labelled = {
        k: found
        for k, text in _short(open_texts)
        if (found := LABELLED.fullmatch(text)) and not DATE_LIKE.fullmatch(text)
    }
    if len({found[1] for found in labelled.values()}) == len({text for text in open_texts.values() if text}) > 1:
        for k, found in labelled.items():
            settle(k, _number(found[1], comma), "with a label such as " + repr(found[0][:40]) + ", which was left out")
    reading.notes.extend(f"Ratings {what}: {count:,}." for what, count in kinds.items())


def _settle_percents(
    percents: dict[int, float],
    reading: Reading,
    open_texts: dict[int, str],
    settle: Callable[[int, float, str], None],
    column: str,
) -> None:
    """80 % among others of its kind is 80; among shares between 0 and 1 it is 0.8."""
    others = reading.values[reading.kinds == RATED]
    # 0 is 0 %, and what is negative is a code.
    others = others[others > 0]
    shares = len(others) > 0 and float(others.max()) <= 1
    if percents and len(others) and not shares:
        raise MixedScales(
            f"Some ratings in {column} are percentages and others are not, such as "
            f"{open_texts[next(iter(percents))]!r} and {others[0]:g}, so they are on two scales: write "
            "all of them in the same way."
        )
    for k, value in percents.items():
        if shares:
            settle(k, value / 100, "with a percent sign among shares from 0 to 1, read as hundredths (80% = 0.8)")
        else:
            settle(k, value, "with a percent sign, which was left out")


def _settle_magnitudes(
    open_texts: dict[int, str],
    reading: Reading,
    comma: bool,
    settle: Callable[[int, float, str], None],
    column: str,
) -> None:
    """1.2k is 1200 and 1.2M is 1200000, so that they compare with 950."""
    found = {k: sizes for k, text in _short(open_texts) if (sizes := MAGNITUDE.fullmatch(text))}
    thousands = any(sizes[2][0] in "kKtT" for sizes in found.values())
    doubtful = [sizes for sizes in found.values() if sizes[2] == "m"]
    if doubtful and not thousands:
        if (reading.kinds == RATED).any():
            raise MixedScales(
                f"The 'm' of ratings such as {doubtful[0][0]!r} in {column} may mean millions, minutes or metres: "
                "write them as plain numbers."
            )
        return
    for k, sizes in found.items():
        value = _number(sizes[1], comma)
        if math.isfinite(value):
            # In whole steps of a decimal text, 1.1k is 1100 exactly.
            exact = Decimal(repr(value)) * (1000 if sizes[2][0] in "kKtT" else 1_000_000)
            settle(k, float(exact), "with a sign for thousands or millions, read as in 1.2k = 1200, 1.2M = 1200000")


def _settle_fractions(
    fractions: dict[int, tuple[float, float]],
    reading: Reading,
    open_texts: dict[int, str],
    settle: Callable[[int, float, str], None],
    column: str,
) -> None:
    scales = {scale for _, scale in fractions.values()}
    top = max(scales, default=0.0)
    others = reading.values[reading.kinds == RATED]
    others = others[others > 0]
    if len(scales) > 1 and len(others):
        first = open_texts[next(iter(fractions))]
        raise MixedScales(
            f"The ratings in {column} are on several scales, such as {first!r} and {others[0]:g} without one: write "
            "all of them in the same way."
        )
    for k, (value, scale) in fractions.items():
        if len(scales) == 1:
            settle(k, value, f"written as a share of {top:g}, such as 4/{top:g}, and read as the first number")
        else:
            settle(k, value * top / scale, f"written as shares of different numbers and scaled to a top of {top:g}")


def _glyphs(text: str, hollow: bool) -> float:
    signs = [char for char in text if not char.isspace()]
    if not signs or any(char not in GLYPHS and char != "½" for char in signs):
        return math.nan
    if hollow and set(signs) <= EMPTY_GLYPHS:
        return float(len(signs))
    full = sum(char not in EMPTY_GLYPHS and char not in "½⯨" for char in signs)
    return full + 0.5 * sum(char in "½⯨" for char in signs)


def _read_words(reading: Reading, open_texts: dict[int, str], counts: NDArray[np.int64], column: str) -> None:
    numbers = int(counts[reading.kinds == RATED].sum())
    words = {text: int(counts[k]) for k, text in open_texts.items()}
    # Repeated texts may be the same word in other cases of letters; a few words among numbers are remarks, not ratings.
    if not words or numbers > sum(words.values()):
        return
    found = match(words)
    if found is None or (len(set(found.values())) < 2 and len(words) > 1):
        return
    for k, text in list(open_texts.items()):
        if text in found:
            _put(reading, k, found[text])
            del open_texts[k]
    reading.words.update(found)
    shown: dict[str, float] = {}
    for word, value in sorted(found.items(), key=lambda pair: pair[1]):
        shown.setdefault(word.casefold(), value)
    pairs = ", ".join(f"{word!r} = {value:g}" for word, value in list(shown.items())[:12])
    reading.notes.append(f"The words of {column} were read as numbers: {pairs} (change with words=).")


def _check_readable(reading: Reading, open_texts: dict[int, str], counts: NDArray[np.int64], column: str) -> None:
    unreadable = sum(int(counts[k]) for k in open_texts)
    if unreadable == 0:
        return
    often = sorted(open_texts, key=lambda k: -int(counts[k]))
    examples = ", ".join(repr(open_texts[k][:40]) for k in often[:4])
    dates = any(DATE_LIKE.fullmatch(open_texts[k]) for k in often[:1000])
    if unreadable > int(counts[reading.kinds == RATED].sum()):
        if dates and all(DATE_LIKE.fullmatch(open_texts[k]) for k in often[:20]):
            way_out = (
                "they look like dates: name the rating column with rating=, or undo the conversion in the spreadsheet"
            )
        else:
            way_out = (
                "map them to numbers, for example words={" + f"{open_texts[often[0]][:40]!r}: 1, ..." + "}, or name "
            )
            way_out += "another column with rating="
        raise RatingsError(
            f"The ratings in {column} are not numbers: {unreadable:,} of {int(counts.sum()):,} rows hold texts such as "
            f"{examples}; {way_out}."
        )
    reading.notes.append(
        f"Rows dropped because their rating is no number, such as {examples}: {unreadable:,}"
        + (" (some look like dates made by a spreadsheet)" if dates else "")
        + "; to read them, map them with words=."
    )
