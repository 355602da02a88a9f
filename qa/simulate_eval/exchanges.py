"""Changes that leave every value in its place in a list of values: what belongs to what, and words of scope.

`exchanged`: two values of one kind change places. `regrouped`: the items under two headings change places. `scope`: how
much, how sure, when. Exchanges within a list of equals change nothing, and are left out.
"""

import random
import re
from itertools import pairwise
from typing import Final

_MONTH: Final = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_KINDS: Final = (
    r"\$\d[\d,]*(?:\.\d\d)?\b",
    r"\b\d{4}-\d\d-\d\d\b",
    rf"\b{_MONTH} \d{{1,2}}\b",
    r"\b\d{1,2}:\d\d(?: ?[AP]M)?\b",
    r"\b(?:HAT\d{3}|#W\d{7}|\d{10})\b",
    r"(?<![\w$#:.,/-])\d{1,2}(?= [a-z])",
    r"(?<=: )\d{1,3}(?=\s*\n)",
    r"(?<=\()[A-Z]{3}(?=\))",
)
_SCOPE: Final = (
    (r"\btoday\b", "tomorrow"),
    (r"\bmorning\b", "evening"),
    (r"\b([Aa])ll (?=of |the |your |items|flights|segments|passengers)", "some "),
    (r"\bmust\b", "may"),
    (r"\bwithin (?=\d|the)", "after "),
    (r"\bonly ", ""),
    (r"\bbefore (?=[a-z]+ing\b|\d)", "after "),
    (r"\bup to (?=\d)", "at least "),
    (r"\bat least (?=\w)", "at most "),
    (r"\b[Ee]ach\b", "some"),
    (r"\bfirst\b(?! name)", "last"),
    (r"\b(?:several|multiple)\b", "a few"),
    (r"\balways\b", "sometimes"),
    (r"\buntil\b", "before"),
    (r"\bunless\b", "after"),
    (r"\bmore than (?=[\d$])", "less than "),
)


def exchanged(text: str, dice: random.Random) -> str | None:
    """The text with two values of one kind exchanged; None where it has no two that tell anything apart."""
    kinds = list(_KINDS)
    dice.shuffle(kinds)
    for kind in kinds:
        found = list(re.finditer(kind, text))
        pairs = [
            (one, other)
            for place, one in enumerate(found)
            for other in found[place + 1 :]
            if one[0].removesuffix(".00") != other[0].removesuffix(".00") and not _are_listed(text, kind, one, other)
        ]
        if pairs:
            one, other = dice.choice(pairs)
            between = text[one.end() : other.start()]
            return f"{text[: one.start()]}{other[0]}{between}{one[0]}{text[other.end() :]}"
    return None


def regrouped(text: str) -> str | None:
    """The text with the first differing items under two headings exchanged."""
    lines = text.split("\n")
    blocks = [place for place, line in enumerate(lines) if re.match(r"(?:\d{1,2}[.)]|#+|\*\*)\s*\S", line)]
    items = {
        block: [
            place
            for place in range(block + 1, next((other for other in blocks if other > block), len(lines)))
            if re.match(r"\s*[-*] \S", lines[place])
        ]
        for block in blocks
    }
    filled = [block for block in blocks if items[block]]
    for first, second in pairwise(filled):
        for one, other in zip(items[first], items[second], strict=False):
            if _key(lines[one]) == _key(lines[other]) != "" and lines[one].strip() != lines[other].strip():
                lines[one], lines[other] = lines[other], lines[one]
                return "\n".join(lines)
    return None


def scoped(text: str, dice: random.Random) -> str | None:
    """The text with one word of scope changed or left out."""
    pairs = list(_SCOPE)
    dice.shuffle(pairs)
    for one, other in pairs:
        if re.search(one, text):
            return re.sub(one, other, text, count=1)
    return None


def reordered(text: str, dice: random.Random) -> str | None:
    """The items of one list in another order, each with what stands under it; or the sentences of a paragraph that
    refer to nothing before them.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    for place, line in enumerate(lines):
        found = re.match(r"(\s*)[-*] ", line)
        if found is None:
            continue
        last = place
        while last < len(lines) and _depth(lines[last]) >= len(found[1]) and _is_of_list(lines[last], found[1]):
            last += 1
        items: list[list[str]] = []
        for one in lines[place:last]:
            if _depth(one) == len(found[1]) or not items:
                items.append([])
            items[-1].append(one)
        if len(items) >= 3:
            dice.shuffle(items)
            return "\n".join([*lines[:place], *(one for item in items for one in item), *lines[last:]])
    parts = re.split(r"(?<=[.!])\s+(?=[A-Z])", text)
    head = parts[:-1]
    if (
        "\n" in text
        or text.startswith("{")  # a document, whose lines stand in one string
        or len(parts) < 3
        or any(re.match(r"(?:It|This|That|They|These|Those|However|Also)\b", one) for one in head)
    ):
        return None
    dice.shuffle(head)
    return " ".join([*head, parts[-1]])


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_of_list(line: str, indent: str) -> bool:
    return _depth(line) > len(indent) or line.startswith((f"{indent}- ", f"{indent}* "))


def _key(line: str) -> str:
    found = re.match(r"\s*[-*] \**([A-Za-z ]+?)\**:", line)
    return "" if found is None else found[1]


def _are_listed(text: str, kind: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether nothing but values of their kind stands between two values, or the same words stand around both."""
    between = re.sub(kind, "", text[one.end() : other.start()])
    if not re.sub(r"\b(?:and|or)\b|[\s,/&()+\"-]", "", between):
        return True
    return _around(text, one) == _around(text, other)


def _around(text: str, found: re.Match[str]) -> tuple[str, str]:
    return text[max(0, found.start() - 60) : found.start()], text[found.end() : found.end() + 60]
