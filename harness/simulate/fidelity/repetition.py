"""Whether a message of a simulated user says again what was said, and who may have caused that."""

import re
from collections import Counter
from typing import Final

from harness.simulate.fidelity.before import Before
from harness.simulate.fidelity.reading_text import cached_values, plain_words, read_all_values
from harness.simulate.meaning.sentences import is_open_question, sentences

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
