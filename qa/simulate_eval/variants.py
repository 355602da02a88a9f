"""Variants of an agent's turn: seven kinds that mean the same, and ten that do not.

Part 0 is for building, part 1 for a second look, part 2 for the last measurement: no part shares its word list of
paraphrases. Those of `fresh.py` and `styles.py` are the same for every part.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.gateway.user import HeardCall
from harness.users.meaning.turn import AgentTurn
from qa.simulate_eval import exchanges, later
from qa.simulate_eval.fresh import recast, reworded
from qa.simulate_eval.opposed import added, opposed
from qa.simulate_eval.styles import brief, chatty, formal
from qa.simulate_eval.unseen import breezy, other_item, other_state, stately, terse

SAME = (
    *("paraphrased", "reworded", "recast", "chatty", "formal", "brief", "breezy", "stately", "terse"),
    *("caring", "plain", "office", "reordered"),
)
CHANGED = (
    *("item", "other item", "other state", "opposed", "added", "quantity", "price", "date", "negation", "question"),
    *("effect", "argument", "exchanged", "regrouped", "scope"),
)

_BUILD_PHRASES = (
    (r"\bI will\b", "I'm going to"),
    (r"\bI'll\b", "I will"),
    (r"\bPlease provide\b", "Could you please give me"),
    (r"\bprovide\b", "share"),
    (r"\bwould you like\b", "do you want"),
    (r"\bWould you like\b", "Do you want"),
    (r"\bHere are\b", "These are"),
    (r"\bassist\b", "help"),
    (r"\bconfirm\b", "verify"),
    (r"\bcannot\b", "can't"),
    (r"\bcurrently\b", "at the moment"),
    (r"\bhowever\b", "but"),
    (r"\bHowever\b", "That said"),
    (r"\bIf you\b", "In case you"),
    (r"\bYou are\b", "You're"),
    (r"\bIt is\b", "It's"),
    (r"\bdetails\b", "information"),
    (r"\bPlease let me know\b", "Just tell me"),
    (r"\bnow\b", "at this point"),
    (r"\bcancelled\b", "canceled"),
    (r"\bhas been\b", "was"),
)
_HELD_PHRASES = (
    (r"\bI can\b", "I am able to"),
    (r"\bplease\b", "kindly"),
    (r"\bPlease\b", "Kindly"),
    (r"\bneed\b", "require"),
    (r"\bso I can\b", "in order for me to"),
    (r"\bsuccessfully\b", ""),
    (r"\bAlso\b", "In addition"),
    (r"\bWhich\b", "Which one of the"),
    (r"\bThanks\b", "Thank you"),
    (r"\bproceed\b", "go ahead"),
    (r"\bI found\b", "I was able to find"),
    (
        r"\bdo you "
        r"want\b",
        "would you like",
    ),
    (r"\bDo you want\b", "Would you like"),
    (r"\bI've\b", "I have"),
    (r"\bdon't\b", "do not"),
    (r"\bcan't\b", "cannot"),
    (r"\bbefore I\b", "before I can"),
    (r"\bOnce\b", "As soon as"),
    (r"\bonce\b", "as soon as"),
    (r"\bhere's\b", "here is"),
    (r"\bHere's\b", "Here is"),
    (r"\byou'd like\b", "you would like"),
    (r"\bshare\b", "tell me"),
    (r"\breply\b", "respond"),
    (r"\bReply\b", "Respond"),
    (r"\bI see\b", "I can see"),
    (r"\bwill be\b", "is going to be"),
    (r"\bYour\b", "The following is true: your"),
    (r"\bTo\b(?= [a-z])", "In order to"),
    (r"\bbecause\b", "since"),
    (r"\bokay\b", "alright"),
    (r"\bGot it\b", "Understood"),
)
_LAST_PHRASES = (
    (r"\bI just need\b", "All I need is"),
    (r"\bYou can\b", "You're able to"),
    (r"\byou can\b", "you are able to"),
    (r"\bThis is\b", "That's"),
    (r"\bThere are\b", "There exist"),
    (r"\bThere is\b", "There's"),
    (r"\bI have\b", "I've"),
    (r"\bI am\b", "I'm"),
    (r"\bI'm\b", "I am"),
    (r"\bif you\b", "in case you"),
    (r"\bYou'll\b", "You will"),
    (r"\bThanks for\b", "Thank you for"),
    (r"\bunfortunately\b", "sadly"),
    (r"\bUnfortunately\b", "Sadly"),
    (r"\bcan't\b", "am not able to"),
    (r"\bisn't\b", "is not"),
    (r"\bwon't\b", "will not"),
    (r"\bdoesn't\b", "does not"),
    (r"\bsend\b", "give"),
    (r"\bshow\b", "display"),
    (r"\bright now\b", "at this moment"),
    (r"\bjust\b", "simply"),
    (r"\balso\b", "as well"),
    (r"\bthen\b", "after that"),
    (r"\bavailable\b", "on offer"),
    (r"\bprefer\b", "favour"),
    (r"\bcontinue\b", "carry on"),
    (r"\bfinish\b", "wrap up"),
    (r"\bquick\b", "short"),
    (r"\bHi\b", "Hello"),
    (r"\bGreat\b", "Wonderful"),
    (r"\bHappy to help\b", "Glad to help"),
    (r"\band I'll\b", "and I will"),
    (
        r"\bI "
        r"can't\b",
        "I cannot",
    ),
)
"""Written after everything else, and not looked at on any conversation before the last measurement."""
_BUILD_ITEMS = (
    ("credit card", "gift card"),
    ("economy", "business class"),
    ("refund", "exchange"),
    ("laptop", "tablet"),
    ("mobile data", "wi-fi"),
    ("keyboard", "mouse"),
    ("boots", "sandals"),
    ("airplane mode", "roaming"),
    ("New York", "Chicago"),
    ("checked bag", "pet"),
    ("cancel", "upgrade"),
    ("insurance", "meal"),
    ("SIM card", "battery"),
    ("order", "warranty"),
    ("reservation", "subscription"),
)
_HELD_ITEMS = (
    ("passenger", "driver"),
    ("address", "birthday"),
    ("return", "repair"),
    ("flight", "train"),
    ("delivered", "stolen"),
    ("pending", "shipped"),
    ("basic", "premium"),
    ("blue", "green"),
    ("exchange", "donation"),
    ("payment", "signature"),
    ("bag", "bicycle"),
    ("name", "nationality"),
    ("certificate", "painting"),
    ("gift", "debit"),
    ("cancel", "extend"),
    ("business", "first"),
    ("lamp", "kettle"),
    ("camera", "speaker"),
    ("email", "fax"),
    ("variant", "supplier"),
)
_WORDS = {"two": "three", "three": "five", "four": "two", "five": "four", "both": "all three"}


@dataclass(frozen=True)
class Variant:
    """A changed turn."""

    kind: str
    then: AgentTurn
    now: AgentTurn


def variants(turn: AgentTurn, seed: int, *, part: int) -> list[Variant]:
    """Every variant that the turn allows."""
    dice = random.Random(seed)
    makers: dict[str, Callable[[str], str | None]] = {
        "paraphrased": lambda text: _paraphrased(text, (_BUILD_PHRASES, _HELD_PHRASES, _LAST_PHRASES)[part]),
        "reworded": reworded,
        "recast": recast,
        "chatty": chatty,
        "formal": formal,
        "brief": brief,
        "breezy": breezy,
        "stately": stately,
        "terse": terse,
        "caring": later.caring,
        "plain": later.plain,
        "office": later.office,
        "reordered": lambda text: exchanges.reordered(text, random.Random(seed)),
        "exchanged": lambda text: exchanges.exchanged(text, random.Random(seed)),
        "regrouped": exchanges.regrouped,
        "scope": lambda text: exchanges.scoped(text, random.Random(seed)),
        "item": lambda text: _item(text, _HELD_ITEMS if part else _BUILD_ITEMS),
        "other item": other_item,
        "other state": other_state,
        "opposed": opposed,
        "added": added,
        "quantity": lambda text: _quantity(text, dice),
        "price": lambda text: _price(text, dice),
        "date": lambda text: _date(text, dice),
        "negation": _negation,
        "question": _question,
    }
    found = []
    for kind, make in makers.items():
        said = make(turn.said)
        if said is not None and said != turn.said:
            found.append(Variant(kind, turn, replace(turn, said=said)))
    return [*found, *_calls(turn, dice)]


def _paraphrased(text: str, phrases: tuple[tuple[str, str], ...]) -> str | None:
    changed = 0
    for pattern, other in phrases:
        text, times = re.subn(pattern, other, text)
        changed += times
    return " ".join(text.split(" ")) if changed >= 2 else None


def _item(text: str, items: tuple[tuple[str, str], ...]) -> str | None:
    for one, other in items:
        if re.search(rf"\b{one}\b", text):
            return re.sub(rf"\b{one}\b", other, text)
    return None


def _quantity(text: str, dice: random.Random) -> str | None:
    words = [word for word in _WORDS if re.search(rf"\b{word}\b", text)]
    if words:
        return re.sub(rf"\b{words[0]}\b", _WORDS[words[0]], text, count=1)
    found = list(re.finditer(r"(?<![\w$#:.,/-])(\d{1,3})(?![\w:.,/%-])(?= [a-z])", text))
    if not found:
        return None
    one = dice.choice(found)
    return f"{text[: one.start()]}{int(one[1]) + dice.choice((1, 2, 5))}{text[one.end() :]}"


def _price(text: str, dice: random.Random) -> str | None:
    found = list(re.finditer(r"\$(\d[\d,]*)(\.\d\d)?", text))
    if not found:
        return None
    one = dice.choice(found)
    value = int(one[1].replace(",", "")) + dice.choice((1, 10, -1, 100))
    return f"{text[: one.start()]}${abs(value)}{one[2] or ''}{text[one.end() :]}"


def _date(text: str, dice: random.Random) -> str | None:
    iso = list(re.finditer(r"(\d{4}-\d{2}-)(\d{2})", text))
    if iso:
        one = dice.choice(iso)
        return f"{text[: one.start(2)]}{int(one[2]) % 28 + 1:02}{text[one.end(2) :]}"
    named = list(
        re.finditer(
            r"\b((?:January|February|March|April|May|June|July|August|September|October|November|December) "
            r")(\d{1,2})\b",
            text,
        )
    )
    if not named:
        return None
    one = dice.choice(named)
    return f"{text[: one.start(2)]}{int(one[2]) % 28 + 1}{text[one.end(2) :]}"


def _negation(text: str) -> str | None:
    for pattern, other in (
        (r"\bcannot\b", "can"),
        (r"\bcan't\b", "can"),
        (r"\bis not\b", "is"),
        (r"\bare not\b", "are"),
        (
            r"\bnot "
            r"eligible\b",
            "eligible",
        ),
        (r"\bhas been\b", "has not been"),
        (r"\bhave been\b", "have not been"),
        (r"\bis eligible\b", "is not eligible"),
        (r"\bI can\b", "I cannot"),
        (r"\bwill be\b", "will not be"),
        (r"\bis available\b", "is not available"),
        (
            r"\bdoes "
            r""
            r""
            r"not\b",
            "does",
        ),
    ):
        if re.search(pattern, text):
            return re.sub(pattern, other, text, count=1)
    return None


def _question(text: str) -> str | None:
    if "?" in text or re.search(r"\b[Pp]lease\b", text):
        return None
    parts = re.split(r"(?<=[.!\u201d\"])\s+(?=[A-Z])", text.strip())
    for place in range(len(parts) - 1, -1, -1):
        one = re.match(
            r"(Your|The|This) (.{5,100}?) (has been|is|was|will be|have been) (.+?)[.!][\"\u201d]?$",
            parts[place],
            re.DOTALL,
        )
        if one is not None:
            verb, rest = one[3].split(" ")[0], " ".join(one[3].split(" ")[1:])
            asked = " ".join(f"{verb.capitalize()} {one[1].lower()} {one[2]} {rest} {one[4]}?".split())
            return " ".join([*parts[:place], asked, *parts[place + 1 :]])
    done = re.match(r"I(?:'ve| have) (.+)[.!]$", parts[-1], re.DOTALL)
    return None if done is None else " ".join([*parts[:-1], f"Shall I have {done[1]}?"])


def _calls(turn: AgentTurn, dice: random.Random) -> list[Variant]:
    writes = [place for place, call in enumerate(turn.calls) if call.effect == "write"]
    reads = [place for place, call in enumerate(turn.calls) if call.effect == "read"]
    found: list[Variant] = []
    if writes:
        place = dice.choice(writes)
        found += [Variant("effect", turn, _with(turn, place, None))]
        changed = _changed(turn.calls[place], dice)
        found += [] if changed is None else [Variant("argument", turn, _with(turn, place, changed))]
    elif reads:
        place = dice.choice(reads)
        call = turn.calls[place]
        other = HeardCall(name=f"update_{call.name}", arguments=call.arguments, effect="write")
        found.append(Variant("effect", turn, _with(turn, place, other)))
    if len(turn.calls) > 1:
        calls = list(turn.calls)
        dice.shuffle(calls)
        if calls != list(turn.calls):
            found.append(Variant("reordered", turn, AgentTurn(calls=calls, said=turn.said)))
    return found


def _with(turn: AgentTurn, place: int, call: HeardCall | None) -> AgentTurn:
    calls = list(turn.calls)
    calls[place : place + 1] = [] if call is None else [call]
    return AgentTurn(calls=calls, said=turn.said)


def _changed(call: HeardCall, dice: random.Random) -> HeardCall | None:
    arguments = dict(call.arguments or {})
    names = [
        name
        for name, value in arguments.items()
        if (isinstance(value, str) and 0 < len(value.split()) < 4) or isinstance(value, int)
    ]
    if not names:
        return None
    name = dice.choice(names)
    value = arguments[name]
    arguments[name] = value + 1 if isinstance(value, int) and not isinstance(value, bool) else f"{value}9"
    return HeardCall(name=call.name, arguments=arguments, effect=call.effect)
