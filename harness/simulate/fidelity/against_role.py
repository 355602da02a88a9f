"""Whether a message says of the user what its profile or its plan has otherwise, by words instead of values."""

import re
from itertools import pairwise
from typing import Final

from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.reading_text import lower_case, plain_words
from harness.simulate.meaning.sentences import asks, sentences
from harness.simulate.meaning.words import listed, stem
from harness.simulate.role import Role, texts_by_name

_OWN: Final = re.compile(
    r"\bmy (?P<cue>[a-z][a-z ]{1,30}?) (?:is|was|'s|:) (?P<value>[a-z][a-z' -]{0,40}?)(?=[.,;!?]|$| and\b| but\b)"
)
_LIVES: Final = re.compile(r"\bi (?:live|am|'m|reside) in (?P<value>[a-z][a-z' -]{0,40}?)(?=[.,;!?]|$| and\b| but\b)")
_CALLED: Final = re.compile(
    r"\b(?:(?:i am|i'm) called|ich hei\u00dfe|mein name ist|me llamo|mi nombre es) (?P<value>[a-z][a-z' "
    r"-]{0,40}?)(?=[.,;!?]|$| and\b| but\b)"
)
_PLACES: Final = ("city", "town", "state", "country", "address", "location")
_NO_VALUE: Final = re.compile(
    r"^(?:not|in|on|at|the|a|an|that|this|to|still|already|correct|right|wrong|fine|on file|different|same)\b"
)
_REFUSES: Final = re.compile(
    r"^(?:lehne) (?P<german>[^.]+) ab\b|^(?:rechaza|no aceptes) (?P<spanish>[^.]+)|^(?:refuse|decline|reject|do "
    r"not (?:accept|want|take)|don't (?:accept|want|take))\s+(?P<what>[^.]+)"
)
_ACCEPTS: Final = re.compile(
    r"^(?:yes|yeah|yep|sure|okay|ok|all right|ja|gern|s\u00ed)\b|"
    r"\b(?:please (?:add|include|book|give)|i(?:'d| would) like|i'll take|add)\b"
)
_DENIES: Final = re.compile(
    r"\b(?:no|not|don't|without|never|instead of|n't|remove|cancel|nein|nicht|keine?n?|ohne|sin)\b"
)
_WEIGHTLESS: Final = listed(
    "der die das den dem ein eine einen el la los las un una the a an any of for to with my your it them offer "
    "offers offered"
)
_CHOICES: Final = tuple(
    map(
        listed,
        (
            "small medium large",
            "hot iced cold",
            "window aisle middle",
            "whole skim oat soy almond",
            "red green blue black white yellow pink brown grey gray",
        ),
    )
)
"""Of each, a thing is one alone."""
_LONGEST_REFUSED: Final = 4
"""Words of what a plan refuses: more of them are a condition, and no name of a thing."""


class AgainstRole:
    """The check of one role's messages."""

    def __init__(self, role: Role) -> None:
        self._profile = dict(texts_by_name(role.profile or {}))
        self._places = [value for key, value in self._profile.items() if key.split()[-1] in _PLACES]
        self._plan = set(pairwise(plain_words(f"{role.opening} . {role.plan}").split()))
        self._refused = [words for one in sentences(role.plan) if (words := _refused(one))]

    def found(self, message: str, before: Before) -> str | None:
        """What a message contradicts; None where it contradicts nothing."""
        text, heard = lower_case(message), lower_case("\n".join(before.replies))
        return self._of_profile(text, heard) or self._takes_refused(text, before) or self._of_plan(text)

    def _of_profile(self, text: str, heard: str) -> str | None:
        for match in _OWN.finditer(text):
            known = self._profile.get(match["cue"].strip())
            if known is not None and _is_another(match["value"], [known]) and match["value"] not in heard:
                return f"the profile has {known!r} as {match['cue']}, the user says {match['value']!r}"
        found = _LIVES.search(text)
        if found is not None and self._places and _is_another(found["value"], self._places):
            return f"the profile has {self._places}, the user says that it is in {found['value']!r}"
        found, name = _CALLED.search(text), self._profile.get("name")
        if found is not None and name is not None and _is_another(found["value"], [name]):
            return f"the profile has {name!r} as name, the user says {found['value']!r}"
        return None

    def _takes_refused(self, text: str, before: Before) -> str | None:
        if not _ACCEPTS.search(text) or _DENIES.search(text):
            return None
        said = set(map(stem, plain_words(text).split()))
        offer = next((one for one in reversed(sentences(before.last)) if asks(one)), "")
        offered = set(map(stem, plain_words(offer).split()))
        is_bare = len(said) <= 2
        for words in self._refused:
            if words <= said or (is_bare and offer == sentences(before.last)[-1] and words <= offered):
                return f"the plan refuses {' '.join(sorted(words))!r}, the user accepts it"
        return None

    def _of_plan(self, text: str) -> str | None:
        if _DENIES.search(text):
            return None
        for word, thing in pairwise(plain_words(text).split()):
            if (word, thing) in self._plan:
                continue
            planned = {other for other, same in self._plan if same == thing and _are_choices(other, word)}
            if planned:
                return f"the plan has {sorted(planned)} {thing}, the user says {word!r}"
        return None


def _are_choices(one: str, other: str) -> bool:
    return one != other and any({one, other} <= choices for choices in _CHOICES)


def _is_another(value: str, known: list[str]) -> bool:
    words = set(plain_words(value).split())
    own = {word for one in known for word in plain_words(one).split()}
    return bool(words) and _NO_VALUE.match(value.strip()) is None and words.isdisjoint(own)


def _refused(sentence: str) -> frozenset[str]:
    found = _REFUSES.match(lower_case(sentence))
    if found is None:
        return frozenset()
    what = found["what"] or found["german"] or found["spanish"]
    if re.search(r"\b(?:unless|if|but|except|until|other than|before|any|wenn|au\u00dfer|bis|si|salvo|hasta)\b", what):
        return frozenset()
    words = [word for word in plain_words(what).split() if word not in _WEIGHTLESS]
    return frozenset(map(stem, words)) if 0 < len(words) <= _LONGEST_REFUSED else frozenset()
