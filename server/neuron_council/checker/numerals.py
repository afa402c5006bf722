"""Words for numbers, months and weekdays in English, Portuguese, Spanish, French, German, Italian and some Russian.

Without accents and in lower case, as figures.py folds a text. A word that is common in another of these languages
("due", "once", "sei") is left out: a figure that is read wrongly costs more than one that is not read.
"""

from __future__ import annotations


def _words(row: str) -> list[str]:
    """The words of a row; `|` parts them where some are two words."""
    return row.split("|") if "|" in row else row.split()


def _numbered(rows: tuple[str, ...], first: int) -> dict[str, int]:
    """The words of each row with their places, counted from FIRST."""
    return {word: place for row in rows for place, word in enumerate(row.split(), first) if word != "-"}


UNITS = _numbered(
    (
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
        " eighteen nineteen",
        "dois tres quatro cinco - - oito - dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove",
        "dos tres cuatro cinco - siete ocho nueve diez - doce trece catorce quince dieciseis diecisiete dieciocho"
        " diecinueve",
        "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit"
        " dix-neuf",
        "zwei drei vier funf sechs sieben acht neun zehn - zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn"
        " neunzehn",
        "- tre quattro cinque - sette otto - dieci undici dodici tredici quattordici quindici sedici diciassette"
        " diciotto diciannove",
        "duas",
        "both",
        "pair",
        "couple",
    ),
    2,
)
TENS = {
    word: 10 * value
    for word, value in _numbered(
        (
            "twenty thirty forty fifty sixty seventy eighty ninety",
            "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
            "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
            "vingt trente quarante cinquante soixante",
            "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
            "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
        ),
        2,
    ).items()
}
NUMBERS: dict[str, float] = {"zero": 0, "dozen": 12, **UNITS, **TENS}
ONE = ("one", "a", "an", "ein")
"""One, but a figure only before a scale ("a million"): elsewhere it is an article or a pronoun."""
JOINTS = ("and", "e", "y", "et")
"""What may stand between the parts of a number."""
GERMAN_UNITS = ("ein", "zwei", "drei", "vier", "funf", "sechs", "sieben", "acht", "neun")
GERMAN_TENS = ("zwanzig", "dreissig", "vierzig", "funfzig", "sechzig", "siebzig", "achtzig", "neunzig")

_SCALE_ROWS = (
    (1e2, "hundred cem cento cien ciento hundert"),
    (1e3, "thousand thousands mil mille tausend mila k тысяч тысячи"),
    (1e4, "万 萬"),
    (1e6, "million millions mio milhao milhoes millon millones millionen milioni milione миллионов миллиона"),
    (1e8, "亿 億"),
    (1e9, "billion billions bn bilhao bilhoes milliard milliards milliarde milliarden miliardi mrd миллиардов"),
    (1e12, "trillion trillions"),
)
SCALES = {word: value for value, row in _SCALE_ROWS for word in row.split()}
SPELT_SCALES = {word: value for word, value in SCALES.items() if len(word) > 2 and word.isascii()}

RANKS = _numbered(
    (
        "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
        " sixteenth seventeenth eighteenth nineteenth twentieth",
    ),
    2,
)
MONTHS = _numbered(
    (
        "january february march april may june july august september october november december",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "- - - - - - - - sept - - -",
        "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "januar februar marz april mai juni juli august september oktober november dezember",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
    ),
    1,
)
LONE_MONTHS = [
    word for word in MONTHS if len(word) > 3 and word.isalpha() and word not in {"march", "mars", "marco", "sept"}
]
"""Months that are no other word, so that they count without a day or a year beside them."""
WEEKDAYS = _numbered(
    (
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lunes martes miercoles jueves viernes sabado domingo",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "segunda-feira terca-feira quarta-feira quinta-feira sexta-feira sabado domingo",
        "lunedi martedi mercoledi giovedi venerdi sabato domenica",
    ),
    1,
)

MONEY = _words(
    "dollar dollars euro euros pound pounds yen rupee rupees franc francs usd eur gbp chf jpy brl reais peso pesos"
    " dolares libra libras buck bucks yuan рублеи рубля евро долларов 元 円"
)
SHARES = [
    "%",
    "percent",
    "per cent",
    "pct",
    "por cento",
    "por ciento",
    "pour cent",
    "prozent",
    "per cento",
    "процентов",
]
AROUND = _words(
    "about|around|approximately|approx|approx.|roughly|nearly|almost|some|circa|ca|ca.|cerca de|quase|casi|environ"
    "|pres de|etwa|rund|ungefahr|fast|quasi|около|почти|~|≈"
)
ABOVE = _words(
    "over|more than|at least|above|exceeding|mais de|pelo menos|mas de|al menos|plus de|au moins|mehr als|uber"
    "|mindestens|piu di|almeno|более|>"
)
BELOW = _words(
    "under|less than|fewer than|at most|up to|below|menos de|ate|hasta|moins de|jusqu'a|weniger als|bis zu|meno di"
    "|fino a|менее|<"
)
COUNTED = _words(
    "people person persons user users men women member members employee employees customers copies words lines files"
    " miles meters metres feet km kg kilometers kilometres g mb gb ms hours days years times participants visitors"
    " students soldiers inhabitants pessoas personas personnes menschen persone"
)
"""After a four-digit number such a word makes it a count, and no year."""
RANKED = _words(
    "most largest biggest highest longest tallest oldest smallest greatest best place season album edition book film"
    " world president king quarter child wife husband son daughter floor grade round attempt try"
)
"""Before such a word "second" and its like are a rank; elsewhere a time, a place in a tale, a fraction."""
