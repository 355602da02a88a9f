"""A shopper's message as wishes: a small grammar, and no understanding beyond it."""

import re
from dataclasses import dataclass

_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 1)} | {"a": 1, "an": 1, "a dozen": 12, "a couple of": 2}
_NUMBER = r"(?:\d+|a couple of|a dozen|an|a|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_UNIT = (
    r"(?:(?:packs?|bottles?|cartons?|bags?|box|boxes|loaf|loaves|jars?|cans?|bunch|bunches|heads?|pounds?|lbs?|pints?)"
    r" of )?"
)
_PROFILE = re.compile(r"^\[(\w+): (.*)\]$", re.MULTILINE)
_BUDGET = re.compile(
    r"(?:budget (?:of|is)|under|at most|no more than|below|within|less than|limit (?:of|is)|spend)\s+(?:only\s+)?"
    r"\$?(\d+(?:\.\d\d)?)(?: dollars)?",
    re.IGNORECASE,
)
_DIETS = {
    "vegan": r"\bvegan\b", "vegetarian": r"\bvegetarian\b", "gluten-free": r"\bgluten[- ]free\b",
    "dairy-free": r"\bdairy[- ]free\b|\blactose",
}  # fmt: skip
_ALLERGY = re.compile(r"\ballergic to (\w+)|\bno (nuts|dairy|gluten|shellfish|soy|pork|egg|eggs)\b|\b(nut)[- ]free\b")
_REORDER = re.compile(r"\b(reorder|my usual|the usual|same as last time|last order|order again)\b")
_STORES = re.compile(
    r"\b(?:from|at|in) (?:the )?(greenway market|greenway|corner pantry|harvest co-op|harvest|cellar & vine)\b"
)
_CHEAPEST = re.compile(r"\bcheapest (?:store|place)|wherever (?:it|they) (?:is|are) cheapest")
_DISH = re.compile(
    r"(?:ingredients for|everything for|recipe for|want to (?:make|cook)|making|cooking|to make|i'll cook)\s+"
    r"(?:a |an |some |the |my )?([a-z ]+?)"
    r"(?: for (\d+|two|three|four|five|six|eight|ten|twelve)(?: people| guests| of us)?)?"
    r"(?= tonight| tomorrow| on | this | and |[.,;!?]|$| under| with | but )"
)
_PAIRING = re.compile(r"\bpairing\b|\bwine (?:to go |that goes )with\b|\bpair (?:it|that) with (?:a )?wine\b")
_SWAP = re.compile(r"\b(?:swap|replace|change) (?:the |my )?([a-z ]+?) (?:for|with|to) (?:the |some )?([^.!?,;]+)")
_INSTEAD = re.compile(rf"\b((?:{_NUMBER} )?[a-z ]+?) instead of (?:the )?([a-z ]+)")
_REMOVE = re.compile(
    r"\b(?:remove|take out|take off|drop|forget|leave out|no longer (?:need|want)|don't (?:need|want))\s+"
    r"(?:the |any )?([^.!?;]+)"
)
_SET = re.compile(rf"\b(?:make (?:it|that|them)|only|change (?:it|that) to|just) ({_NUMBER}) ([a-z][a-z ]*)")
_DONE = re.compile(r"\b(that's (?:all|it|everything)|that is (?:all|it|everything)|nothing else|i'm done|no more)\b")
_PLACE = re.compile(r"\b(place (?:the|my) order|check ?out|order it now|go ahead and order)\b")
_SHOW = re.compile(
    r"\b(what(?:'s| is) in (?:my|the) cart|show me (?:my|the) cart|what is the subtotal|how much is it)\b"
)
_YES = re.compile(r"^(yes|yeah|yep|sure|ok|okay|fine|please do|go ahead|correct|sounds good|perfect|great)\b")
_NO = re.compile(r"^(no|nope|no thanks|not that|rather not)\b")
_ASK = re.compile(
    r"\b(?:i need|we need|i want|i would like|i'd like|i'll take|i'll have|add|get me|get|buy|order|put|give me"
    r"|i'm out of|also)\s+(?:me |in |back |us )?(.+)"
)
_TAIL = re.compile(
    r"\s+(?:please|too|as well|again|back|to (?:my|the) cart|in (?:my|the) cart|instead"
    r"|for (?:me|us|the week|breakfast|lunch|dinner|a picnic|the party|\d+ people))$"
)
_FILLER = re.compile(r"^(?:add|and|also|then|some|the|my|more|another|maybe|actually|please|hi|hello|oh|just|any)\s+")


@dataclass(frozen=True)
class Wish:
    """What one message asks for; empty parts are not asked for."""

    text: str
    profile: dict[str, str]
    budget_cents: int | None = None
    diets: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    store: str | None = None
    reorder: bool = False
    dish: str | None = None
    people: int | None = None
    pairing: bool = False
    items: tuple[tuple[int | None, str], ...] = ()
    remove: tuple[str, ...] = ()
    set: tuple[tuple[int, str], ...] = ()
    show: bool = False
    done: bool = False
    place: bool = False
    yes: bool = False
    no: bool = False

    @property
    def finds(self) -> bool:
        """Whether something has to be searched for."""
        return bool(self.items or self.dish or self.pairing or self.reorder)


def wish_of(message: str) -> Wish:
    """The wishes of a message; lines like `[name: value]` before it are the shopper's profile."""
    profile = dict(_PROFILE.findall(message))
    text = _PROFILE.sub("", message).strip()
    plain = " ".join(text.casefold().replace("\u2019", "'").split())
    budget, dish = _BUDGET.search(plain), _DISH.search(plain)
    rest = _BUDGET.sub(" ", plain)
    rest, remove, given = _changes(rest)
    if dish:
        rest = rest.replace(dish[0], " ")
    pairing = bool(_PAIRING.search(plain))
    reorder = bool(_REORDER.search(rest))
    store = _STORES.search(plain)
    return Wish(
        text=text,
        profile=profile,
        budget_cents=None if budget is None else round(float(budget[1]) * 100),
        diets=tuple(
            name
            for name, pattern in _DIETS.items()
            if re.search(rf"\b(i'm|i am|we are|we're|eat|guests? (?:is|are)|keep it)\b[^.]*?(?:{pattern})", plain)
        ),
        allergies=_allergies(plain),
        store="cheapest" if _CHEAPEST.search(plain) else None if store is None else store[1],
        reorder=reorder,
        dish=None if dish is None else dish[1].strip(),
        people=None if dish is None or dish[2] is None else _number(dish[2]),
        pairing=pairing,
        items=(*given, *(() if pairing or (reorder and not _explicit(rest)) else _items(_STORES.sub(" ", rest)))),
        remove=remove,
        set=tuple((_number(number), _clean(words)) for number, words in _SET.findall(plain)),
        show=bool(_SHOW.search(plain)),
        done=bool(_DONE.search(plain)),
        place=bool(_PLACE.search(plain)),
        yes=bool(_YES.search(plain)),
        no=bool(_NO.search(plain)),
    )


def _allergies(plain: str) -> tuple[str, ...]:
    found = {next(filter(None, groups)) for groups in _ALLERGY.findall(plain)}
    return tuple(
        sorted("nuts" if one in ("nut", "nuts") else one.removesuffix("s") if one == "eggs" else one for one in found)
    )


def _changes(plain: str) -> tuple[str, tuple[str, ...], tuple[tuple[int | None, str], ...]]:
    """(the rest, what goes, what comes in its place)."""
    remove: list[str] = []
    items: list[tuple[int | None, str]] = []
    for pattern, old, new in ((_SWAP, 1, 2), (_INSTEAD, 2, 1)):
        for match in pattern.finditer(plain):
            remove.append(_clean(match[old]))
            items += _listed(re.sub(r"^.*?\b(?:want|like|need|have|take|add|get)\b", "", match[new]))
        plain = pattern.sub(" ", plain)
    for match in _REMOVE.finditer(plain):
        remove += [words for _, words in _listed(match[1])]
    plain = _REMOVE.sub(" ", plain)
    return _SET.sub(" ", plain), tuple(remove), tuple(items)


def _items(plain: str) -> list[tuple[int | None, str]]:
    """What the sentences ask to add."""
    found: list[tuple[int | None, str]] = []
    for sentence in re.split(r"(?<=[a-z])[.!?;]\s*", plain):
        if _DONE.search(sentence) or _PLACE.search(sentence) or _SHOW.search(sentence):
            continue
        asked = _ASK.search(sentence) or re.match(rf"\s*((?:{_NUMBER})\s+.+)", sentence)
        if asked:
            found += _listed(asked[1])
    return found


def _explicit(plain: str) -> bool:
    """Whether a reorder names further items."""
    return bool(re.search(r"\b(also|plus|add|and (?:a|an|some|\d+))\b", plain))


def _listed(text: str) -> list[tuple[int | None, str]]:
    parts = re.split(r",\s*(?:and\s+)?|\s+and\s+|\s+plus\s+", text)
    found: list[tuple[int | None, str]] = []
    for part in parts:
        words = _clean(part)
        match = re.match(rf"({_NUMBER})\s+(?:x\s+)?{_UNIT}(.+)", words)
        number, name = (_number(match[1]), _clean(match[2])) if match else (None, words)
        if name and not _REORDER.search(name) and name not in ("it", "them", "that", "one", "order", "wine pairing"):
            found.append((number, name))
    return found


def _clean(words: str) -> str:
    words = words.strip(" .,;!?-$")
    before = None
    while before != words:
        before = words
        words = _TAIL.sub("", _FILLER.sub("", words)).strip(" .,;!?")
    return words


def _number(text: str) -> int:
    return _NUMBERS.get(text) or int(text)
