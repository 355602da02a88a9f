"""A message as clauses, each with what it stands under: the heading or the list item above it.

1. Shirt            "price $5" stands under "shirt"
   - Price: $5
It arrives on May 5.    "arrives may 5" stands under the sentence before, which `it` refers to
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.simulate.meaning.sentences import LONGEST
from harness.values import JsonValue

_ITEM: Final = re.compile(
    r"(?P<indent>[ \t]*)(?P<mark>[-•+]|\*(?!\*)|\d{1,2}[.)]|\(?[a-zA-Z][.)]|#{1,6}|>)?[ \t]*(?P<text>.*)"
)
_MARKUP: Final = re.compile(r"[*_`#>|]+")
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|;\s")
_CLAUSE: Final = re.compile(r",\s+|\s+[-\u2013\u2014|]+\s+|\s*(?=\()|\)[,.]?\s*|\s+(?=(?:and|or|but|while|whereas)\s)")
_KEY: Final = re.compile(r":\s+")
_APPOSED: Final = re.compile(r"(?<=[a-z]) \(([\w#$.-]+)\)")
"""`Boston (BOS)`: the word in brackets stays with the one before it."""
_DECODER: Final = json.JSONDecoder()
_RANGE: Final = re.compile(
    r"\s*(?:→|->|=>|⇒)\s*|(?<=\d)\s*[\u2013\u2014]\s*(?=[$€£]?\d)|(?<=\d)\s+-\s+(?=[$€£]?\d)|(?<=:\d\d)-(?=\d)|(?<=[ap]m)\s*[\u2013\u2014-]\s*(?=\d)"
)
_SUM: Final = re.compile(r"\s=\s")
_ANAPHORIC: Final = re.compile(r"(?:it|its|this|that|these|those|they|their|he|she|his|her|which|there)\b")
_LETTERED: Final = re.compile(
    r"\b(option|choice|plan|group|zone|gate|terminal|row|part|section|item|version) ([a-z])\b"
)
"""Names of one letter, which are no words by themselves."""
_IS_ABOUT_THE_LAST: Final = re.compile(rf"\(|(?:and |but )?(?:{_ANAPHORIC.pattern})")
_MEMBERS: Final = 12
"""Members of an object that tell which one it is."""
_PROSE: Final = 80
"""Characters of a member that is a text of its own."""
_HEADING_WORDS: Final = 6
_LABEL: Final = re.compile(r"\*\*[^*]+(?:\*\*:|:\*\*)\s")
"""`**Flight 12**: Boston to Denver` is about what the items under it belong to."""


@dataclass(frozen=True)
class Clause:
    """One clause, in lower case."""

    text: str
    under: str = ""
    """The texts above it that say what it is about."""
    beside: str = ""
    """The other clauses of its sentence, or of its item of a list."""
    continues: bool = False
    """Whether it follows another clause of the same sentence."""


def is_damaged_document(text: str) -> bool:
    """Whether a message begins as a JSON document does and is none, so that what belongs together is not known."""
    text = text[:LONGEST].lstrip()
    if text[:1] not in ("{", "["):
        return False
    try:
        _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return False


def clauses_of(text: str) -> list[Clause]:
    """The clauses of a message, in order; a JSON document, with which it begins, is read as its members."""
    text = text[:LONGEST]
    if text.lstrip()[:1] in ("{", "["):
        try:
            document, end = _DECODER.raw_decode(text.lstrip())
            return [*_of_document(document, ""), *_of_lines(text.lstrip()[end:], "")]
        except (ValueError, RecursionError):
            text = text.replace("\\n", "\n").replace('\\"', '"')
    return _of_lines(text, "")


def _of_document(value: JsonValue, under: str) -> Iterator[Clause]:
    """The members of a document; each stands under its name, and beside the other members of its object."""
    match value:
        case dict():
            single = {name: str(one) for name, one in value.items() if not isinstance(one, dict | list)}
            for name, member in value.items():
                said = name.replace("_", " ").lower()
                beside = " ; ".join(single[other] for other in [*single][:_MEMBERS] if other != name)
                if name not in single:
                    yield from _of_document(member, f"{under} {said} {beside}")
                elif len(single[name]) > _PROSE:
                    yield from _of_lines(single[name], said)
                else:
                    text = single[name].replace("_", " ").lower()
                    yield Clause(text=text, under=f"{under} {said}", beside=beside.lower())
        case list():
            for member in value:
                yield from _of_document(member, under)
        case _:
            yield from _of_lines(str(value), under)


def _of_lines(text: str, under: str) -> list[Clause]:
    found: list[Clause] = []
    above: list[tuple[tuple[int, int], str]] = []
    for line in _LETTERED.sub(r"\1 \2\2", text.lower().replace("\u2019", "'")).split("\n"):
        match = _ITEM.match(line)
        if match is None or not match["text"].strip():
            continue
        plain = " ".join(_MARKUP.sub(" ", match["text"]).split())
        rank = (len(match["indent"].expandtabs(4)), _rank(match["mark"] or "", match["text"].strip(), plain))
        if rank[1] == _PARAGRAPH and not (above and above[-1][0][1] <= _HEADING):
            above.clear()
        while above and above[-1][0] >= rank:
            above.pop()
        found += _of_line(plain, " ".join((under, *(one for _, one in above))), is_item=rank[1] != _PARAGRAPH)
        if rank[1] != _PARAGRAPH:
            above.append((rank, plain))
    return found


_HEADING, _LABELLED, _NUMBERED, _BULLET, _PARAGRAPH = 1, 2, 3, 4, 5


def _rank(mark: str, text: str, plain: str) -> int:
    if mark.startswith("#"):
        return 0
    if mark and mark not in "-*•+>":
        return _NUMBERED
    if mark:
        return _BULLET
    is_bold = text.startswith("**") and text.rstrip(":").endswith("**")
    is_short = len(plain.split()) <= _HEADING_WORDS and plain[-1:].isalpha()
    if is_bold or is_short or plain.endswith(":"):
        return _HEADING
    return _LABELLED if _LABEL.match(text) else _PARAGRAPH


def _of_line(plain: str, under: str, *, is_item: bool) -> list[Clause]:
    found: list[Clause] = []
    before = ""
    ranges = _SUM.sub(" total ", _RANGE.sub(" to ", plain))
    for sentence in _SENTENCE.split(ranges):
        *keys, rest = _KEY.split(sentence)
        about = " ".join((under, before, *keys) if _ANAPHORIC.match(sentence) else (under, *keys))
        found += _parts_of(rest, about, ranges if is_item else rest)
        for place, key in enumerate(keys):
            if len(key.split()) > _HEADING_WORDS:
                found += _parts_of(key, " ".join((under, *keys[:place])), ranges)
            elif any(map(str.isdigit, key)):
                found.append(Clause(text=key, beside=ranges))
        before = sentence
    return found


def _parts_of(text: str, about: str, beside: str) -> list[Clause]:
    """The clauses of a sentence, or of what stands before its colon where that is a sentence by itself."""
    parts = [part for part in _CLAUSE.split(_APPOSED.sub(r" \1", text)) if part and part.strip()]
    found = []
    for number, part in enumerate(parts):
        own = f"{about} {parts[number - 1]}" if number and _IS_ABOUT_THE_LAST.match(part) else about
        found.append(Clause(text=part, under=own, beside="" if beside == part else beside, continues=number > 0))
    return found
