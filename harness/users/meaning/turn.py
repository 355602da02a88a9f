"""What an agent did between two messages of a user, compared with what it did in a log: its calls and its texts."""

import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from pydantic import JsonValue

from harness.suite.tools import Effect
from harness.users.meaning.binding import exchanged
from harness.users.meaning.said import Said, only_in_idioms, only_reworded, said_in
from harness.users.meaning.words import Read, opposed, scope_words
from harness.values import JsonObject, canonical_json

# What differs between two turns of an agent.


@dataclass(frozen=True, kw_only=True)
class MeaningDifference:
    """The first thing that is not the same."""

    kind: Literal["calls", "slots", "act", "meaning"]
    reason: str
    of_wording: bool = False
    """Whether only words or the form of a sentence differ, so that a model may find that the meaning does not."""


# Two texts of an agent, compared by what they do, by their values, and by the words that decide.
#
# Offers of further help, greetings, thanks and apologies do not count. Everything else has to agree: each value (and
# what
# it belongs to), each word that names a thing or an action, each negation, and what the text does: ask for something,
# propose something, put a question of fact, answer yes or no, promise. How it is worded may differ: a request may be
# a
# question, an imperative or a note, an unknown word that stands as a verb of manner may be another one, and unknown
# words may stand in place of mere manner (see `substitution.py`).
# Texts that share nothing but weightless words have to be nearly the same.

_LEAST_SHARED: Final = 0.34
"""Of the words of two texts without any value or deciding word."""


_SAME_ROOT: Final = 5
"""Letters at least that two forms of one word begin with."""


_SAID_OTHERWISE: Final = {
    "only": ("just",),
    "must": ("need", "requir", "necessary", "oblig", "bound"),
    "many": ("couple", "rang"),
}
"""For a word of scope the stems that may stand in its place."""
_IDIOMATIC: Final = {"within", "after", "before", "next", "second", "last", "until"}
"""Words of scope that turns of phrase hold which are not about time."""


def texts_differ(then: str, now: str) -> MeaningDifference | None:
    """What differs first, and in which words; None where both mean the same. Values and denials come first."""
    if then == now or _same_letters(then, now):
        return None
    was, is_ = said_in(then), said_in(now)
    return (
        _values_differ(was.values, is_.values)
        or _denials_differ(was, is_)
        or _scope_differs(was, is_)
        or _things_differ(was, is_)
        or _opposites_differ(was, is_)
        or _acts_differ(was, is_)
        or _words_differ(was, is_)
        or _exchanged(then, now)
    )


def _same_letters(then: str, now: str) -> bool:
    """Whether two texts are the same but for spaces and capitals."""
    was, is_ = then.split(), now.split()
    return len(was) == len(is_) and " ".join(was).casefold() == " ".join(is_).casefold()


def _values_differ(was: Read, is_: Read) -> MeaningDifference | None:
    if was.values != is_.values and not _said_more_often(was.values, is_.values):
        gone, new = _values_text(was.values - is_.values), _values_text(is_.values - was.values)
        return _slots(f"the log has {gone or 'no further value'}, the agent {new or 'none in its place'}")
    changed = _bound_otherwise(was.bound, is_.bound)
    return _slots(f"values belong to other things: {changed[:4]}") if changed else None


def _things_differ(then: Said, now: Said) -> MeaningDifference | None:
    was, is_ = then.read, now.read
    gone = _without_forms(was.things - is_.words.keys() - scope_words(), is_)
    new = _without_forms(is_.things - was.words.keys() - scope_words(), was)
    if not gone and new and only_reworded(then.text, now.text, {*new}):
        new = []
    if not new and gone and only_reworded(now.text, then.text, {*gone}):
        gone = []
    if gone or new:
        return _slots(f"the log speaks of {gone[:5]}, the agent of {new[:5]}", of_wording=True)
    less, more = _without_scope(was.words - is_.words), _without_scope(is_.words - was.words)
    # A word that is said less often, and none in its place, is still said; an unknown verb may stand in its place.
    fewer = sorted(less.keys() & (was.things | (was.manner - is_.words.keys())))
    oftener = sorted(more.keys() & (is_.things | (is_.manner - was.words.keys())))
    if fewer and oftener and ({*fewer} & was.things or {*oftener} & is_.things):
        return _slots(f"the log speaks more of {fewer[:5]}, the agent of {oftener[:5]}", of_wording=True)
    return None


def _scope_differs(then: Said, now: Said) -> MeaningDifference | None:
    """Words such as `all`, `only`, `must` and `within` are counted one by one."""
    was, is_ = _scope_of(then.read), _scope_of(now.read)
    if was == is_:
        return None
    gone = {word for word in was - is_ if not _is_said_otherwise(word, then, now)}
    new = {word for word in is_ - was if not _is_said_otherwise(word, now, then)}
    if not gone and new <= _IDIOMATIC and only_in_idioms(then.text, now.text, new):
        return None
    if not new and gone <= _IDIOMATIC and only_in_idioms(now.text, then.text, gone):
        return None
    return _slots(f"the log says {sorted(gone)[:4]}, the agent {sorted(new)[:4]}", of_wording=True)


def _scope_of(read: Read) -> Counter[str]:
    return Counter({word: many for word, many in read.words.items() if word in scope_words()})


def _without_scope(words: Counter[str]) -> Counter[str]:
    return Counter({word: many for word, many in words.items() if word not in scope_words()})


def _is_said_otherwise(word: str, said: Said, other: Said) -> bool:
    """Whether the other text has one more of the words that may say the same, but may also say nothing."""
    return any(other.words[one] > said.words[one] for one in _SAID_OTHERWISE.get(word, ()))


def _opposites_differ(was: Said, is_: Said) -> MeaningDifference | None:
    found = opposed((was.words - is_.words).keys(), (is_.words - was.words).keys())
    return None if found is None else _slots(f"the log says {found[0]!r}, the agent {found[1]!r}")


def _exchanged(then: str, now: str) -> MeaningDifference | None:
    found = exchanged(then, now)
    if found is None:
        return None
    return _slots(f"{found[1]} stands where the log has {found[0]}: they were exchanged")


def _said_more_often(was: Counter[tuple[str, str]], is_: Counter[tuple[str, str]]) -> bool:
    """Whether both have the same values, and one of them only repeats some."""
    return was.keys() == is_.keys() and (was <= is_ or is_ <= was)


def _without_forms(words: Set[str], other: Read) -> list[str]:
    """The words of which the other text has no other form either."""
    return sorted(
        word
        for word in words
        if len(word) < _SAME_ROOT or not any(_is_form(word, one) for one in other.words if one[:3] == word[:3])
    )


def _is_form(one: str, other: str) -> bool:
    """Whether two words are forms of one: `verify` and `verification` are."""
    least = max(_SAME_ROOT, 2 * min(len(one), len(other)) // 3)
    return one[:least] == other[:least]


def _bound_otherwise(was: set[tuple[str, str]], is_: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Values that belong to nothing in one text that they belong to in the other."""
    if was == is_:
        return []
    values = {value for value, _ in was} & {value for value, _ in is_}
    moved = [
        value
        for value in values
        if not {word for one, word in was if one == value} & {word for one, word in is_ if one == value}
    ]
    return sorted(pair for pair in was ^ is_ if pair[0] in moved)


def _denials_differ(was: Said, is_: Said) -> MeaningDifference | None:
    if was.answer != is_.answer:
        said = f"the log answers {was.answer or 'neither yes nor no'}, the agent {is_.answer or 'neither'}"
        return MeaningDifference(kind="act", reason=said)
    if not _same_negations(was.read.negated, is_.read.negated):
        many = f"{len(was.read.negated)} negation(s) in the log, {len(is_.read.negated)} by the agent"
        return MeaningDifference(kind="act", reason=f"{many}, or of other things")
    return None


def _acts_differ(was: Said, is_: Said) -> MeaningDifference | None:
    if was.asks != is_.asks:
        return _only_one("asks", was.asks)
    if was.questions != is_.questions:
        if was.proposes != is_.proposes:
            return _only_one("proposes", was.proposes)
        if was.facts_questioned != is_.facts_questioned:
            many = f"{was.facts_questioned} question(s) of fact, the agent {is_.facts_questioned}"
            return MeaningDifference(kind="act", reason=f"the log puts {many}", of_wording=True)
    if not was.asks and was.promises != is_.promises:  # beside a question it waits for the answer
        return _only_one("promises", was.promises)
    return None


def _only_one(does: str, the_log: bool) -> MeaningDifference:
    who, other = ("the log", "the agent") if the_log else ("the agent", "the log")
    return MeaningDifference(kind="act", reason=f"{who} {does} something, {other} does not", of_wording=True)


def _slots(reason: str, *, of_wording: bool = False) -> MeaningDifference:
    return MeaningDifference(kind="slots", reason=reason, of_wording=of_wording)


def _same_negations(was: list[frozenset[str]], is_: list[frozenset[str]]) -> bool:
    if len(was) != len(is_):
        return False
    return all(any(not one or not other or one & other for other in is_) for one in was)


def _words_differ(was: Said, is_: Said) -> MeaningDifference | None:
    if was.is_empty != is_.is_empty:
        return MeaningDifference(kind="meaning", reason="only one of both says anything")
    if was.read.values or was.read.words or was.is_empty:
        return None
    shared, every = len(was.words.keys() & is_.words.keys()), len(was.words.keys() | is_.words.keys())
    if every and shared / every < _LEAST_SHARED:
        return MeaningDifference(kind="meaning", reason=f"{shared} of {every} words are shared", of_wording=True)
    return None


def _values_text(values: Counter[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {value}" for kind, value in sorted(values)[:5])


# Calls by what they change: writes with normalised arguments; reads change nothing and are not compared.

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?")
_PROSE_WORDS: Final = 6
"""An argument with more words is a text, and is compared as one."""


class ComparedCall(Protocol):
    """A call of either side."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> JsonObject | None: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def failed(self) -> bool: ...


def calls_differ(then: Sequence[ComparedCall], now: Sequence[ComparedCall]) -> str | None:
    """Why two lists of calls do not change the same; None where they do. The order of writes does not matter."""
    was, is_ = _writes(then), _writes(now)
    unmatched = [call for call in is_ if not _take(was, call)]
    if not unmatched and not was:
        return None
    if not was:
        return f"a write that the log does not hold: {_call_text(unmatched[0])}"
    if not unmatched:
        return f"a write of the log is missing: {_call_text(was[0])}"
    return f"the log has {_call_text(was[0])}, the agent made {_call_text(unmatched[0])}"


def _writes(calls: Sequence[ComparedCall]) -> list[ComparedCall]:
    return [call for call in calls if call.effect == "write"]


def _take(left: list[ComparedCall], call: ComparedCall) -> bool:
    for place, other in enumerate(left):
        if other.name == call.name and other.failed == call.failed and same_arguments(other.arguments, call.arguments):
            del left[place]
            return True
    return False


def same_arguments(then: JsonObject | None, now: JsonObject | None) -> bool:
    """Whether two sets of arguments are the same after normalisation: case, spaces, 2 and "2", absent and null."""
    if then is None or now is None:
        return then is now
    was, is_ = normalised(then), normalised(now)
    if was == is_:
        return True
    if not isinstance(was, dict) or not isinstance(is_, dict) or was.keys() != is_.keys():
        return False
    return all(was[name] == is_[name] or _same_prose(was[name], is_[name]) for name in was)


def _same_prose(then: JsonValue, now: JsonValue) -> bool:
    if not isinstance(then, str) or not isinstance(now, str):
        return False
    long = len(then.split()) > _PROSE_WORDS and len(now.split()) > _PROSE_WORDS
    return long and texts_differ(then, now) is None


def normalised(value: JsonValue) -> JsonValue:
    """A value without what does not matter: upper case, outer spaces, absent members, numbers as texts."""
    match value:
        case str():
            text = " ".join(value.split()).casefold()
            return _as_number(float(text)) if _NUMBER.fullmatch(text) else text
        case float():
            return _as_number(value)
        case list():
            return [normalised(item) for item in value]
        case dict():
            return {name: normalised(item) for name, item in value.items() if item is not None}
        case _:
            return value


def _as_number(value: float) -> JsonValue:
    return int(value) if abs(value) < 1e15 and value == int(value) else value


def _call_text(call: ComparedCall) -> str:
    arguments = "?" if call.arguments is None else canonical_json(call.arguments)
    return f"{call.name}({arguments})"[:300]


# What an agent did between two messages of a user, compared with what it did in a log.


@dataclass(frozen=True, kw_only=True)
class AgentTurn:
    """The agent's calls and words since the user's last message."""

    calls: Sequence[ComparedCall] = ()
    said: str = ""


def difference(then: AgentTurn, now: AgentTurn) -> MeaningDifference | None:
    """Why two turns do not mean the same to the user, by rules; None where they do.

    Calls come first: writes have to be the same, reads are not compared, since the user learns of them only by what is
    said. Then come the texts.
    """
    called = calls_differ(then.calls, now.calls)
    if called is not None:
        return MeaningDifference(kind="calls", reason=called)
    return texts_differ(then.said, now.said)
