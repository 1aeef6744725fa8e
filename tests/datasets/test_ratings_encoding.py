"""Encodings: told by their mark, by what they allow, by known words; no character is lost on the way."""

from __future__ import annotations

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.reader.encoding import to_utf8


def file(head: str, title: str) -> str:
    return head + "".join(f"\nu{k % 7};{title} {k // 7};{k % 5 + 1}" for k in range(28))


PLAIN = "user;item;rating"


def read(data: bytes, encoding: str | None = None) -> tuple[str, ...]:
    return read_ratings(data, encoding=encoding).items


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_unicode(encoding: str) -> None:
    text = file(PLAIN, "Señal 映画 😀")
    assert read(text.encode(encoding)) == read(text.encode()) == tuple(f"Señal 映画 😀 {k}" for k in range(4))
    noted = read_ratings(text.encode(encoding)).notes
    assert bool(noted) == (encoding in ("utf-16-le", "utf-16-be"))


@pytest.mark.parametrize(
    ("encoding", "head", "title"),
    [
        ("cp1252", PLAIN, "Größe 7 €"),
        ("latin-1", PLAIN, "Señal"),
        ("cp1251", "пользователь;фильм;оценка", "Фильм"),
        ("koi8_r", "пользователь;фильм;оценка", "Фильм"),
        ("cp1251", PLAIN, "Преступление и наказание"),
        ("cp932", "ユーザー;映画;評価", "映画表能"),
        ("euc_jp", "ユーザー;映画;評価", "映画"),
        ("gb18030", "用户;电影;评分", "电影"),
        ("big5", "使用者;電影;評分", "電影"),
        ("cp949", "사용자;영화;평점", "영화"),
        ("cp1250", "użytkownik;książka;ocena", "Książę"),
        ("iso8859_7", "χρήστης;ταινία;βαθμολογία", "Ταινία"),
        ("cp1254", "kullanıcı;ürün;puan", "Şarkı"),
        ("cp1255", "משתמש;סרט;דירוג", "סרט"),
        ("cp1256", "المستخدم;الفيلم;التقييم", "فيلم"),
    ],
)
def test_legacy_encodings_keep_titles_apart_and_are_said(encoding: str, head: str, title: str) -> None:
    table = read_ratings(file(head, title).encode(encoding))
    assert table.n_items == 4 and table.n_ratings == 28
    assert any("not UTF-8 and was read as" in note and "encoding=" in note for note in table.notes)
    if encoding not in ("koi8_r", "iso8859_7", "cp1251"):
        assert table.items[0] == f"{title} 0"
    given = read_ratings(file(head, title).encode(encoding), encoding=encoding)
    assert given.items[0] == f"{title} 0" and given.notes == ()


@pytest.mark.parametrize(
    ("encodings", "titles"),
    [
        (("cp1252", "mac_roman"), "Forêt naïf Été Noël Crème brûlée Où l’été cœur"),
        (("cp1252", "mac_roman", "cp850"), "Müller Größe Äpfel Übung Straße schön"),
        (("cp1252", "latin-1", "mac_roman", "cp850"), "Señal Niño corazón Águila pingüino ¿Qué?"),
        (("cp1252", "mac_roman", "cp850"), "São coração maçã Ética irmãos"),
        (("cp1250", "iso8859_2"), "Róża Piąty Śnieg Mąż Kość Późno Łódź książka"),
        (("cp1250", "iso8859_2"), "Říše želva ťapka příliš žluťoučký kůň Ježíš"),
        (("cp1252", "cp850"), "smörgåsbord Ängel år"),
        (("cp1252",), "Alien³ Windows® 7€ Señal² «mot»"),
        (("cp1252",), "Alien—Aliens rock’n’roll wait…what"),
        (("cp1252",), "Alien\u00a03 Amélie Qui\u00a0? Alerte\u00a0!"),
        (("cp1252",), "SPY×FAMILY LEGO®CITY A£AP KE€HA WALL·E"),
        (("cp1252",), "Pel·lícula col·lecció Això"),
        (("cp1252",), "hÉireann nÓg JeanÉmile elÑandu"),
        (("cp1252",), "«CAFÉ» NESCAFÉ® Spaß…"),
    ],
)
def test_latin_encodings_are_told_by_the_letters_that_they_make(encodings: tuple[str, ...], titles: str) -> None:
    names = titles.split(" ")
    lines = [f"u{k % 5};{name};{k % 5 + 1}" for k, name in enumerate(names * 4)]
    for encoding in encodings:
        assert sorted(read("\n".join([PLAIN, *lines]).encode(encoding))) == sorted(names)


def test_a_file_that_begins_with_many_empty_lines() -> None:
    assert read(b"\n" * 5_000 + file(PLAIN, "Größe").encode("cp1252"))[0] == "Größe 0"


def test_a_byte_that_windows_does_not_know_is_one_of_dos() -> None:
    assert read(file(PLAIN, "Se\x81al").encode("latin-1"))[0] == "Seüal 0"


@pytest.mark.parametrize("separator", "§¦¬¤·")
def test_a_separator_is_no_letter(separator: str) -> None:
    text = file(PLAIN.replace(";", separator), "Größe").replace(";", separator)
    table = read_ratings(text.encode("cp1252"), separator=separator)
    assert table.items == tuple(f"Größe {k}" for k in range(4))


def test_a_few_bad_bytes_in_utf8_are_read_as_western() -> None:
    data = file(PLAIN, "Señal").encode() + "\nu9;Señal 0;5".encode("latin-1")
    table = read_ratings(data)
    assert table.n_items == 4
    assert table.notes[0].startswith("1 bytes are no valid UTF-8")


@pytest.mark.parametrize("western", [1, 2, 3])
def test_a_file_put_together_of_two_encodings_keeps_every_name(western: int) -> None:
    lines = [f"u{k};{('Größe', 'Señal', 'Äpfel', 'Café')[k % 4]} {k % 7};{k % 5 + 1}" for k in range(28)]
    data = b"\n".join(line.encode("cp1252" if k % 4 < western else "utf-8") for k, line in enumerate([PLAIN, *lines]))
    table = read_ratings(data)
    assert table.items == read_ratings("\n".join([PLAIN, *lines]).encode()).items
    assert "bytes are no valid UTF-8 in a file that otherwise is; they were read as Windows-1252" in table.notes[0]


def test_the_mark_and_the_name_may_both_be_given() -> None:
    text = file(PLAIN, "é")
    for name in ("utf-16", "utf_16_le"):
        assert read(text.encode("utf-16"), name) == read(text.encode())
    assert read(text.encode("utf-16-be"), "utf-16-be") == read(text.encode())
    assert read(text.encode("utf-8-sig"), "utf-8") == read(text.encode("utf-8-sig"), "utf-8-sig") == read(text.encode())


def test_a_wrong_encoding_is_refused() -> None:
    with pytest.raises(RatingsError, match=r"encoding='utf-8' does not fit the file .* byte f1"):
        read(file(PLAIN, "Señal").encode("latin-1"), "utf-8")


def test_line_ends_and_nul_characters() -> None:
    text = to_utf8(b"a\r\nb\rc\nd\0\x1a", None, lambda head: 0)
    assert text.data == b"a\nb\nc\nd"
    assert text.notes == ("1 NUL characters were removed from the text.",)


def test_binary_data_are_refused() -> None:
    with pytest.raises(RatingsError, match="binary data"):
        read_ratings(bytes(range(256)) * 8)
    with pytest.raises(RatingsError, match=r"binary|UTF-16|one column|no rating|valid"):
        read_ratings(bytes(5000))
