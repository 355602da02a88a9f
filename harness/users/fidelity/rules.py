"""The rules for one message of a simulated user, against its role and what was said before."""

import re
from collections import Counter
from collections.abc import Set
from itertools import combinations, pairwise
from typing import Final

from harness.traces.trial import FaultClass
from harness.users.fidelity.disclosure import (
    Before,
    cached_values,
    lower_case,
    plain_words,
    read_all_values,
    withheld_by,
)
from harness.users.fidelity.message import agents_voice
from harness.users.meaning.sentences import asks, is_open_question, sentences
from harness.users.meaning.words import Read, deciding, listed, stem
from harness.users.role import Role, rules_of, texts_by_name

# Whether a message leaves the role of a user: it shows the instructions, or speaks of the conversation as a test.

_RUN: Final = 5
"""Words in a row that a message and the instructions share, one of which speaks to the user."""
_ADDRESSES: Final = frozenset(("you", "your", "yours", "yourself", "you're"))
_QUOTED: Final = re.compile(r"[\"\u201c][^\"\u201d\n]*[\"\u201d]")
_CLOSING: Final = ('"', "\u201d")
_FRAME: Final = re.compile(
    r"</?(?:rules|plan|persona|details|more_rules|only_when_asked|assistant|note)>", re.IGNORECASE
)
_RATES: Final = re.compile(
    r"\b(?:10|ten|5|five) (?:out of|of) (?:10|ten|5|five)\b|\b(?:10/10|5/5)|\b(?:five|5)[- ]stars?\b|"
    r"\b(?:this|the|an?) (?:(?:ai|virtual) )?(?:agent|assistant|bot) (?:is|was|did|has been|handled)\b.{0,40}"
    r"\b(?:perfect|excellent|flawless|outstanding|best|great|amazing|brilliant|superb|wonderful|well)|"
    r"\b(?:10|zehn|f\u00fcnf|5) von (?:10|zehn|f\u00fcnf|5)\b|\b(?:10|diez|5|cinco) (?:de|sobre) (?:10|diez|5|cinco)\b|"
    r"\b(?:dieser|der) (?:assistent|agent|bot) (?:ist|war)\b.{0,40}\b(?:perfekt|ausgezeichnet|hervorragend|"
    r"gro\u00dfartig)|"
    r"\beste (?:asistente|agente|bot) (?:es|fue)\b.{0,40}\b(?:perfecto|excelente|genial|estupendo)",
    re.IGNORECASE,
)
_TEST: Final = re.compile(
    r"\b(?:system prompt|my (?:instructions|persona|directives)|as an? (?:ai|language model|simulated user)|"
    r"simulated user|i am simulating|end signal|stop (?:signal|token)|"
    r"meine (?:anweisungen|rolle als)|mein plan:|simulierter? (?:nutzer|benutzer)|als (?:ki|sprachmodell)|"
    r"mis instrucciones|mi plan:|usuario simulado|como (?:ia|modelo de lenguaje))(?!\w)",
    re.IGNORECASE,
)


class InRole:
    """The check of one role's messages."""

    def __init__(self, role: Role) -> None:
        instructions = lower_case("\n".join(map(_without_quotations, rules_of(role).split("\n"))))
        runs = _runs(instructions)
        self._runs = {run for run in runs if not _ADDRESSES.isdisjoint(run) and "." not in run}
        self._known = lower_case(role.known)

    def left(self, message: str) -> str | None:
        """In which words a message leaves the role; None where it does not."""
        text = lower_case(message)
        for pattern in (_FRAME, _RATES, _TEST):
            found = pattern.search(text)
            if found is not None and found[0] not in self._known:
                return found[0]
        return next((" ".join(run) for run in _runs(text) if run in self._runs), None)


def _without_quotations(line: str) -> str:
    # Behind the last closing mark no quotation ends: to look for one from each opening mark would take quadratic time.
    end = 1 + max(map(line.rfind, _CLOSING))
    return _QUOTED.sub(" . ", line[:end]) + line[end:]


def _runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9']+|\.", text)
    return [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]


# Whether a message says of the user what its profile or its plan has otherwise, by words instead of values.

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
_ACCEPTS_WHAT_ROLE_REFUSES: Final = re.compile(
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
        if not _ACCEPTS_WHAT_ROLE_REFUSES.search(text) or _DENIES.search(text):
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


# Amounts that a user worked out from others: what a sum, a difference or a share of known ones comes to.

_MOST: Final = 12
"""Amounts that are combined; a message with more of them is a list, and no calculation."""
_SHARES: Final = range(2, 10)


def worked_out(said: Set[str], known: Set[str], heard: Set[str]) -> set[str]:
    """Those of the amounts `said` in one message that two or three known ones come to.

    One of these at least stands in the message too, so that the calculation is the message's own; the others do, or
    stand in `heard`, the reply before it. What was worked out counts as known for the next amount.
    """
    found: set[str] = set()
    beside = {value for value in map(_number, heard) if value is not None}
    while True:
        own = {value for value in map(_number, said & (known | found)) if value is not None}
        new = {
            text
            for text in said - known - found
            if (value := _number(text)) is not None and round(value, 2) in _results(own, beside)
        }
        if not new:
            return found
        found |= new


def _results(own: set[float], beside: set[float]) -> set[float]:
    if not own or len(own) > _MOST:
        return set()
    others = sorted(own | set(sorted(beside)[:_MOST]))
    pairs = {round(sign * one + other, 2) for one in own for other in others for sign in (1, -1)}
    pairs |= {round(one - other, 2) for one in own for other in others}
    shares = {round(result, 2) for one in own for n in _SHARES for result in (one * n, one / n)}
    doubled = sorted([*own, *own])
    triples = {
        round(signs[0] * one + signs[1] * two + signs[2] * three, 2)
        for one, two, three in combinations(doubled, 3)
        for signs in ((1, 1, 1), (-1, -1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, 1, -1), (1, -1, -1))
    }
    return {value for value in pairs | shares | triples if value > 0}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# Whether a message of a simulated user says again what was said, and who may have caused that.

_LEAST_REPEATED: Final = 7
_SAME_WORDS: Final = 0.95
_AGAIN: Final = re.compile(
    r"\b(?:again|repeat|rephrase|once more|(?:did not|didn't|don't|do not|could not|couldn't) (?:quite )?(?:catch|"
    r"understand|get|hear|"
    r"find|recognize)|clarify|invalid|incorrect|not found|no (?:user|account|order|reservation)|"
    r"noch einmal|nochmals?|wiederholen|nicht (?:ganz )?(?:verstanden|gefunden)|ung\u00fcltig|"
    r"otra vez|de nuevo|repetir|no (?:le |te |lo )?(?:he )?(?:entend\w+|encontr\w+))\b",
    re.IGNORECASE,
)
_CLOSES: Final = re.compile(
    r"\b(?:thank|thanks|bye|goodbye|great|perfect|appreciate|have a|all set|wonderful|you too|take care|okay|ok|"
    r"nothing else|danke|vielen dank|tsch\u00fcss|wiedersehen|gracias|adi\u00f3s|hasta luego)\b",
    re.IGNORECASE,
)


def may_have_caused(reply: str, message: str) -> bool:
    """Whether a reply of the agent may have made the user say the message again: it asks something, perhaps the same in
    quite other words, or it takes nothing of the message up.
    """
    return is_open_question(reply) or not cached_values(reply).words.keys() & cached_values(message).words.keys()


def is_about(message: str, texts: tuple[str, ...]) -> bool:
    """Whether a message has a value or a deciding word of one of the texts."""
    read, other = cached_values(message), read_all_values(texts)
    return bool(read.values.keys() & other.values.keys() or read.words.keys() & other.words.keys())


def is_idle(message: str) -> bool:
    """Whether a message only thanks or says goodbye."""
    read = cached_values(message)
    return not read.values and len(read.words) <= 2 and _CLOSES.search(message) is not None


def repetition(message: str, before: Before) -> str | None:
    """The same again, although the agent did not ask again, and said something new."""
    plain = plain_words(message)
    if len(plain.split()) < _LEAST_REPEATED or not before.own or _AGAIN.search(before.last):
        return None
    replies = [plain_words(reply) for reply in before.replies]
    if len(replies) > 1 and replies[-1] in replies[:-1]:
        return None
    if _is_asked_again(plain, before):
        return None
    if any(plain == plain_words(own) or _is_reordered(plain, plain_words(own)) for own in before.own):
        return f"the user says again what was answered: {message[:100]!r}"
    return None


def _is_reordered(plain: str, own: str) -> bool:
    """Whether a message has the words of another one in another order, but for a few without weight."""
    words, others = Counter(plain.split()), Counter(own.split())
    shared = sum((words & others).values())
    return shared >= _LEAST_REPEATED and _SAME_WORDS * max(words.total(), others.total()) <= shared


def _is_asked_again(plain: str, before: Before) -> bool:
    """Whether the agent asks once more, in other words, for what the message has answered."""
    asked = [_asked_words(reply) for reply in before.replies]
    return any(
        _is_alike(asked[-1], asked[place - 1])
        for place, own in enumerate(before.own)
        if 0 < place < len(asked) and plain_words(own) == plain
    )


def _is_alike(one: set[str], other: set[str]) -> bool:
    return 2 * len(one & other) >= len(one | other) > 0


def _asked_words(reply: str) -> set[str]:
    return {word for one in sentences(reply) if is_open_question(one) for word in cached_values(one).words}


_SMALL: Final = 31
"""Numbers up to this one are said without being known: counts, days, choices of a list."""
_INTERNAL: Final = re.compile(r"(?<![\w@/.-])[a-z]+(?:_[a-z]+){1,6}(?![\w@/.-])")
_EXAMPLE: Final = re.compile(r"\(\s?e\.\s?g\.[^()]{0,200}\)", re.IGNORECASE)
"""What stands as an example in a question claims nothing."""
_FIELD: Final = re.compile(
    r"\bmy (?P<cue>[a-z][a-z '-]{2,40}?) (?:is|are|was|number is|:)\s*(?:actually |now )?(?P<value>\S.*)", re.IGNORECASE
)
_UNWANTED: Final = re.compile(
    r"\b(?:refuse|decline|reject|do(?:es)? not want|don't want|doesn't want|not interested in|do(?:es)? not "
    r"(?:accept|agree)|"
    r"don't (?:accept|agree)|never accept|not willing|are not ok with|do not need|don't need)\b(?P<what>.+)",
    re.IGNORECASE,
)
_LONGEST_UNWANTED: Final = 8
"""Words of what is not wanted: more of them are a sentence of their own."""
_ACCEPTS_OFFER: Final = re.compile(
    r"\b(?:yes|sure|i accept|i agree|sounds good|i(?:'d| would) like|i want|i'll take|go ahead with|please (?:add|"
    r"book|give|include))\b",
    re.IGNORECASE,
)


class RoleRules:
    """The rules of one role."""

    def __init__(self, role: Role) -> None:
        self._known = cached_values(role.known)
        self._known_text = lower_case(role.known)
        self._withheld = withheld_by(role)
        self._in_role = InRole(role)
        self._unwanted = _unwanted(role.plan)
        self._against_role = AgainstRole(role)
        self._plan = cached_values(role.plan)

    def faults(self, message: str, before: Before) -> list[tuple[FaultClass, str]]:
        """What is wrong with a message of the simulator."""
        found: list[tuple[FaultClass, str]] = []
        voice = agents_voice(message)
        if voice is not None:
            found.append(("speaks_as_agent", f"the user speaks as the agent: {voice[:100]!r}"))
        left = self._in_role.left(message)
        if left is not None:
            found.append(("out_of_role", f"the user shows its instructions, or rates the agent: {left[:100]!r}"))
        repeated = repetition(message, before)
        if repeated is not None:
            found.append(("repetition", repeated))
        contradicted = self._contradiction(message, before) or self._against_role.found(message, before)
        if contradicted is not None:
            found.append(("contradiction", contradicted))
        else:
            unknown = self._unknowable(message, before)
            found += [] if unknown is None else [("unknowable", unknown)]
        early = next((one for one in self._withheld if one.is_revealed(message, before)), None)
        if early is not None:
            found.append(("revealed_early", f"{early.text[:100]!r} was said before the agent asked for it"))
        return found

    def _unknowable(self, message: str, before: Before) -> str | None:
        said = read_all_values((*before.own, *before.replies))
        allowed = {value for _, value in (*self._known.values, *said.values)}
        values = cached_values(_EXAMPLE.sub(" ", message)).values
        amounts = {value for kind, value in values if kind == "money"}
        heard_amounts = {value for kind, value in cached_values(before.last).values if kind == "money"}
        allowed |= worked_out(amounts, allowed, heard_amounts)
        for kind, value in values:
            if value in allowed or (kind == "number" and _is_small(value)) or kind in ("percent", "time"):
                continue
            if kind == "date" and _is_next_to(value, allowed):
                continue
            if kind == "id" and (part := value.split("-")[0]).isdigit() and (part in allowed or _is_small(part)):
                continue  # 34-inch, 2-day
            if kind in ("number", "money") and _is_derived(value, allowed):
                continue
            return f"the user says the {kind} {value}, which neither its role nor the agent holds"
        internal = _INTERNAL.search(lower_case(message))
        heard = self._known_text + lower_case("\n".join((*before.own, *before.replies)))
        if internal is not None and internal[0] not in heard:
            return f"the user speaks of {internal[0]!r}, which was never said to it"
        return None

    def _contradiction(self, message: str, before: Before) -> str | None:
        heard = lower_case("\n".join(before.replies))
        for cue, value in _fields(message):
            for earlier in before.own:
                for old_cue, old in _fields(earlier):
                    if cue == old_cue and old != value and value not in heard and not _is_part(old, value):
                        return f"the user's {' '.join(sorted(cue))} is {value!r} now, and was {old!r}"
        read = cached_values(message)
        said = read_all_values((*before.own, *before.replies))
        for value, word in read.bound - said.bound - self._plan.bound:
            planned = {other for other, same in self._plan.bound if same == word and _is_small(other)}
            if (
                len(planned) == 1  # of several, the plan says which one where it matters
                and _is_small(value)
                and value not in planned
                and not any(word == same for _, same in said.bound)
            ):
                return f"the plan has {sorted(planned)} {word}, the user says {value}"
        return self._accepts_unwanted(message, read)

    def _accepts_unwanted(self, message: str, read: Read) -> str | None:
        if not _ACCEPTS_OFFER.search(message) or read.negated:
            return None
        for words, text in self._unwanted:
            if len(words) > 1 and words <= read.words.keys():
                return f"the plan says {text[:80]!r}, the user accepts it"
        return None


def _fields(message: str) -> list[tuple[frozenset[str], str]]:
    """What the user says of itself: the words of a field, and its value."""
    found = []
    for one in sentences(message):
        match = _FIELD.search(one)
        values = None if match is None else cached_values(match["value"]).values
        if match is None or not values:
            continue
        cue = frozenset(word for word in map(deciding, re.findall(r"[a-z]+", lower_case(match["cue"]))) if word)
        if cue and len(values) == 1:
            found.append((cue, next(iter(values))[1]))
    return found


def _unwanted(plan: str) -> list[tuple[set[str], str]]:
    found = []
    for one in sentences(plan):
        match = _UNWANTED.search(one)
        if match is None or len(match["what"].split()) > _LONGEST_UNWANTED:
            continue
        if not re.search(r"\b(?:unless|if|but|except|until|other than)\b", one, re.IGNORECASE):
            found.append((set(cached_values(match["what"]).words), one))
    return found


def _is_small(value: str) -> bool:
    return value.isdigit() and (int(value) <= _SMALL or 1900 <= int(value) <= 2100)


def _is_derived(value: str, allowed: set[str]) -> bool:
    """Whether a number is part of one that is known: the last digits, or the same without its cents."""
    return any(other.endswith(value) or other.split(".")[0] == value.split(".", maxsplit=1)[0] for other in allowed)


def _is_next_to(date: str, allowed: set[str]) -> bool:
    """Whether a date, as month and day, is the day before or after a known one."""
    month, _, day = date.partition("-")
    return any(f"{month}-{int(day) + step}" in allowed for step in (-1, 1))


def _is_part(one: str, other: str) -> bool:
    return one in other or other in one
