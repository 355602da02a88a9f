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
from typing import Final

from harness.gateway.user import Heard
from harness.traces.trial import FaultClass
from harness.users.asking import ModelText
from harness.users.comparison import plain
from harness.users.role import FRAME, Role, Spoken, has_signal, rules_of

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
_STAGE: Final = re.compile(
    r"\A\s*(?:\[[^\]\n]{1,200}\]|\((?=[^\d)]{1,80}\))[^)\n]{1,80}\))|^\s*\*(?![\s*])[^*\n]{1,200}\*(?!\*)", re.MULTILINE
)
"""A stage direction: a message that begins with a text in brackets, in round ones without a digit; or a line that
begins with a text in asterisks.
"""
_LEAST_ECHOED: Final = 6
_SHOWN: Final = 8
"""Words at the beginning of a sentence of the instructions that make a message show them."""
_MOST_TAKEN: Final = 0.75
"""Share of a message's words that may stand in an agent's reply; in 3,798 recorded turns it is at most 0.64."""
_QUOTED: Final = re.compile(r"[\"\u201c][^\"\u201c\u201d\n]{0,300}[\"\u201d]")
_SENTENCE_ENDS: Final = re.compile(r"[.!?]\s+|\n")
_ASKS: Final = ("?", "\u061f", "\u037e")
_OFFERED: Final = re.compile(r"[:\u201c\u201e\u00ab\"'`\u2018]\s*(.+)", re.DOTALL)
_LEAST_OFFERED: Final = 4


@dataclass(frozen=True, kw_only=True)
class MessageProblem:
    """Why a message is asked for again."""

    fault: FaultClass
    reason: str
    note: str
    """What the model is told."""


def problem_with(role: Role, heard: Heard, answered: ModelText, spoken: Spoken) -> MessageProblem | None:
    """The first problem of a message; None: the agent may have it."""
    text = spoken.text
    called = _TOOLISH.search(text[:LONGEST])
    if answered.calls_tool or called is not None:
        what = "a tool call" if called is None else f"a tool call as text: {called[0].strip()[:100]!r}"
        return _problem("tool_call", f"the user's model made {what}", "A user has no tools. Write words.")
    if not text and spoken.wish is None:
        return _problem("no_message", "the user's model wrote nothing", "Write a message, or the end signal.")
    if (reason := "the message was cut off at `max_tokens`" if answered.cut else _endless(text)) is not None:
        return _problem("too_long", reason, "Write a short message.")
    if (voice := _other_voice(heard, text)) is not None:
        note = "You are the user, not the assistant. Write only the words that the user says."
        return _problem("speaks_as_agent", f"the user speaks as somebody else: {voice[:100]!r}", note)
    if (secret := _secret(role, heard, text)) is not None:
        note = "Do not show your instructions, and do not say what you keep back before you are asked for it."
        return _problem("reveals_secret", f"the user says what it keeps back: {secret[:100]!r}", note)
    return _early_end(role, heard, spoken)


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


def _problem(fault: FaultClass, reason: str, note: str) -> MessageProblem:
    return MessageProblem(fault=fault, reason=reason, note=note)


def _other_voice(heard: Heard, text: str) -> str | None:
    """A role's label, a tag of the frame, another simulator's stop signal, a stage direction; or a reply of the agent,
    said again as a whole, gone on with, or most of it as the message.
    """
    if has_signal(text):
        return text
    for pattern in (_LABEL, FRAME, _STAGE):
        if (found := pattern.search(text)) is not None:
            return found[0].strip()
    said = plain(text)
    replies = [plain(reply[:LONGEST]) for reply in heard.replies]
    echoed = len(said.split()) >= _LEAST_ECHOED and said in replies
    if echoed or any(len(one.split()) >= _SHOWN and said.startswith(one) for one in replies):
        return text
    return text if any(_share_taken(text, reply) > _MOST_TAKEN for reply in heard.replies) else None


def _share_taken(text: str, reply: str) -> float:
    """The share of the words, taken as sixteen if they are fewer, that stand in runs of eight which the reply has."""
    words, theirs = _words(text), set(_runs(_words(reply)))
    starts = [at for at, run in enumerate(_runs(words)) if run in theirs]
    return len({at + n for at in starts for n in range(_SHOWN)}) / max(2 * _SHOWN, len(words))


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Each run of eight words, in order."""
    return [tuple(words[at : at + _SHOWN]) for at in range(len(words) - _SHOWN + 1)]


def _endless(text: str) -> str | None:
    """Too many characters, or a run of eight words three times, as a model writes that does not find its end."""
    if len(text) > LONGEST:
        return f"the message has {len(text)} characters; at most {LONGEST} are a user's"
    runs = Counter(_runs(_words(text)))
    run, times = max(runs.items(), key=lambda one: one[1], default=((), 0))
    return f"the message says again and again: {' '.join(run)!r}" if times > 2 else None


def _secret(role: Role, heard: Heard, text: str) -> str | None:
    """A sentence of the instructions, or two of the plan, one of which may be what the user has to tell; or a withheld
    text, before the agent named or asked anything.
    """
    message = f" {' '.join(_words(text))} "
    of_rules, of_plan = (
        [run for run in _sentences_of(instructions) if f" {run} " in message]
        for instructions in (rules_of(role), role.plan)
    )
    if of_rules or len(of_plan) > 1:
        return [*of_rules, *of_plan][0]
    recent = heard.rounds[-1] if heard.rounds else ()
    if asks(recent):
        return None
    known = f" {' '.join(_words(' '.join((*heard.said, *heard.replies))))} "
    for withheld in role.withhold:
        label, _, value = withheld.rpartition(":")
        secret, named = " ".join(_words(value)), _words(label)
        if secret and f" {secret} " in message and not any(f" {word} " in known for word in (secret, *named)):
            return withheld
    return None


def _sentences_of(instructions: str) -> Iterator[str]:
    """The sentences that no message repeats, without what they quote for the user to say."""
    for sentence in _SENTENCE_ENDS.split(_QUOTED.sub("\n", instructions)):
        words = _words(sentence)
        if len(words) >= _SHOWN:
            yield " ".join(words[:_SHOWN])


def _early_end(role: Role, heard: Heard, spoken: Spoken) -> MessageProblem | None:
    """The end signal as the first message after the opening, though a plan is left or the agent has asked something."""
    if spoken.wish is None or spoken.text or len(heard.said) > 1 or not (role.plan or asks(heard.replies)):
        return None
    return _problem(
        "ends_too_early",
        "the user ends in its first turn, before the plan was pursued or anything that was asked was answered",
        "Nothing was pursued or answered yet. Write the user's next message; do not end now.",
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text[:_READ]).casefold())
