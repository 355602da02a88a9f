"""Mechanical changes of an agent's turn: 31 classes that change what a user is told, and 8 that change nothing.

Each change is made if the turn has what it is about, else there is none.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from harness.gateway.user import HeardCall
from harness.users.comparison import AgentTurn

Change = Callable[[AgentTurn], AgentTurn | None]


def _words(*pairs: tuple[str, str]) -> Change:
    """The first of the expressions that the text has, replaced at its first place; and each pair the other way."""

    def change(turn: AgentTurn) -> AgentTurn | None:
        for pattern, other in pairs:
            text, many = re.subn(pattern, other, turn.said, count=1)
            if many and text != turn.said:
                return replace(turn, said=text)
        return None

    return change


def _digit(turn: AgentTurn) -> AgentTurn | None:
    return _replaced(turn, r"\d", lambda found: str((int(found[0]) + 1) % 10))


def _replaced(turn: AgentTurn, pattern: str, other: Callable[[re.Match[str]], str]) -> AgentTurn | None:
    text = re.sub(pattern, other, turn.said, count=1)
    return None if text == turn.said else replace(turn, said=text)


def _swapped(pattern: str) -> Change:
    """The first two different matches exchanged."""

    def change(turn: AgentTurn) -> AgentTurn | None:
        found = list(re.finditer(pattern, turn.said))
        pairs = ((one, two) for at, one in enumerate(found) for two in found[at + 1 :] if one[0] != two[0])
        pair = next(pairs, None)
        if pair is None:
            return None
        one, two = pair
        text = turn.said
        said = text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]
        return replace(turn, said=said)

    return change


def _question_dropped(turn: AgentTurn) -> AgentTurn | None:
    parts = re.split(r"(?<=[.!?])\s+", turn.said)
    left = [one for one in parts if not one.endswith("?")]
    return None if len(left) in (0, len(parts)) else replace(turn, said=" ".join(left))


def _sentence_dropped(turn: AgentTurn) -> AgentTurn | None:
    parts = re.split(r"(?<=[.!?])\s+", turn.said)
    return None if len(parts) < 2 else replace(turn, said=" ".join(parts[1:]))


def _calls(turn: AgentTurn, *calls: HeardCall) -> AgentTurn:
    return replace(turn, calls=calls)


def _call_dropped(turn: AgentTurn) -> AgentTurn | None:
    return _calls(turn, *turn.calls[1:]) if turn.calls else None


def _call_twice(turn: AgentTurn) -> AgentTurn | None:
    return _calls(turn, turn.calls[0], *turn.calls) if turn.calls else None


def _of_first_call(**other: object) -> Change:
    def change(turn: AgentTurn) -> AgentTurn | None:
        if not turn.calls:
            return None
        changed = turn.calls[0].model_copy(update=other)
        return None if changed == turn.calls[0] else _calls(turn, changed, *turn.calls[1:])

    return change


def _argument(turn: AgentTurn) -> AgentTurn | None:
    for place, call in enumerate(turn.calls):
        if call.arguments:
            name = next(iter(call.arguments))
            changed = call.model_copy(update={"arguments": {**call.arguments, name: f"{call.arguments[name]}x"}})
            return _calls(turn, *turn.calls[:place], changed, *turn.calls[place + 1 :])
    return None


def _writes_reordered(turn: AgentTurn) -> AgentTurn | None:
    writes = [place for place, call in enumerate(turn.calls) if call.effect == "write"]
    pair = next(((a, b) for a in writes for b in writes if a < b and turn.calls[a] != turn.calls[b]), None)
    if pair is None:
        return None
    calls = list(turn.calls)
    calls[pair[0]], calls[pair[1]] = calls[pair[1]], calls[pair[0]]
    return _calls(turn, *calls)


_NAME: Final = r"(?<=[a-z] )[A-Z][a-z]{2,}\b"
CHANGED: Final[dict[str, Change]] = {
    "currency": _words((r"\$", "€"), (r"€", "$"), (r"\bUSD\b", "EUR")),
    "tense": _words((r"\b(?:has|have) been\b", "will be"), (r"\bwill be\b", "was"), (r"\bwas\b", "will be")),
    "one way": _words((r"\b[Oo]ne[- ]way\b", "round trip"), (r"\b[Rr]ound[- ]trip\b", "one-way")),
    "per passenger": _words(
        (r"\b(?:per|each) (?:passenger|person|item)\b", "in total"), (r"\bin total\b", "per person")
    ),
    "question dropped": _question_dropped,
    "question stated": _words((r"\?", ".")),
    "statement asked": _words((r"\.(?=\s*$)", "?"), (r"\.(?=\s)", "?")),
    "negation": _words((r"\b(is|are|was|can|will|have|has|do)\b(?! not)", r"\1 not"), (r"\b(?:not|no) ", "")),
    "digit": _digit,
    "digit dropped": lambda turn: _replaced(turn, r"(?<=\d)\d", lambda _: ""),
    "decimal point": _words((r"(\d)\.(\d)", r"\1\2")),
    "thousands": _words((r"(\d),(\d{3})", r"\1.\2")),
    "minus": _words((r"(?<![\w-])-(?=[\d$])", ""), (r"(?<=\s)(?=\$?\d)", "-")),
    "percent": _words((r"(\d) ?%", r"\1"), (r"(\d)(?=\s|$)", r"\1%")),
    "power": _words((r"(\d)(?=\s|$|\.)", "\\1\u00b2")),
    "unit": _words((r"\bkg\b", "lb"), (r"\b(?:km|kilomet(?:er|re)s?)\b", "miles"), (r"\bhours?\b", "days")),
    "time of day": _words((r"\b[Aa]\.?[Mm]\.?(?=\W|$)", "pm"), (r"\b[Pp]\.?[Mm]\.?(?=\W|$)", "am")),
    "date": _words((r"\bMay\b", "June"), (r"\b(\d{4})-(\d\d)-(\d\d)\b", r"\1-\3-\2"), (r"\bMonday\b", "Friday")),
    "name": _words((_NAME, "Zebedee")),
    "item": _words((r"\b(?:order|flight|reservation|coffee|latte|account)\b", "parcel")),
    "values exchanged": _swapped(r"\$?\d[\d.,]*\d|\$?\d"),
    "names exchanged": _swapped(_NAME),
    "sentence dropped": _sentence_dropped,
    "sentence added": lambda turn: replace(turn, said=f"{turn.said} A muffin was added, too."),
    "no, refunds": _words((r"\b(No|Yes|Sure|Sorry|However)[,.!] ", r"\1 ")),
    "scope": _words((r"\ball\b", "some"), (r"\bonly\b", ""), (r"\bbefore\b", "after"), (r"\bany\b", "every")),
    "call dropped": _call_dropped,
    "call twice": _call_twice,
    "argument": _argument,
    "failed": _of_first_call(failed=True),
    "writes reordered": _writes_reordered,
}


def _white_space(turn: AgentTurn) -> AgentTurn:
    return replace(turn, said="  " + turn.said.replace(" ", "\u00a0 ").replace("\n", "\n\n") + "\n")


def _wide(turn: AgentTurn) -> AgentTurn:
    wide = {ord(one): chr(ord(one) + 0xFEE0) for one in "abcdefghijklmnopqrstuvwxyz$?%"}
    return replace(turn, said=turn.said.translate(wide))


def _arguments_reordered(turn: AgentTurn) -> AgentTurn:
    return _calls(
        turn,
        *(
            call.model_copy(update={"arguments": call.arguments and dict(reversed([*call.arguments.items()]))})
            for call in turn.calls
        ),
    )


UNCHANGED: Final[dict[str, Change]] = {
    "white space": _white_space,
    "upper case": lambda turn: replace(turn, said=turn.said.replace("ß", "ss").upper()),
    "full width": _wide,
    "quotes": lambda turn: replace(turn, said=turn.said.replace("'", "\u2019").replace('"', "\u201c")),
    "dashes": lambda turn: replace(turn, said=turn.said.replace("-", "\u2013")),
    "marks": lambda turn: replace(turn, said=re.sub(r"(?<=\w)[.!](?= |$)", "!!", turn.said)),
    "end": lambda turn: replace(turn, said=turn.said.rstrip(" .!\n")),
    "arguments": _arguments_reordered,
}


def changes(
    turns: list[AgentTurn], classes: dict[str, Change], a_class: int
) -> Iterator[tuple[str, AgentTurn, AgentTurn]]:
    """At most `a_class` changed turns of each class, from all over the turns."""
    for name, change in classes.items():
        made = 0
        for turn in random.Random(name).sample(turns, len(turns)):
            changed = change(turn) if made < a_class else None
            if changed is not None:
                made += 1
                yield name, turn, changed
