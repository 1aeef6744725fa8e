"""Columns are known by their names in many languages, and none is taken for what it is not."""

from __future__ import annotations

import pytest

from obmc import RatingsError
from obmc.datasets.ratings_file import read_ratings
from obmc.datasets.reader.names import meaning

ROWS = [(f"u{k % 9}", f"m{k // 9}", k % 5 + 1, 1_200_000_000 + k) for k in range(45)]
HEADERS = [
    "user,item,rating,timestamp",
    "userId,movieId,rating,timestamp",
    "USER_ID,ITEM_ID,RATING,TIME",
    "reviewerID,asin,overall,unixReviewTime",
    "User-ID,ISBN,Book-Rating,Date",
    "user_id:token,item_id:token,rating:float,timestamp:float",
    "UserName,App,User score,Last updated",
    "Customer No.,Product Name,Rating (1-5),Date of purchase",
    "msno,song_id,stars,ts",
    "Benutzer,Film,Bewertung,Datum",
    "Kundennummer,Artikelnummer,Sterne,Zeitstempel",
    "identifiant utilisateur,titre du film,évaluation,date de notation",
    "usuario,película,puntuación,fecha",
    "id_usuario,título,calificación,fecha",
    "usuário,filme,avaliação,data",
    "utente,film,valutazione,data",
    "gebruiker,boek,beoordeling,datum",
    "użytkownik,książka,ocena,czas",
    "uživatel,kniha,hodnocení,čas",
    "användare,film,betyg,datum",
    "käyttäjä,elokuva,arvosana,päivämäärä",
    "felhasználó,könyv,értékelés,dátum",
    "kullanıcı,ürün,puan,tarih",
    "χρήστης,ταινία,βαθμολογία,ημερομηνία",
    "пользователь,фильм,оценка,дата",
    "користувач,книга,рейтинг,час",
    "用户ID,电影名称,评分,时间",
    "使用者編號,電影,評分,時間",
    "ユーザーID,映画タイトル,評価,日時",
    "会員番号,商品コード,点数,日付",
    "사용자ID,영화,평점,날짜",
    "المستخدم,الفيلم,التقييم,التاريخ",
    "משתמש,סרט,דירוג,תאריך",
]


@pytest.mark.parametrize("header", HEADERS)
def test_columns_are_known_by_name_in_any_order(header: str) -> None:
    names = header.split(",")
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 3, 0, 1)):
        lines = [",".join(names[k] for k in order)]
        lines += [",".join(str(row[k]) for k in order) for row in ROWS]
        table = read_ratings("\n".join(lines).encode())
        assert (table.dialect.user, table.dialect.item) == (names[0].strip(), names[1].strip())
        assert table.dialect.rating == names[2]
        assert set(table.ratings) == {1, 2, 3, 4, 5} and table.n_users == 9 and table.n_items == 5
        if not header.startswith("msno"):  # a name that nothing tells is a guess
            assert table.notes == ()


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("rating_date", "time"),
        ("review_time", "time"),
        ("rated at", "time"),
        ("num_ratings", "other"),
        ("average_rating", "other"),
        ("rating_id", "other"),
        ("review_text", "other"),
        ("user_location", "other"),
        ("movie year", "other"),
        ("user_rating", "rating"),
        ("note du film", "rating"),
        ("date de notation", "time"),
        ("nombre de usuario", "user"),
        ("ReviewerName", "user"),
        ("gameid", "item"),
        ("place-ID", "item"),
    ],
)
def test_the_head_of_a_name_decides(name: str, role: str) -> None:
    known = meaning(name)
    assert known is not None and known.role == role


@pytest.mark.parametrize("name", ["", "id", "x", "Unnamed: 0", "Amber Lantern", "42", "Film 3", "a" * 500])
def test_names_that_tell_nothing(name: str) -> None:
    known = meaning(name)
    assert known is None or known.role == "other"


def test_an_id_is_preferred_to_a_name_and_a_rating_to_its_parts() -> None:
    head = "user_name,user_id,title,movie_id,food_rating,rating,votes"
    lines = [f"Ann {u},{u},The {i},{i},{x % 3},{x},{7 * x}" for u, i, x, _ in ROWS]
    table = read_ratings("\n".join([head, *lines]).encode())
    assert (table.dialect.user, table.dialect.item, table.dialect.rating) == ("user_id", "movie_id", "rating")
    assert table.notes == ()


def test_two_equal_claims_are_said() -> None:
    lines = [f"{u},{i},{x},{6 - x}" for u, i, x, _ in ROWS]
    table = read_ratings("\n".join(["user,item,rating,score", *lines]).encode())
    assert table.dialect.rating == "rating"
    assert "'rating' was taken as the rating and 'score' not" in table.notes[0]


def test_a_count_is_taken_as_the_rating_and_said() -> None:
    lines = [f"{u},{i},{x * 17}" for u, i, x, _ in ROWS]
    table = read_ratings("\n".join(["user,artist,plays", *lines]).encode())
    assert table.dialect.rating == "plays" and "a count" in table.notes[0]


def test_a_column_named_note_is_no_rating_if_it_holds_text() -> None:
    lines = [f"{u},{i},nice,{x}" for u, i, x, _ in ROWS]
    assert read_ratings("\n".join(["user,item,note,mark", *lines]).encode()).dialect.rating == "mark"


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("userId,movieId,tag,timestamp", "{u},{i},slow,{t}"),
        ("customer,product,purchased_on", "{u},{i},2020-01-02"),
        ("user,item,rating_date", "{u},{i},{t}"),
        ("movieId,title,average_rating", "{i},Title {i},{x}.5"),
        ("UserID,Gender,Age,Zip-code", "{u},F,{x},48067"),
        ("movieId,tagId,relevance", "{i},{x},0.5"),
        ("Const,Your Rating,Title", "tt{k},{x},Film {k}"),
    ],
)
def test_what_is_no_ratings_file_is_refused(head: str, row: str) -> None:
    lines = [row.format(u=u, i=i, x=x, t=t, k=k) for k, (u, i, x, t) in enumerate(ROWS)]
    with pytest.raises(RatingsError, match=r"no rating column|no column for the user"):
        read_ratings("\n".join([head, *lines]).encode())
