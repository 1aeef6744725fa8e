"""Tables in another dress, rewritten as plain ones: Netflix blocks, Matrix Market, ARFF, drawn tables, quoted lines."""

from __future__ import annotations

import re

from obmc.datasets.reader.names import ITEM, USER, meaning
from obmc.errors import RatingsError

RULE = frozenset(" \t|+:=-")
# Possessive and bounded, so that no text takes long to be no match.
_LISTED = re.compile(r"(?:\[[^\[\]{},]++,[^\[\]{}]++\]|\([^(){},]++,[^(){}]++\))\s*+,?")
_INSERT = re.compile(r"INSERT\s++(?:IGNORE\s++)?INTO\s++[^\s(]++\s*+(?:\(([^()]*+)\)\s*+)?VALUES", re.IGNORECASE)
_QUOTED = r"'(?:[^'\\]|\\.|''){0,2000}+'"
_TUPLE = re.compile(rf"\(((?:{_QUOTED}|[^()'])*+)\)")
_FIELD = re.compile(rf"({_QUOTED})|([^,'\s][^,']*)")
_CURLY = re.compile('(?:^|[,;\t|])[\u201c\u201e][^\u201c\u201d"\n]*[\u201c\u201d](?=$|[,;\t|])', re.MULTILINE)


def as_plain_table(data: bytes) -> tuple[bytes, list[str]]:
    """The text as a plain table, and what is to be noted; unchanged if it is one already."""
    head_text = data[: 2**14].decode("utf-8", "ignore")
    head = head_text.split("\n")
    filled = [line.strip() for line in head if line.strip()]
    if not filled:
        return data, []
    if filled[0].casefold().startswith("%%matrixmarket"):
        return _matrix_market(data)
    if re.fullmatch(r"\d+:", filled[0]) and any(re.match(r"\d+[,;\t]", line) for line in filled[1:3]):
        return _blocks(data)
    told = [line.casefold() for line in filled if not line.startswith("%")]
    if told and told[0].startswith("@relation") and any(line.startswith("@attribute") for line in told):
        return _arff(data)
    if all(_is_quoted_whole(line) for line in filled[:-1] or filled):
        return _unquoted(data)
    if any(map(_INSERT.match, filled)):
        return _inserted(data)
    if sum(_LISTED.fullmatch(line) is not None for line in filled) > 0.9 * len(filled):
        return _unlisted(data)
    if '"' not in head_text and len(_CURLY.findall(head_text)) > 2:
        return _straight(data)
    pairs = [re.fullmatch(r"\S+(?:[ \t]+\d+:[\d.eE+-]+)+", line) is not None for line in filled]
    if sum(pairs) > 0.9 * len(pairs):
        raise RatingsError(
            "The lines hold pairs such as 3:5 (the libsvm form): write a row with user, item and rating for each pair."
        )
    if (pivoted := _pivoted(head[:4])) is not None:
        return _without_levels(data, *pivoted)
    drawn = sum(line.startswith("|") and line.endswith("|") for line in filled)
    ruled = any(map(_is_rule, filled[:4]))
    if drawn > 0.6 * len(filled) or (ruled and sum("|" in line for line in filled) > 0.6 * len(filled)):
        return _drawn(data)
    return data, []


def _matrix_market(data: bytes) -> tuple[bytes, list[str]]:
    lines = [line for line in data.decode().split("\n") if line.strip() and not line.startswith("%")]
    rows = ["user item rating", *lines[1:]]
    return "\n".join(rows).encode(), [
        "The Matrix Market file was read with its rows as users and its columns as items."
    ]


def _arff(data: bytes) -> tuple[bytes, list[str]]:
    """The names of the columns stand in lines such as "@attribute user string", the rows below "@data"."""
    lines = [line for line in data.decode().split("\n") if line.strip() and not line.startswith("%")]
    names = [found[1] for line in lines if (found := re.match(r"@attribute\s+'?([^\s']+)", line, re.IGNORECASE))]
    rows = [line for line in lines if not line.startswith("@")]
    return "\n".join([",".join(names), *rows]).encode(), [
        "The ARFF file was read as a table; its rules for values were not."
    ]


def _is_quoted_whole(line: str) -> bool:
    """One quoted field: every quote inside it is doubled."""
    return len(line) > 2 and line[0] == line[-1] == '"' and '"' not in line[1:-1].replace('""', "")


def _unquoted(data: bytes) -> tuple[bytes, list[str]]:
    lines = [line.strip() for line in data.decode().split("\n")]
    plain = [line[1:-1].replace('""', '"') if line[:1] == line[-1:] == '"' else line for line in lines]
    return "\n".join(plain).encode(), ["Every line was quoted as a whole; those quotes were left out."]


def _pivoted(head: list[str]) -> tuple[int, str] | None:
    """The number of lines that pandas puts above a pivoted table whose axes have names, and one line for them.

    The last of them has the name of the rows and blanks, the one above it the name of the columns and their labels.
    """
    for mark in (",", ";", "\t"):
        rows = [line.split(mark) for line in head]
        for k in range(1, len(rows)):
            above, row = rows[k - 1], rows[k]
            known = meaning(row[0])
            named = known is not None and known.role in (USER, ITEM) and not any(cell.strip() for cell in row[1:])
            if named and len(row) == len(above) > 3:
                labels = [cell.strip() for cell in above[1:]]
                if all(labels) and len(set(labels)) == len(labels):
                    return k + 1, mark.join([f"{row[0].strip()}/{above[0].strip()}", *above[1:]])
    return None


def _without_levels(data: bytes, lines: int, header: str) -> tuple[bytes, list[str]]:
    rest = data.decode().split("\n")[lines:]
    return "\n".join([header, *rest]).encode(), ["The lines above the table were taken for the names of its two axes."]


def _inserted(data: bytes) -> tuple[bytes, list[str]]:
    """The rows of "INSERT INTO ratings (user, item, rating) VALUES (...), (...);", under the names if there are any."""
    text = data.decode()
    named = _INSERT.search(text)
    text = text[named.start() :] if named else text
    names = [re.sub(r"[`\"\[\]\s]", "", name) for name in named[1].split(",")] if named and named[1] else []
    rows = []
    for values in _TUPLE.findall(_INSERT.sub("", text)):
        fields = [whole or plain.strip() for whole, plain in _FIELD.findall(values)]
        rows.append(
            [field[1:-1].replace("\\'", "'").replace("''", "'") if field[0] == "'" else field for field in fields]
        )
    lines = [
        ",".join('"' + field.replace('"', '""') + '"' for field in row) for row in ([names] if names else []) + rows
    ]
    return "\n".join(lines).encode(), ["The rows were taken from the SQL statements around them."]


def _unlisted(data: bytes) -> tuple[bytes, list[str]]:
    """A row of each list or tuple that a program wrote."""
    lines = [line.strip().removesuffix(",") for line in data.decode().split("\n")]
    rows = [line[1:-1] if _LISTED.fullmatch(line) else line for line in lines]
    plain = [re.sub(r"(^|,)\s*'((?:[^'\\]|\\.)*)'\s*(?=,|$)", r'\1"\2"', row) for row in rows]
    return "\n".join(plain).encode(), ["Every line was a list in brackets; the brackets were left out."]


def _straight(data: bytes) -> tuple[bytes, list[str]]:
    text = re.sub("[\u201c\u201d\u201e]", '"', data.decode())
    return text.encode(), ["Typographic quotes around fields were read as plain ones."]


def _blocks(data: bytes) -> tuple[bytes, list[str]]:
    """Blocks headed by "17:", each line below with a user and a rating, as in the Netflix prize."""
    item = ""
    out = ["item,user,rating,date"]
    for line in data.decode().split("\n"):
        line = line.strip()
        if re.fullmatch(r"\d+:", line):
            item = line[:-1]
        elif line:
            out.append(item + "," + re.sub("[;\t]", ",", line))
    return "\n".join(out).encode(), [
        "Lines such as '17:' were taken as the item of the lines below, with user and rating."
    ]


def _is_rule(line: str) -> bool:
    return "--" in line and RULE.issuperset(line)


def _drawn(data: bytes) -> tuple[bytes, list[str]]:
    out = []
    for line in data.decode().split("\n"):
        line = line.strip()
        if _is_rule(line) or re.fullmatch(r"\(\d+ rows?\)", line):
            continue
        out.append(line.removeprefix("|").removesuffix("|"))
    return "\n".join(out).encode(), ["The lines drawn around the table were left out."]
