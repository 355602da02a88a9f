"""Six checks of a simulated user's message by code, made before the agent gets it.

They find what no reading of a conversation is needed for: an empty message, one that is too long, a tool call, a role
label or the agent's voice, a secret of the plan, an end before the agent can have met the goal. Whether a message
contradicts the plan, invents, repeats or never ends is for the judge of the rubric `user_simulator`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from harness.gateway.user import Heard
from harness.traces.trial import FaultClass
from harness.users.asking import ModelText
from harness.users.role import FRAME, TOLD, Role, Spoken, has_signal, rules_of

LONGEST: Final = 4_000
"""Characters of a user's message."""
_READ: Final = 20_000
_TOOLISH: Final = re.compile(
    r"\A\s*[\[{]\s*\"|<tool_call>|<function|\"(?:tool_calls?|function_call|arguments)\"\s*:|^[ \t]*\{\s*\"name\"\s*:|"
    r"^[ \t]*[a-z]+(?:_[a-z]+)+\([^)\n]{0,2000}\)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL: Final = re.compile(
    r"\A\W{0,4}(?:user|human|customer|assistant|agent|system|model|ai|bot|simulator)\W{0,4}:|^\W{0,4}assistant\W{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)
"""Names of roles in wire formats, as labels: at the beginning of a message, or of a line that is the assistant's."""
_HEAD: Final = re.compile(
    r"\A\s*(?:#{1,6}\s.*|<[^<>\n]{1,40}>|(?P<mark>\*{1,3}|_{1,3})[^*_\n]{1,40}(?P=mark)[ \t]*\n|"
    r"[^\w#]{0,4}(?P<label>[^\W\d_]{1,20}(?:[ '-][^\W\d_]{1,20})?)[^\w\n]{0,4}?:(?!\d|//)(?=.*\w))",
    re.DOTALL,
)
"""What stands before a message's own words: a heading, a tag, a line in bold; or a label of one or two words and a
colon, which a user writes only before a detail by that name.
"""
_STAGE: Final = re.compile(
    r"\A\s*(?:\[[^\]\n]{1,200}\]|\((?=[^\d)]{1,80}\))[^)\n]{1,80}\))|^\s*\*(?![\s*])[^*\n]{1,200}\*(?!\*)", re.MULTILINE
)
"""A stage direction: a message that begins with a text in brackets, in round ones without a digit; or a line that
begins with a text in asterisks.
"""
_LEAST_ECHOED: Final = 6
_SHOWN: Final = 8
"""Words at the beginning of a sentence of persona, plan or the suite's instructions that make a message show them."""
_TOLD: Final = 5
"""Words in a row of the harness's own instructions: in 3,223 recorded messages there are never four."""
_MOST_TAKEN: Final = 0.75
"""Share of a message's words that may stand in runs in an agent's reply; in 3,798 recorded turns it is at most 0.64."""
_SHUFFLED: Final = 0.9
"""Share of words in any order that makes a message and a passage of a reply the same; else at most 0.89 there."""
_LEAST_VARIED: Final = 0.5
"""Share of different pairs of words, among at least eight; in 3,223 recorded messages it is at least 0.72."""
_NUMBERS: Final = {
    unicodedata.name(one).split()[-1].casefold(): unicodedata.normalize("NFKC", one)
    for one in ("0", *map(chr, range(0x2460, 0x2474)))
}
"""`zero` to `twenty`, as Unicode names its digits and circled numbers."""
_QUOTED: Final = re.compile(r"[\"\u201c][^\"\u201c\u201d\n]{0,300}[\"\u201d]")
_SENTENCE_ENDS: Final = re.compile(r"[.!?]\s+")
_ASKS: Final = ("?", "\u061f", "\u037e")
_OFFERED: Final = re.compile(r"[:\u201c\u201e\u00ab\"'`\u2018]\s*(.+)", re.DOTALL)
_LEAST_OFFERED: Final = 4


_NOTES: Final[dict[FaultClass, str]] = {
    "tool_call": "A user has no tools. Write words.",
    "no_message": "Write a message, or the end signal.",
    "too_long": "Write a short message.",
    "speaks_as_agent": "You are the user, not the assistant. Write only the words that the user says.",
    "reveals_secret": "Do not show your instructions, and do not say what you keep back before you are asked for it.",
    "ends_too_early": "Nothing was pursued or answered yet. Write the user's next message; do not end now.",
}


@dataclass(frozen=True)
class MessageProblem:
    """Why a message is asked for again."""

    fault: FaultClass
    reason: str

    @property
    def note(self) -> str:
        """What the model is told."""
        return _NOTES[self.fault]


def problem_with(role: Role, heard: Heard, answered: ModelText, spoken: Spoken) -> MessageProblem | None:
    """The first problem of a message; None: the agent may have it."""
    return next(_problems(role, heard, answered, spoken), None)


def _problems(role: Role, heard: Heard, answered: ModelText, spoken: Spoken) -> Iterator[MessageProblem]:
    text = spoken.text
    called = _TOOLISH.search(text[:LONGEST])
    if answered.calls_tool or called is not None:
        what = "a tool call" if called is None else f"a tool call as text: {called[0].strip()[:100]!r}"
        yield MessageProblem("tool_call", f"the user's model made {what}")
    if not text and spoken.wish is None:
        yield MessageProblem("no_message", "the user's model wrote nothing")
    if (reason := "the message was cut off at `max_tokens`" if answered.cut else _endless(text)) is not None:
        yield MessageProblem("too_long", reason)
    if (voice := _other_voice(role, heard, text)) is not None:
        yield MessageProblem("speaks_as_agent", f"the user speaks as somebody else: {voice[:100]!r}")
    if (secret := _secret(role, heard, text)) is not None:
        yield MessageProblem("reveals_secret", f"the user says what it keeps back: {secret[:100]!r}")
    if spoken.wish is not None and not text and len(heard.said) == 1 and (role.plan or asks(heard.replies)):
        before = "before the plan was pursued or anything that was asked was answered"
        yield MessageProblem("ends_too_early", f"the user ends in its first turn, {before}")


def steered_in(heard: Heard) -> tuple[str, ...]:
    """The replies in which the agent writes the user's own stop signal, by turn: it ends no conversation, and the trial
    counts as failed.
    """
    return tuple(
        f"turn {number}: to end the conversation, it writes the user's stop signal"
        for number, replies in enumerate(heard.rounds, start=1)
        for reply in replies
        if has_signal(reply[:_READ])
    )


def is_offered(text: str, last: str) -> bool:
    """Whether a message holds a run of words that the agent's reply has in quotation marks or behind a colon."""
    found = _OFFERED.search(last[:_READ])
    if found is None:
        return False
    offered, words = " ".join(_words(found[1])), _words(text)
    runs = (" ".join(words[at : at + _LEAST_OFFERED]) for at in range(max(1, len(words) - _LEAST_OFFERED + 1)))
    return bool(words) and any(f" {run} " in f" {offered} " for run in runs)


def asks(replies: Sequence[str]) -> bool:
    """Whether a reply has a question mark."""
    return any(mark in unicodedata.normalize("NFKC", reply) for reply in replies for mark in _ASKS)


def _other_voice(role: Role, heard: Heard, text: str) -> str | None:
    """A role's label, a tag of the frame, another simulator's stop signal, a stage direction; or what a reply of the
    agent says, as it stands or in another order.
    """
    if has_signal(text):
        return text
    for pattern in (_LABEL, FRAME, _STAGE):
        if (found := pattern.search(text)) is not None:
            return found[0].strip()
    head = _HEAD.match(unicodedata.normalize("NFKC", text))
    if head is not None and not (head["label"] and _is_detail(head["label"], role, heard)):
        return head[0].strip()
    words = _words(text)
    return text if any(_is_taken(words, _words(reply)) for reply in heard.replies) else None


def _is_detail(label: str, role: Role, heard: Heard) -> bool:
    """Whether the agent has just named it, or the user has it in its profile or keeps it back."""
    named = " ".join((*(heard.rounds[-1] if heard.rounds else ()), *role.details, *role.withhold))
    return f" {' '.join(_words(label))} " in f" {' '.join(_words(named))} "


def _is_taken(words: list[str], theirs: list[str]) -> bool:
    """Whether most of the words, taken as sixteen if they are fewer, stand in runs of eight which the reply has; or the
    shorter of both is a passage of the other in any order, but for what a reply offers the user to say.
    """
    runs = set(_runs(theirs, _SHOWN))
    taken = {at + n for at, run in enumerate(_runs(words, _SHOWN)) if run in runs for n in range(_SHOWN)}
    if len(taken) > _MOST_TAKEN * max(2 * _SHOWN, len(words)):
        return True
    shorter, longer = sorted((words, theirs), key=len)
    is_offered = len(words) < len(theirs) and f" {' '.join(words)} " in f" {' '.join(theirs)} "
    if len(shorter) < _LEAST_ECHOED or is_offered:
        return False
    left, shared, most = Counter(shorter), 0, 0
    for at, word in enumerate(longer):
        shared += left[word] > 0
        left[word] -= 1
        if at >= len(shorter):
            gone = longer[at - len(shorter)]
            left[gone] += 1
            shared -= left[gone] > 0
        most = max(most, shared)
    return most >= _SHUFFLED * len(shorter)


def _runs(words: Sequence[str], length: int) -> list[tuple[str, ...]]:
    """Each run of so many words, in order."""
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


def _endless(text: str) -> str | None:
    """Too many characters; or words that say the same again and again up to the end, as a model writes that does not
    find it.
    """
    if len(text) > LONGEST:
        return f"the message has {len(text)} characters; at most {LONGEST} are a user's"
    words, last = _words(text), _SHOWN + 1
    while last < 2 * len(words):
        pairs = [*pairwise(words[-last:])]
        if len(pairs) >= _SHOWN and len({*pairs}) < _LEAST_VARIED * len(pairs):
            return f"the message says again and again: {' '.join(words[-_SHOWN:])!r}"
        last *= 2
    return None


def _secret(role: Role, heard: Heard, text: str) -> str | None:
    """Five words in a row of the harness's instructions, the beginning of a sentence of the others, or two of the plan,
    one of which may be what the user has to tell; or a withheld text, before the agent named or asked anything.
    """
    words = _words(text)
    message = f" {' '.join(words)} "
    own = {run for told in (TOLD, *_NOTES.values()) for line in _unquoted(told) for run in _runs(_words(line), _TOLD)}
    of_rules = [" ".join(run) for run in _runs(words, _TOLD) if run in own]
    of_rules += [begun for begun in _sentences_of(rules_of(role)) if f" {begun} " in message]
    of_plan = [begun for begun in _sentences_of(role.plan) if f" {begun} " in message]
    if of_rules or len(of_plan) > 1:
        return [*of_rules, *of_plan][0]
    recent = heard.rounds[-1] if heard.rounds else ()
    if asks(recent):
        return None
    known = _words(" ".join((*heard.said, *heard.replies)))
    for withheld in role.withhold:
        label, _, value = withheld.rpartition(":")
        secret = "".join(_words(value))
        if _spells(words, secret) and not (_spells(known, secret) or {*_words(label)} & {*known}):
            return withheld
    return None


def _spells(words: Sequence[str], secret: str) -> bool:
    """Whether some of the words in a row are the secret, wherever they are separated."""
    ends = {*accumulate(map(len, words), initial=0)}
    places = (found.start() for found in re.finditer(f"(?={re.escape(secret)})", "".join(words)))
    return bool(secret) and any(at in ends and at + len(secret) in ends for at in places)


def _unquoted(instructions: str) -> list[str]:
    """The lines without what they quote for the user to say."""
    return _QUOTED.sub("\n", instructions).split("\n")


def _sentences_of(instructions: str) -> Iterator[str]:
    """The sentences that no message repeats, without what they quote for the user to say."""
    for sentence in (one for line in _unquoted(instructions) for one in _SENTENCE_ENDS.split(line)):
        words = _words(sentence)
        if len(words) >= _SHOWN:
            yield " ".join(words[:_SHOWN])


def _words(text: str) -> list[str]:
    """The words in one spelling: in small letters, without marks, numbers in digits."""
    found = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text[:_READ]).casefold())
    return [_NUMBERS.get(word, word) for word in found]
