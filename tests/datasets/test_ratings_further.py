"""One table in the dress of many tools and languages, made here: each is read as the same ratings."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from obmc.datasets.ratings_file import read_ratings

RNG = np.random.default_rng(5)
TRUTH = {(f"u{u}", f"m{i}"): int(RNG.integers(1, 6)) for u in range(12) for i in range(8) if RNG.random() < 0.7}
LIKERT = ("strongly disagree", "disagree", "neutral", "agree", "strongly agree")


def long(separator: str, header: str, written: Callable[[int], str] = str) -> str:
    rows = [separator.join((user, item, written(rating))) for (user, item), rating in TRUTH.items()]
    return "\n".join([header, *rows]) + "\n"


def wide(separator: str, absent: str) -> str:
    items = [f"m{i}" for i in range(8)]
    rows = [[f"u{u}", *(str(TRUTH.get((f"u{u}", item), absent)) for item in items)] for u in range(12)]
    return "\n".join(separator.join(row) for row in [["user", *items], *rows]) + "\n"


def zipped_lines() -> bytes:
    packed = io.BytesIO()
    rows = [{"user": user, "item": item, "stars": rating} for (user, item), rating in TRUTH.items()]
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ratings.jsonl", "\n".join(json.dumps(row) for row in rows))
    return packed.getvalue()


FILES: dict[str, tuple[bytes, Callable[[int], float]]] = {
    "german, bars": (long("|", "Nutzer|Film|Bewertung").encode(), float),
    "french, decimal commas": (
        long(";", "Utilisateur;Produit;Note", lambda r: f"{r},5").encode("cp1252"),
        lambda r: r + 0.5,
    ),
    "japanese": (long(",", "ユーザー,作品,評価").encode("utf-8-sig"), float),
    "chinese": (long(",", "用户,商品,评分").encode("gbk"), float),
    "russian": (long(";", "Пользователь;Фильм;Оценка").encode("koi8-r"), float),
    "turkish": (long(";", "kullanıcı;ürün;puan").encode("cp1254"), float),
    "portuguese": (long(",", "usuário,filme,nota").encode(), float),
    "UTF-16 without a mark": (long("\t", "user\titem\trating").encode("utf-16-be"), float),
    "UTF-32": (long(",", "user,item,rating").encode("utf-32"), float),
    "tildes": (long("~", "user~item~rating").encode(), float),
    "stars": (long(",", "user,item,stars", lambda r: "★" * r + "☆" * (5 - r)).encode(), float),
    "out of ten": (long(",", "user,item,score", lambda r: f"{2 * r}/10").encode(), lambda r: 2.0 * r),
    "likert": (long(",", "who,what,answer", lambda r: LIKERT[r - 1]).encode(), float),
    "a code far below": (long(",", "user,item,rating").encode() + b"u1,zz,-999\nu2,zz,-999\n", float),
    "zipped JSON lines": (zipped_lines(), float),
    "wide, dashes": (wide("\t", "-").encode(), float),
    "wide, zeros": (wide(";", "0").encode(), float),
    "wide, n/a": (wide(",", "n/a").encode(), float),
}


@pytest.mark.parametrize("name", FILES)
def test_every_dress_is_seen_through(name: str) -> None:
    data, value = FILES[name]
    table = read_ratings(data)
    found = {(user, item): rating for user, item, rating in table.frame.itertuples(index=False)}
    assert found == {pair: value(rating) for pair, rating in TRUTH.items()}
