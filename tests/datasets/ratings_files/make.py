"""Writes the sample files of this folder and expected.json beside them:  python make.py

All of them hold the same invented ratings, in the many forms in which people bring theirs. Standard library only; run
it again only to add a kind, since packed files may differ in their bytes from one version of Python to another.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import zipfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Row = tuple[Any, ...]
EXPECTED: list[dict[str, Any]] = []


def ratings(user: str = "u{}", item: str = "m{}", scale: Sequence[Any] = (1, 2, 3, 4, 5), seed: int = 8) -> list[Row]:
    """60 ratings of 12 users for 8 items."""
    rng = random.Random(seed)
    pairs = rng.sample([(u, i) for u in range(1, 13) for i in range(1, 9)], 60)
    return [(user.format(u), item.format(i), rng.choice(scale)) for u, i in pairs]


def text(rows: Sequence[Row], head: str = "user,item,rating", sep: str = ",", end: str = "\n") -> str:
    """The rows as text, quoted where they must be."""

    def cell(value: Any) -> str:
        plain = str(value)
        return '"' + plain.replace('"', '""') + '"' if any(mark in plain for mark in (sep, '"', "\n")) else plain

    lines = [head] if head else []
    return end.join(lines + [sep.join(map(cell, row)) for row in rows]) + end


def numbers(rows: Sequence[Row]) -> dict[str, Any]:
    """What is in the rows, the last one of a pair counting."""
    last = {(user, item): Fraction(str(rating)) for user, item, rating, *_ in rows}
    mean = sum(last.values()) / len(last)
    return {
        "n_users": len({user for user, _ in last}),
        "n_items": len({item for _, item in last}),
        "n_ratings": len(last),
        "n_positive": sum(rating > mean for rating in last.values()),
        "mean": float(mean),
    }


def good(name: str, data: str | bytes, rows: Sequence[Row], noted: str = "", dropped: int = 0) -> None:
    """A file that is read as ``rows``, with a note that contains ``noted`` or, if that is "", none at all."""
    _write(name, data)
    EXPECTED.append({"file": name, **numbers(rows), "note": noted, "n_dropped": dropped})


def bad(name: str, data: str | bytes, message: str) -> None:
    """A file that is refused with a sentence that contains ``message``."""
    _write(name, data)
    EXPECTED.append({"file": name, "error": message})


def _write(name: str, data: str | bytes) -> None:
    (HERE / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def zipped(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)
    return packed.getvalue()


R = ratings()
TIMED = [(*row, 1_200_000_000 + 977 * k) for k, row in enumerate(R)]


def separators_and_headers() -> None:
    numbered = ratings("{}", "{}")
    timed = [(*row, 1_200_000_000 + 977 * k) for k, row in enumerate(numbered)]
    good("tab_no_header.data", text(timed, "", "\t"), numbered, "no header")
    good("double_colon.dat", text(timed, "", "::"), numbered, "no header")
    good("pipe.csv", text(R, "user|item|rating", "|"), R)
    good("caret.csv", text(R, "user^item^rating", "^"), R)
    half = [(u, i, x - 0.5) for u, i, x in R]
    comma = [(u, i, str(x).replace(".", ",")) for u, i, x in half]
    good("semicolon_decimal_comma.csv", text(comma, "user;item;rating", ";", "\r\n"), half)
    good("quoted_decimal_comma.csv", text(comma), half)
    good(
        "unquoted_decimal_comma.csv",
        "user,item,rating\n" + "".join(f"{u},{i},{x}\n" for u, i, x in comma),
        half,
        "decimal comma",
    )
    good("aligned_blanks.txt", "".join(f"{u:<6}{i:>6}{x:>4}\n" for u, i, x in R), R, "no header")
    good("sep_line.csv", "sep=;\r\n" + text(R, "user;item;rating", ";", "\r\n"), R)
    good("mac_line_ends.csv", text(R, end="\r"), R)
    good("trailing_comma_rows.csv", text([(*row, "") for row in R]), R)
    good("blank_lines_and_rows.csv", "\n\n" + text(R, end="\n\n") + ",,\n,,\n", R, "have no user: 2", 2)
    good("repeated_header.csv", text(R[:20]) + text(R[20:40]) + text(R[40:]), R, "repeat the header: 2", 2)
    good(
        "title_lines.csv",
        "My ratings;;\nexported 1.2.2024;;\n" + text(R, "user;item;rating", ";"),
        R,
        "before the header: 2",
    )
    good("comment_header.txt", "# user item rating\n" + text(R, "", " "), R)
    good("list_column.csv", text([(u, i, "['a', 'b']", x) for u, i, x in R], "userId;itemId;tags;stars", ";"), R)
    good("row_numbers.csv", text([(k, *row) for k, row in enumerate(R)], ",user,item,rating"), R)
    good(
        "row_names_without_header.csv",
        '"user","item","rating"\n' + "".join(f'"{k}","{u}","{i}",{x}\n' for k, (u, i, x) in enumerate(R)),
        R,
        "row number",
    )
    good("swapped_columns.csv", text([(x, i, u) for u, i, x in R], "stars,business_id,user_id"), R)
    good("time_third_no_header.csv", text([(u, i, t, x) for u, i, x, t in timed], ""), numbered, "rating = column 4")
    good(
        "rating_first_no_header.csv",
        text([(x, 100 + int(u), 200 + int(i)) for u, i, x in numbered], ""),
        numbered,
        "rating = column 1",
    )
    good("unknown_names.csv", text(R, "a,b,c"), R, "header does not tell")
    good("double_name.csv", text(R, "id,id,score"), R, "'id' 2 times")
    good(
        "drawn_table.txt",
        "| user | item | rating |\n|---|---|---|\n" + "".join(f"| {u} | {i} | {x} |\n" for u, i, x in R),
        R,
        "lines drawn",
    )
    blocks: dict[str, list[Row]] = {}
    for u, i, x in numbered:
        blocks.setdefault(i, []).append((u, x, "2005-09-06"))
    good("netflix_blocks.txt", "".join(f"{i}:\n" + text(rows, "") for i, rows in blocks.items()), numbered, "'17:'")
    good(
        "matrix_market.mtx",
        "%%MatrixMarket matrix coordinate real general\n12 8 60\n" + text(numbered, "", " "),
        numbered,
        "Matrix Market",
    )
    arff = "@relation r\n\n@attribute user string\n@attribute item string\n@attribute rating numeric\n@data\n"
    good("weka.arff", arff + text(R, ""), R, "ARFF")
    spaced = [(u, f"The Film {i}", x) for u, i, x in R]
    good("two_blanks.txt", "".join(f"{u:<6}  {i:<12}  {x}\n" for u, i, x in spaced), spaced, "no header")
    good("header_by_semicolons.csv", "user;item;rating\n" + text(R, ""), R, "separated in another way")
    whole = text([(u, f'The "{i}"', x) for u, i, x in R]).splitlines()
    good(
        "quoted_lines.csv",
        "".join('"' + line.replace('"', '""') + '"\n' for line in whole),
        [(u, f'The "{i}"', x) for u, i, x in R],
        "quoted as a whole",
    )
    good(
        "spanish.csv",
        text([(u, i, f"{x},5", "2020-01-02") for u, i, x in R], "usuario;película;puntuación;fecha", ";"),
        [(u, i, x + 0.5) for u, i, x in R],
    )
    good(
        "amazon.csv",
        text(
            [(u, i, float(x), "ok, fine", t, "1,204") for u, i, x, t in TIMED],
            "reviewerID,asin,overall,summary,unixReviewTime,vote",
        ),
        R,
    )
    good(
        "sub_ratings.csv",
        text(
            [(u, i, x % 3, (x + 1) % 3, (x + 2) % 3) for u, i, x in R],
            "userID,placeID,rating,food_rating,service_rating",
        ),
        [(u, i, x % 3) for u, i, x in R],
    )


def encodings() -> None:
    titled = ratings("u{}", "Señal {}")
    good("utf8_mark.csv", b"\xef\xbb\xbf" + text(titled).encode(), titled)
    good("utf16_tab.csv", text(titled, "User\tItem\tRating", "\t", "\r\n").encode("utf-16"), titled)
    good("utf16_unmarked.csv", text(titled).encode("utf-16-le"), titled, "UTF-16-LE")
    good("cp1252.csv", text(titled).encode("cp1252"), titled, "Windows-1252")
    cyrillic = ratings("u{}", "Фильм {}")
    good("cp1251.csv", text(cyrillic, "пользователь;фильм;оценка", ";").encode("cp1251"), cyrillic, "Windows-1251")
    japanese = ratings("u{}", "映画{}")
    good("shift_jis.csv", text(japanese, "ユーザー,映画,評価").encode("cp932"), japanese, "Shift-JIS")
    mixed = text(titled[:50]).encode() + text(titled[50:], "").encode("latin-1")
    good("utf8_with_latin1_rows.csv", mixed, titled, "no valid UTF-8")
    good("nul_characters.csv", text(R).replace("u3,", "u3\0,"), R, "NUL")


def ids() -> None:
    zeros = [(u, i, x) for u, i, x in ratings("0{}", "00{}", seed=1)] + [("1", "1", 3), ("01", "1", 5)]
    good("leading_zeros.csv", text(zeros), zeros)
    good("long_numbers.csv", text(long := ratings("9007199254740993{}", "18446744073709551{}")), long)
    good("float_ids.csv", text(floats := ratings("30{}", "58{}.0")), floats)
    good(
        "na_ids.csv", text(na := [({"u3": "NA", "u4": "null"}.get(u, u), i, x) for u, i, x in R]), na, "'null' was kept"
    )
    good(
        "blanks_around.csv",
        " user , item , rating \n" + "".join(f"{u}{' ' * (k % 2)}, {i} , {x}\n" for k, (u, i, x) in enumerate(R)),
        R,
        "blanks around",
    )
    good("quoted_everything.csv", text(odd := ratings("Smith, J. {}", 'The "best" of\nbooks; {}')), odd)
    good(
        "stray_quotes.csv",
        "user,item,rating\n" + "".join(f"{u},{chr(34) * (k == 7)}{i},{x}\n" for k, (u, i, x) in enumerate(R)),
        R,
        "quotation mark",
    )
    good(
        "excel_text_ids.csv",
        "user,item,rating\n" + "".join(f'="0{u}",{i},{x}\n' for u, i, x in R),
        [("0" + u, i, x) for u, i, x in R],
    )
    good(
        "formula_ids.csv",
        text(formulas := ratings("u{}", '=HYPERLINK("http://x.invalid/{}","a")', (-2.5, 0.5, 3.0))),
        formulas,
    )
    good("shortened_ids.csv", text(short := ratings("u{}", "9.7801{}E+12")), short, "shortened")
    good("exact_duplicates.csv", text(R + R[:12]), R, "all with the same rating", 12)
    changed = [(u, i, 6 - x) for u, i, x in R[:12]]
    good("conflicting_duplicates.csv", text(R + changed), R + changed, "with another rating", 12)


def values() -> None:
    def of(name: str, write: Callable[[int], Any], read: Callable[[int], Any], noted: str = "", **how: Any) -> None:
        good(name, text([(u, i, write(x)) for u, i, x in R], **how), [(u, i, read(x)) for u, i, x in R], noted)

    of("plus_minus_one.csv", lambda x: 1 if x > 3 else -1, lambda x: 1 if x > 3 else -1)
    of("zero_one.csv", lambda x: int(x > 3), lambda x: int(x > 3))
    of("jester.csv", lambda x: f"{x * 2 - 6.55:.2f}", lambda x: f"{x * 2 - 6.55:.2f}")
    of("likes.csv", lambda x: "Like" if x > 3 else "dislike", lambda x: 1 if x > 3 else -1, "words")
    of("thumbs.csv", lambda x: "👍" if x > 3 else "👎", lambda x: 1 if x > 3 else -1, "words")
    of("true_false.csv", lambda x: x > 3, lambda x: int(x > 3), "words")
    steps = ["did not like it", "it was ok", "liked it", "really liked it", "it was amazing"]
    of("five_words.csv", lambda x: steps[x - 1], lambda x: x, "'it was ok' = 2")
    of("stars.csv", lambda x: "★" * x + "☆" * (5 - x), lambda x: x, "signs such as")
    of("out_of_five.csv", lambda x: f"{x}.0 out of 5 stars", lambda x: x, "share of 5")
    of("percent.csv", lambda x: f"{20 * x} %", lambda x: 20 * x, "percent")
    of("full_width_digits.csv", lambda x: "０１２３４５"[x], lambda x: x)
    plays = [(u, i, (7, 88, 430, 1401, 12345)[x - 1]) for u, i, x in R]
    good(
        "plays_thousands.csv",
        text([(u, i, f"{x:,}") for u, i, x in plays], "user,artist,plays"),
        plays,
        "thousands mark",
    )
    pointed = [(u, i, f"{x:,}".replace(",", ".")) for u, i, x in plays]
    good("plays_thousands_german.csv", text(pointed, "user;artist;plays", ";"), plays, "thousands mark")

    def coded(name: str, code: Any, noted: str, rows: list[Row], often: int = 4, dropped: bool = True) -> None:
        kept = [row for k, row in enumerate(rows) if k % often]
        written = [(*row[:2], row[2] if k % often else code) for k, row in enumerate(rows)]
        good(name, text(written), kept, noted, len(rows) - len(kept) if dropped else 0)

    coded("minus_one_code.csv", -1, "-1 stands apart", ratings(scale=range(1, 11)))
    coded("ninety_nine_code.csv", 99, "99 stands apart", R)
    coded("infinite.csv", "inf", "not finite", R)
    coded("missing_ratings.csv", "n/a", "no rating", R)
    zeros = [(u, i, 0 if k % 3 else x) for k, (u, i, x) in enumerate(ratings(scale=range(4, 11)))]
    good(
        "zero_code.csv",
        text(zeros, '"User-ID";"ISBN";"Book-Rating"', ";"),
        [r for r in zeros if r[2]],
        "0 stands apart",
        40,
    )
    good("zero_is_a_rating.csv", text(zero := ratings(scale=(0, 1, 2))), zero)
    dated = [(u, i, f"{x:02d}-May" if k % 10 == 0 else f"{x}/5") for k, (u, i, x) in enumerate(R)]
    good("fractions_and_dates.csv", text(dated), [row for k, row in enumerate(R) if k % 10], "dates made by", 6)


def wide_tables() -> None:
    users, items = [f"u{k}" for k in range(1, 13)], [f"m{k}" for k in range(1, 9)]
    at = {(u, i): x for u, i, x in R}

    def wide(empty: str, corner: str = "user", write: Callable[[int], str] = str) -> str:
        rows = [[u, *(write(at[u, i]) if (u, i) in at else empty for i in items)] for u in users]
        return text([tuple(row) for row in rows], ",".join([corner, *items]))

    good("wide_blank.csv", wide(""), R, "wide")
    good("wide_nan.csv", wide("NaN", ""), R, "wide")
    good("wide_ninety_nine.csv", wide("99"), R, "99 stands apart")
    good("wide_zero.csv", wide("0"), R, "0 stands apart")
    across = text([(i, *(at.get((u, i), "") for u in users)) for i in items], ",".join(["movie", *users]))
    good("wide_items_in_rows.csv", across, R, "rows as items")
    jester = [
        (sum((u, i) in at for i in items), *(at[u, i] * 2 - 6.5 if (u, i) in at else 99 for i in items)) for u in users
    ]
    good("wide_jester_no_header.csv", text(jester, ""), [(u, i, x * 2 - 6.5) for u, i, x in R], "counts the ratings")
    form = [(f"2024/02/29 10:{k:02d}:00", u, *(at.get((u, i), "") for i in items)) for k, u in enumerate(users)]
    good("wide_form_answers.csv", text(form, ",".join(["Timestamp", "Your name", *items])), R, "left out: 'Timestamp'")


def containers() -> None:
    plain = text(R)
    objects = [{"user": u, "item": i, "rating": x} for u, i, x in R]
    good("ratings.csv.gz", gzip.compress(plain.encode(), mtime=0), R)
    good("ratings.csv.bz2", bz2.compress(plain.encode()), R)
    good("ratings.csv.xz", lzma.compress(plain.encode()), R)
    good("ratings.zip", zipped({"ratings.csv": plain, "__MACOSX/._ratings.csv": b"\0\5"}), R)
    good("several.zip", zipped({"ml/ratings.csv": plain, "ml/movies.csv": "movieId,title\n1,A\n"}), R, "holds 2 files")
    good("lines.jsonl", "".join(json.dumps(line) + "\n" for line in objects), R)
    good("list.json", json.dumps(objects, indent=1), R)
    good(
        "by_user.json",
        json.dumps({u: {i: x for w, i, x in R if w == u} for u in sorted({r[0] for r in R})}),
        R,
        "outer names",
    )
    good("python_lines.json", "".join(str(line) + "\n" for line in objects), R, "Python literals")
    good("cut.json", json.dumps(objects)[:-9], R[:-1], "cut off: 1", 1)
    bad("cut.csv.gz", gzip.compress(plain.encode(), mtime=0)[:120], "damaged or cut off")
    bad("two_candidates.zip", zipped({"a.csv": plain, "b.csv": plain}), "none is plainly")
    bad("workbook.csv", zipped({"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<workbook/>"}), "Excel workbook")


def wrong_files() -> None:
    bad("empty.csv", b"", "empty")
    bad("header_only.csv", "user,item,rating\n", "no rows")
    bad("page.csv", "<!DOCTYPE html><html><body>Please log in</body></html>", "HTML page")
    bad("picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(40), "PNG")
    bad("noise.csv", random.Random(3).randbytes(600), "binary")
    bad("prose.txt", "Dear all,\nplease find attached, as agreed, the ratings.\nBest regards\n", "")
    bad(
        "movies.csv",
        "movieId,title,genres\n1,Amber (1995),Drama|War\n2,Copper (1996),Comedy\n3,Glass (1997),War\n",
        "list of items",
    )
    bad(
        "tags.csv",
        text([(u, i, "slow", t) for u, i, _, t in TIMED], "userId,movieId,tag,timestamp"),
        "no rating column",
    )
    bad(
        "purchases.csv",
        text([(u, i, "2020-01-02") for u, i, _ in R], "customer,product,purchased_on"),
        "no rating column",
    )
    bad(
        "users.dat",
        text([(k, "MF"[k % 2], 18 + k % 7, k % 5, 10000 + 7 * k) for k in range(1, 30)], "", "::"),
        "not look like ratings",
    )
    bad("two_columns.csv", text([(u, i) for u, i, _ in R], "user,item"), "2 columns")
    bad("unknown_words.csv", text([(u, i, ["zib", "zab", "zob", "zub", "zeb"][x - 1]) for u, i, x in R]), "words={")
    bad("all_equal.csv", text([(u, i, 5) for u, i, _ in R]), "one class")
    bad("pairs.libsvm", "".join(f"{k} 1:{k % 5 + 1} 4:2\n" for k in range(20)), "libsvm")


def main() -> None:
    for part in (separators_and_headers, encodings, ids, values, wide_tables, containers, wrong_files):
        part()
    lines = ",\n".join(" " + json.dumps(case, ensure_ascii=False) for case in EXPECTED)
    (HERE / "expected.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
