"""The tokens of a text: each word with its role in the comparison, and each value with its kind."""

import re
from functools import lru_cache
from itertools import chain
from typing import Final

from harness.simulate.meaning.words import deciding, is_of_domain, listed

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan", "januar", "enero"), ("february", "feb", "februar", "febrero"),
            ("march", "mar", "märz", "marzo"), ("april", "apr", "abril"), ("may", "mai", "mayo"),
            ("june", "jun", "juni", "junio"), ("july", "jul", "juli", "julio"), ("august", "aug", "agosto"),
            ("september", "sep", "sept", "septiembre"), ("october", "oct", "oktober", "okt", "octubre"),
            ("november", "nov", "noviembre"), ("december", "dec", "dezember", "dez", "diciembre"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_NUMBERS: Final = {
    name: number
    for number, name in enumerate(
        (
            *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
            *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
        )
    )
} | {"both": 2, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "dozen": 12}
_NEGATIONS: Final = listed("not no never without cannot can't unable neither nor none nothing non n't nobody")
_JOINED: Final = re.compile(
    r"\s(?:(?<=\d\s)(?=[ap]\.?m\b|usd\b|eur\b|dollars?\b|euros?\b|bucks\b|percent\b|%|\u20ac)|"
    r"(?<=[$\u20ac\u00a3]\s)(?=\d))"
)
"""The space between a number and the unit that belongs to its value."""
_TOKEN: Final = re.compile(
    r"[^\w.!?\n;#$\u20ac\u00a3]{0,50}(?:(?P<word>[a-z]+(?:'[a-z]+)?(?![\w@]|-\d|[.+][\w.+-]{0,64}@))|"
    r"(?P<money>(?:(?:us|usd|eur|gbp)\s?)?[$\u20ac\u00a3]\s?-?\d[\d,]{0,40}(?:\.\d+)?|\d[\d,]{0,40}(?:\.\d+)?\s?(?:"
    r"(?:usd|eur|dollars?|euros?|bucks)\b|\u20ac))"
    r"|(?P<iso>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<time>\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?|\b\d{1,2}\s?[ap]\.?m\b\.?)"
    r"|(?P<percent>\d+(?:\.\d+)?\s?(?:%|percent\b))"
    r"|(?P<email>[\w.+-]{1,64}@[\w-]+\.[\w.]*\w)"
    r"|(?P<slashed>\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b)"
    r"|(?P<dotted>\b(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)\d{2}\b)"
    r"|(?P<ident>#?\b(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[a-z_])[a-z0-9][\w-]*\w|#\w+)"
    r"|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)"
    r"|(?P<other>[^\W\d_]+(?:'[^\W\d_]+)?)"
    r"|(?P<stop>[.!?\n;]))"
)
_DIGITS: Final = "0123456789"
_LONGEST_CHUNK: Final = 40
"""Characters of a piece of text, from space to space, whose reading is kept: longer ones are not the language's."""

Token = tuple[str, str]
"""The role of a word or the kind of a value, and its form."""


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text in lower case."""
    if any(digit in text for digit in _DIGITS):
        text = _JOINED.sub("", text)
    if "\n" in text:
        text = text.replace("\n", " ; ")
    chunks = text.split()
    read = _tokens if max(map(len, chunks), default=0) <= _LONGEST_CHUNK else _tokens_of_any
    return list(chain.from_iterable(map(read, chunks)))


def _tokens_of_any(chunk: str) -> tuple[Token, ...]:
    return _tokens(chunk) if len(chunk) <= _LONGEST_CHUNK else _tokens.__wrapped__(chunk)


@lru_cache(maxsize=65_536)
def _tokens(chunk: str) -> tuple[Token, ...]:
    found: list[Token] = []
    for match in _TOKEN.finditer(chunk):
        kind = match.lastgroup
        if kind is not None:
            found.append(_role_of(match[kind]) if kind in ("word", "other") else (kind, match[kind]))
    return tuple(found)


def _role_of(text: str) -> Token:
    """What a word is to the comparison, and its form: `soft`, `deciding`, `open` or `open-ing` (not known, perhaps of
    manner), `negation`, `spelt`, `month` or `may`.
    """
    if text in _MONTHS:
        return ("may", "5") if text == "may" else ("month", str(_MONTHS[text]))
    if text in _NEGATIONS or text.endswith("n't"):
        return "negation", text
    if text in _NUMBERS:
        return ("soft", "") if text in ("one", "zero") else ("spelt", str(_NUMBERS[text]))
    word = deciding(text)
    if word is None:
        return "soft", text
    return "deciding" if is_of_domain(word) else "open-ing" if text.endswith("ing") else "open", word
