"""What a column is for, told by its name: the words for user, item, rating and time in the languages files come in."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

USER, ITEM, RATING, TIME, OTHER = "user", "item", "rating", "time", "other"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_USER = """
user users usr uid customer client cust member reviewer rater person people reader viewer listener player visitor
account buyer shopper subscriber profile participant respondent subject student critic voter employee patient consumer
household login nick nickname handle screenname email mail critics learner patron borrower guest traveler traveller
judge annotator worker evaluator assessor steamid u
benutzer nutzer kunde kunden kundin mitglied teilnehmer anwender besucher leser hörer käufer bewerter zuschauer
spieler proband nutzerin leserin abonnent schüler
utilisateur membre personne lecteur acheteur usager internaute abonné spectateur auditeur évaluateur joueur
usuario cliente miembro persona socio lector comprador participante espectador oyente jugador alumno usuaria
usuário utilizador membro pessoa leitor comprador ouvinte jogador assinante
utente membro persona lettore acquirente spettatore ascoltatore giocatore socio
gebruiker klant lid persoon lezer kijker luisteraar koper
użytkownik klient osoba czytelnik widz uživatel zákazník používateľ čtenář divák
användare kund bruker bruger kunde person läsare tittare medlem käyttäjä asiakas jäsen felhasználó ügyfél
utilizator kullanıcı müşteri üye χρήστης πελάτης korisnik kupac kupec uporabnik потребител клиент
пользователь клиент юзер покупатель читатель зритель слушатель участник користувач клієнт корисник
用户 用戶 使用者 会员 會員 客户 客戶 顾客 顧客 读者 買家 买家 观众 评分人 评价人
ユーザー ユーザ 利用者 会員 顧客 使用者 評価者 読者 お客様
사용자 유저 회원 고객 이용자 평가자 독자
usuari client lietotājs lietotajs klients vartotojas naudotojas klientas kasutaja klient notandi viðskiptavinur
përdoruesi perdoruesi klienti erabiltzailea bezeroa usuária mtumiaji gumagamit მომხმარებელი օգտատեր ব্যবহারকারী பயனர் صارف
المستخدم مستخدم العميل عميل משתמש לקוח کاربر مشتری उपयोगकर्ता ग्राहक ผู้ใช้ ลูกค้า người_dùng khách_hàng pengguna pelanggan
"""
_ITEM = """
item items movie movies film films book books isbn isbn10 isbn13 asin parentasin product products prod song songs
track artist album band game games app anime manga show series tvshow tvseries serie series video vid title titles
joke recipe restaurant place venue business hotel poi shop store article news doc document paper url link course sku
goods good beer wine music podcast episode content media object thing dish food meal ad post photo image event iid mid
bid pid sid gid aid brand attraction question exercise problem skill comic job lecture module drug destination vendor
entity i playlist radio station channel stream boardgame novel story magazine vn appid
artikel produkt buch titel lied stück spiel rezept ort witz gericht ware kurs hörbuch gegenstand objekt künstler
produit livre titre chanson morceau jeu série recette lieu oeuvre élément objet artiste cours plat
artículo producto película libro título canción juego receta lugar elemento ítem objeto obra artista curso pelicula
produto filme livro música canção jogo receita artigo objeto artista
articolo prodotto libro titolo canzone gioco ricetta luogo oggetto brano artista opera corso
boek spel liedje gerecht produkt książka tytuł przedmiot utwór gra pozycja položka kniha titul hra skladba položka
bok vara låt spel vare bog sang tuote elokuva kirja peli kappale termék könyv játék carte produs joc cântec
ürün kitap öge şarkı oyun müzik yapım προϊόν ταινία βιβλίο τραγούδι παιχνίδι филм артикул knjiga proizvod izdelek
товар фильм книга предмет объект название песня игра продукт трек элемент изделие фильма товара книги
фільм річ гра пісня предмет
物品 电影 電影 商品 产品 產品 书 書 书籍 書籍 图书 圖書 歌曲 影片 项目 項目 游戏 遊戲 音乐 音樂
餐厅 餐廳 作品 标题 標題 书名 書名 片名 电影名 菜品 店铺
アイテム 映画 商品 作品 本 書籍 品目 タイトル 曲 製品 店舗 ゲーム アニメ 漫画 楽曲 品物 対象
아이템 영화 상품 제품 책 도서 작품 노래 게임 항목 음악 제목 식당
pel·lícula pellicula llibre producte cançó llibre joc filma grāmata gramata prece dziesma spēle filmas knyga prekė
daina žaidimas raamat toode laul mäng kvikmynd bók vara lag filmi libri produkti kënga liburua produktua filamu
kitabu pelikula ფილმი წიგნი ֆիլմ գիրք চলচ্চিত্র படம் فلم
الفيلم فيلم المنتج منتج كتاب الكتاب العنصر عنصر פריט סרט מוצר ספר کالا فیلم محصول वस्तु फ़िल्म उत्पाद สินค้า ภาพยนตร์ หนังสือ
phim sản_phẩm sách barang produk filem buku
"""
_RATING = """
rating ratings rate rated score scores star stars starrating overall overallrating grade mark rtg myrating yourrating
userrating ratingvalue ratingscore
bewertung wertung sterne punktzahl beurteilung zensur gesamtbewertung schulnote sternebewertung
évaluation notation étoiles appréciation classement
puntuación calificación valoración estrellas puntaje evaluación nota valoracion
avaliação pontuação estrelas classificação
valutazione punteggio stelle giudizio voto
beoordeling waardering cijfer sterren ocena gwiazdki hodnocení hodnotenie hvězdy známka hviezdy
betyg omdöme poäng bedømmelse karakter vurdering terningkast stjerner arvosana arvio pisteet értékelés pontszám
osztályzat evaluare notă scor puan derecelendirme değerlendirme yıldız βαθμολογία αξιολόγηση оценка рейтинг балл баллы
звезды звёзды оцінка бал бали
评分 評分 评价 評價 打分 得分 分数 分數 星级 星級 评级 評級 评价分数 用户评分
評価 評点 点数 スコア レーティング 得点 評価値 星評価 星
평점 평가 별점 점수 등급
valoració puntuació estrelles vērtējums vertejums reitings zvaigznes įvertinimas ivertinimas reitingas žvaigždutės hinne
hinnang reiting tärnid einkunn stjörnur vlerësimi vleresimi yje balorazioa puntuazioa izarrak ukadiriaji შეფასება
վարկանիշ রেটিং மதிப்பீடு درجہ_بندی
التقييم تقييم דירוג ציון امتیاز रेटिंग คะแนน đánh_giá điểm penilaian nilai
"""
# Names that hold the rating only where no better one is there.
_WEAK_RATING = """
note notes points point pts value val vote votes evaluation opinion feedback preference pref like liked islike
isliked likes reaction sentiment thumb thumbs verdict recommend recommended recommendation isrecommended votedup
satisfaction judgement judgment response rank y label target interest punkte note urteil avis opinión voto voti oy
oylama puntos punti pontos likert label answer r relevance_feedback favorite favourite enjoyed liking likability mag
mochte gefällt stimme hlas głos 喜好 喜欢 好感度 反馈 点赞 態度 好み 感想 좋아요 선호도 отзыв мнение голос
"""
_COUNT = """
plays playcount playcounts plays_count listens listencount count counts clicks views viewcount purchases quantity qty
weight hours frequency freq watchtime playtime interactions interaction amount times strength
anzahl nombre_écoutes écoutes reproducciones
"""
_TIME = """
timestamp time times date datetime day ts created updated when modified unixtime epoch unixreviewtime reviewtime
ratedat createdat updatedat month tstamp timestmp
datum zeit zeitstempel uhrzeit zeitpunkt tag_datum fecha hora data_hora heure jour horodatage dato tijd tijdstip dátum
päivämäärä tarih zaman ημερομηνία czas cas дата время час
时间 時間 日期 时间戳 日付 日時 タイムスタンプ 評価日 날짜 시간 일자 일시 تاريخ التاريخ วันที่ ngày tanggal waktu data
"""
_OTHER = """
age gender sex occupation zip zipcode genre genres tag tags tagid year release review reviews comment comments text
summary verified helpful useful funny cool price category categories country city state region language lang lat lon lng
latitude longitude description index rownum row rowid reviewid ratingid imdbid tmdbid relevance average avg mean std
averagerating avgrating meanrating ratingcount ratingscount numratings nratings votecount voteaverage
size color colour style pages publisher duration length position session sessionid device browser location
type status helpfulness reviewtext reviewbody vine popularity budget revenue runtime
alter geschlecht beruf genre kommentar beschreibung âge sexe commentaire edad género sexo comentario descripción
idade comentário età sesso commento leeftijd geslacht возраст пол жанр комментарий 年龄 性别 类型 标签 评论
年齢 性別 ジャンル コメント 나이 성별 장르 댓글 리뷰
"""
_ID_WORDS = _words("""
id ids no nr num number nummer code cod codigo codice key hash uuid guid identifier ident idx ref numero numer
identifiant identificador identificativo ид код номер
""")
_NAME_WORDS = _words("""
name names nom nombre nome naam navn namn nazwa nev jmeno nume isim ad имя
""")
_ID_ENDINGS = (
    "编号", "編號", "番号", "번호", "名称", "名稱", "代码", "コード", "아이디", "이름", "序号", "id", "名", "号", "명",
    "код",
    "nummer", "number", "code", "key", "name", "idx",
)  # fmt: skip
_COUNTING = _words("""
num number n count total avg average mean median std sum max min nb anzahl
""")
_LINKING = _words("""
of de del du des da do dos di della dello der vom von van av af la le el the
""")
_FOLD = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th"})


# What names a line or a column of totals or means, of which nobody rates.
SUMMARY = re.compile(
    r"(grand |sub)?totals?|sum|count|ø|((mean|average|avg\.?)( (of )?ratings?| scores?)?)|(gesamt)?summe|insgesamt|"
    r"gesamt(ergebnis)?|mittelwert|durchschnitt|total g[eé]n[eé]ral|moyenne|media|promedio|suma|итого|合計|总计|平均",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Meaning:
    """The role that a name points to, and how plainly: rank 0 is the name itself, more is weaker."""

    role: str
    rank: int


def _tokens(name: str) -> list[str]:
    text = unicodedata.normalize("NFKC", name)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text).casefold().translate(_FOLD)
    text = "".join(char for char in unicodedata.normalize("NFKD", text) if unicodedata.category(char) != "Mn")
    return re.findall(r"[^\W_]+", text)


def _table() -> dict[str, Meaning]:
    table: dict[str, Meaning] = {}
    groups = (
        (_RATING, RATING, 0), (_USER, USER, 1), (_ITEM, ITEM, 1), (_TIME, TIME, 0), (_OTHER, OTHER, 0),
        (_WEAK_RATING, RATING, 3), (_COUNT, RATING, 5),
    )  # fmt: skip
    for words, role, rank in groups:
        for word in words.split():
            table.setdefault("".join(_tokens(word)), Meaning(role, rank))
    return table


_TABLE = _table()
_ENDINGS = tuple("".join(_tokens(ending)) for ending in _ID_ENDINGS)
FIRST_NAMES, LONGEST_NAME = 100, 80
COUNT_RANK = 5


def meaning(name: str) -> Meaning | None:
    """What a column of this name holds, or None if the name does not tell. Case, accents and signs do not matter.

    The last word of a name is its head ("movie rating", "rating_date"), the first where a preposition follows
    ("date de notation"); words such as "id" and "name" stand for the thing they belong to.
    """
    if len(name) > LONGEST_NAME:
        return None
    # RecBole writes the type behind the name: "user_id:token".
    plain = re.sub(r":(token|float|token_seq|float_seq)$", "", name.strip())
    # "Rating (1-5)", "score [0..100]", "Rating /5": the scale is no part of the name.
    tokens = _tokens(re.sub(r"\s*[(\[（][^)\]）]*[)\]）]\s*$|\s*/\s*\d+$", "", plain))
    if not tokens:
        return None
    whole = _TABLE.get("".join(tokens))
    if whole is not None:
        return whole
    if len(tokens) > 1 and tokens[0] in _COUNTING and meaning(" ".join(tokens[1:])) is not None:
        return Meaning(OTHER, 0)
    linked = next((k for k, token in enumerate(tokens) if token in _LINKING and k > 0), None)
    if linked is not None:
        head = meaning(" ".join(tokens[:linked]))
        rest = [token for token in tokens[linked:] if token not in _LINKING]
        return head if head is not None or not rest else _without_affixes(tokens[:linked] + rest)
    return _without_affixes(tokens)


def names_rows(corner: str) -> str:
    """What the rows are by the corner of a wide table, which may name both sides, as "user/movie" does; or ""."""
    if len(corner) > LONGEST_NAME:
        return ""
    parts = re.split(r"[\\/|,×_\-\u2013 ]+(?:(?:x|vs\.?|by|and|per)[\\/|,×_\-\u2013 ]+)?", corner.strip())
    roles = [known.role for part in parts if (known := meaning(part)) is not None and known.role in (USER, ITEM)]
    if len(set(roles)) == 2:
        return roles[0]
    known = meaning(corner)
    return known.role if known is not None else ""


def names_columns(names: list[str]) -> str:
    """The role that names such as "User 1", "User 2" give the columns of a wide table; or ""."""
    names = [name.strip()[-LONGEST_NAME:] for name in names[:FIRST_NAMES]]
    stems = {found[1] for name in names if (found := re.fullmatch(r"(.*?\D)[\s_-]*\d+", name))}
    numbered = len(stems) == 1 and all(name[-1:].isdigit() for name in names)
    known = meaning(stems.pop()) if numbered else None
    return known.role if known is not None else ""


def meanings(names: list[str]) -> list[Meaning | None]:
    """The meaning of every name; of a table of very many columns only the first ones are asked."""
    return [meaning(name) if k < FIRST_NAMES else None for k, name in enumerate(names)]


def _without_affixes(tokens: list[str]) -> Meaning | None:
    ids = [token for token in tokens if token in _ID_WORDS]
    named = [token for token in tokens if token in _NAME_WORDS]
    core = [token for token in tokens if token not in _ID_WORDS and token not in _NAME_WORDS]
    step = 2 if named else (-1 if ids else 1)
    if not core:
        return None
    if core != tokens:
        found = _TABLE.get("".join(core)) or _TABLE.get(core[-1])
        return _as_id(found, step)
    if len(tokens) > 1:
        found = _TABLE.get(tokens[-1])
        return found if found is None or found.role in (TIME, OTHER) else Meaning(found.role, found.rank + 1)
    return _compound(tokens[0])


def _as_id(found: Meaning | None, step: int) -> Meaning | None:
    """The id or name of a user or an item stands for it; the id of a rating or a time is neither."""
    if found is None or found.role in (TIME, OTHER):
        return found
    if found.role == RATING:
        return Meaning(OTHER, 0)
    return Meaning(found.role, found.rank + step)


def _compound(word: str) -> Meaning | None:
    """Words written together: "bookrating", "filmid", "kundennummer", "用户编号"."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            found = _TABLE.get(word.removesuffix(ending))
            if found is not None:
                return _as_id(found, -1)
    for ending in ("rating", "ratings", "score", "stars", "bewertung", "wertung", "评分", "評価", "평점"):
        if word.endswith(ending):
            return Meaning(RATING, 1)
    if not word.isascii():
        # Scripts without blanks put the head of a name last: "映画タイトル", "用户评分".
        found = next((_TABLE[word[k:]] for k in range(1, len(word) - 1) if word[k:] in _TABLE), None)
        if found is not None:
            return Meaning(found.role, found.rank + 1)
    for ending, role in (("date", TIME), ("time", TIME), ("datum", TIME)):
        if word.endswith(ending):
            return Meaning(role, 0)
    return None


def count_roles(cells: list[str], below: list[str] | None = None) -> int:
    """How many of the roles user, item, rating and time the cells name; what the row ``below`` repeats is no name."""
    names = [cell for k, cell in enumerate(cells) if not below or k >= len(below) or below[k] != cell]
    found = {known.role for known in meanings(names) if known is not None}
    return len(found & {USER, ITEM, RATING, TIME})


def looks_like_names(cells: list[str]) -> int:
    """How many cells name anything known."""
    return sum(known is not None for known in meanings(cells))
