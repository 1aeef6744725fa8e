"""Rating words to numbers: the scales in words that rating columns use, from thumbs to "it was amazing"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

# One scale a line: the words of one step are separated by "|", the steps by ";", from bad to good.
_TWO_WORDS = {
    "like": (
        "dislike|dislikes|disliked|did not like|didn't like|don't like|do not like|not liked|unlike|thumbs down"
        "|thumb down|thumbsdown|👎|:thumbsdown:|:-1:|down|downvote|downvoted|negative|neg|bad|not recommended"
        "|do not recommend"
        "|don't recommend|nope|no|n|nay|☹|🙁|😞|😠|😡|👿|💔|❌|✗|✘|-|reject|rejected|rotten|boo|sad"
        "|gefällt mir nicht|gefällt nicht|mag nicht|mag ich nicht|nein|schlecht|negativ|daumen runter"
        "|je n'aime pas|j'aime pas|n'aime pas|non|mauvais|négatif"
        "|no me gusta|malo|negativo|não gosto|não gostei|não|nao|ruim|non mi piace|brutto"
        "|niet leuk|nee|nie|nie lubię|ne|inte bra|nej|ei|nem|hayır|beğenmedim|beğenme|όχι"
        "|не нравится|не понравилось|дизлайк|нет|плохо|не подобається|ні"
        "|不喜欢|不喜歡|差评|差評|踩|否|不推荐|不是|嫌い|いいえ|低評価|悪い|싫어요|아니오|아니요|لا|לא"
    ),
    "liked": (
        "like|likes|liked|did like|do like|thumbs up|thumb up|thumbsup|👍|:thumbsup:|:+1:|up|upvote|upvoted|positive"
        "|pos|good|recommended|recommend|yes|y|yep|yeah|yay|☺|🙂|😀|😊|😍|❤|♥|💖|✅|✓|✔|+|keep|accept|accepted|fresh"
        "|happy|gefällt mir|gefällt|mag ich|mag|ja|gut|positiv|daumen hoch"
        "|j'aime|aime|aimé|oui|bon|positif"
        "|me gusta|sí|si|bueno|positivo|gosto|gostei|sim|bom|mi piace|bello"
        "|leuk|tak|lubię|ano|bra|kyllä|igen|evet|beğendim|beğen|ναι"
        "|нравится|понравилось|лайк|да|хорошо|подобається|так"
        "|喜欢|喜歡|好评|好評|赞|讚|是|推荐|好き|はい|高評価|いいね|良い|좋아요|예|네|نعم|כן"
    ),
    "neutral": (
        "neutral|neither|indifferent|no opinion|so so|so-so|ok|okay|mixed|average|egal|neutre|indiferente|neutro"
        "|neutrale|нейтрально|中立|一般|普通|보통|😐|😑"
    ),
}
_ORDERED = (
    "did not like it|didn't like it;it was ok|it was okay|ok;liked it;really liked it;it was amazing|amazing",
    "hated it|hate it|hate|hated|strongly dislike|dislike a lot;disliked it|dislike it|dislike|disliked"
    ";neutral|it was ok|ok|okay|indifferent|so so|meh;liked it|like it|like|liked"
    ";loved it|love it|love|loved|strongly like|like a lot",
    "very poor|terrible|awful|horrible|very bad|worst|abysmal;poor|bad|below average"
    ";average|fair|ok|okay|medium|mediocre|neutral|so so|acceptable|satisfactory|decent|moderate|normal|alright"
    ";good|very good|above average|great;excellent|outstanding|amazing|awesome|perfect|superb|best|fantastic|wonderful",
    "poor|very poor;fair;good;very good;excellent",
    "terrible|awful|horrible|very poor|very bad;poor|bad;average|ok|okay|fair|neutral;good;very good|great|excellent"
    "|amazing",
    "bad|poor;fair|average|ok|okay|medium;good;very good;excellent|great",
    "strongly disagree|disagree strongly|totally disagree|completely disagree;disagree|somewhat disagree"
    ";neutral|neither agree nor disagree|neither|undecided|not sure|don't know|neither disagree nor agree"
    ";agree|somewhat agree;strongly agree|agree strongly|totally agree|completely agree",
    "very dissatisfied|very unsatisfied|extremely dissatisfied;dissatisfied|unsatisfied|somewhat dissatisfied"
    ";neutral|neither|neither satisfied nor dissatisfied;satisfied|somewhat satisfied"
    ";very satisfied|extremely satisfied",
    "very unlikely|extremely unlikely;unlikely;neutral|neither|possible;likely;very likely|extremely likely",
    "very negative;negative;neutral|mixed;positive;very positive",
    "overwhelmingly negative;very negative;mostly negative|negative;mixed;mostly positive|positive;very positive"
    ";overwhelmingly positive",
    "never;rarely|seldom;sometimes|occasionally;often|frequently;always|very often",
    "very low;low;medium|moderate|middle|average;high;very high",
    "low;medium|middle|moderate;high",
    "not at all;slightly|a little;moderately|somewhat;very|very much|quite a bit;extremely",
    "very unhappy;unhappy|sad;neutral;happy;very happy",
    "😡|😠|😭;🙁|☹|😞|😟|😕;😐|😑;🙂|😊|☺;😀|😍|😁|😃|😄|🤩|🥰",
    "sehr schlecht;schlecht;mittel|mittelmäßig|durchschnittlich|okay|ok|neutral;gut;sehr gut",
    "ungenügend;mangelhaft;ausreichend;befriedigend;gut;sehr gut",
    "très mauvais;mauvais;moyen|correct;bon|bien;très bon|très bien|excellent",
    "muy malo|pésimo;malo;regular|normal|medio;bueno;muy bueno|excelente",
    "muito ruim|péssimo;ruim;regular|médio|razoável;bom;muito bom|ótimo|excelente",
    "pessimo;scarso|cattivo;sufficiente|medio|discreto;buono;ottimo|eccellente",
    "очень плохо|ужасно;плохо;нормально|средне|удовлетворительно;хорошо;отлично|очень хорошо",
    "很差|非常差|极差|力荐反|非常不满意;差|较差|不满意;一般|普通|还行|中等;好|较好|推荐|满意;很好|非常好|力荐|非常满意",
    "とても悪い|非常に悪い;悪い;普通|ふつう;良い|よい;とても良い|非常に良い",
    "매우 나쁨|매우 불만족;나쁨|불만족;보통;좋음|만족;매우 좋음|매우 만족",
)
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten",
    "null eins zwei drei vier fünf sechs sieben acht neun zehn",
    "zéro un deux trois quatre cinq six sept huit neuf dix",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez",
    "zero um dois três quatro cinco seis sete oito nove dez",
    "zero uno due tre quattro cinque sei sette otto nove dieci",
    "ноль один два три четыре пять шесть семь восемь девять десять",
    "零 一 二 三 四 五 六 七 八 九 十",
)
_TRUE = "true|t|wahr|vrai|verdadero|verdadeiro|vero|истина|真"
_FALSE = "false|f|falsch|faux|falso|ложь|假"
_NO_RATING = """
na n/a n.a. n.a nan null none nil - -- --- . ? ?? #n/a #na #value! #null! #div/0! #ref! nr n.r. missing unknown unrated
undefined unspecified k.a. k.a s/o nd n.d. nc -nan <na> \\n tbd void empty blank n/d s/d (null) (none) (blank) unread
无 暂无 _ * / x dnf … 未评分 未評価 미평가
"""
_NO_RATING_PHRASES = """
not rated|no rating|not yet rated|not available|not applicable|no answer|no opinion given|to read|keine angabe
|unbewertet|nicht bewertet|non noté|sin calificar|sin calificación|sem nota|non valutato|не оценено|нет данных
|нет оценки
"""
_NOT_FINITE = """
inf +inf -inf infinity +infinity -infinity ∞ +∞ -∞ 1.#inf -1.#inf 1.#ind -1.#ind
"""
NO_RATING = frozenset(("", *_NO_RATING.split(), *_NO_RATING_PHRASES.replace("\n", "").split("|")))
NOT_FINITE = frozenset(_NOT_FINITE.split())
# More different words than this are comments, not steps of a scale.
MOST_STEPS = 60


def normal(word: str) -> str:
    """A word as the scales hold it: case, blanks, skin tones and end marks do not matter."""
    text = unicodedata.normalize("NFKC", word).casefold().replace("’", "'").replace("\ufe0f", "")
    text = re.sub("[\U0001f3fb-\U0001f3ff]", "", text)
    text = re.sub(r"[\s_]+", " ", text).strip()
    text = re.sub(r"(?<=\w)-(?=\w)", " ", text)
    return text.rstrip("!. ") or text


def _steps(line: str, values: Iterable[float]) -> dict[str, float]:
    return {
        normal(word): value for step, value in zip(line.split(";"), values, strict=False) for word in step.split("|")
    }


def _polar() -> dict[str, float]:
    return (
        _steps(_TWO_WORDS["neutral"], [0.0]) | _steps(_TWO_WORDS["like"], [-1.0]) | _steps(_TWO_WORDS["liked"], [1.0])
    )


def _grades(letters: str, lowest: int) -> dict[str, float]:
    marks = {"+": 0.3, "": 0.0, "-": -0.3}
    return {
        letter + mark: round(lowest + step + shift, 1)
        for step, letter in enumerate(letters)
        for mark, shift in marks.items()
    }


SCALES: tuple[Mapping[str, float], ...] = (
    _steps(f"{_FALSE};{_TRUE}", (0.0, 1.0)),
    _polar(),
    *(_steps(line, range(1, 8)) for line in _ORDERED),
    *({normal(word): float(k) for k, word in enumerate(line.split())} for line in _NUMBER_WORDS),
    _grades("fdcba", 0),
    _grades("fedcba", 0),
)


def match(words: Mapping[str, int]) -> dict[str, float] | None:
    """The values of the words (word -> how often it occurs) on the scale that knows them, or None.

    A scale fits if it covers at least nine rows in ten; the one that covers most rows is taken, then the one that keeps
    most words apart, then the one listed first.
    """
    if not words or len(words) > MOST_STEPS:
        return None
    plain = {word: normal(word) for word in words}

    def fit(scale: Mapping[str, float]) -> tuple[int, int]:
        known = [word for word in words if plain[word] in scale]
        return sum(words[word] for word in known), len({scale[plain[word]] for word in known})

    best = max(SCALES, key=fit)
    if fit(best)[0] < 0.9 * sum(words.values()):
        return None
    return {word: best[plain[word]] for word in words if plain[word] in best}
