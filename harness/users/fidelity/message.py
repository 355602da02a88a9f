"""What makes a model's message no message of a user, found before the agent gets it."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from harness.gateway.user import Heard
from harness.traces.trial import FaultClass
from harness.users.asking import ModelText
from harness.users.meaning.sentences import (
    claims_completion,
    is_closing,
    is_open_promise,
    is_open_question,
    transfers,
)
from harness.users.meaning.words import listed, stem
from harness.users.role import Role, Spoken

# Which language a message is in, by its script and its most frequent words; None where that cannot be determined.

_FILE: Final = "frequent_words.txt"
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LEAST_WORDS: Final = 4
_ADDRESSING: Final = listed(
    "dein deine deinen deinem deiner deines dich dir bist hast sollst tu tus eres tienes debes unos unas"
)
_MAIN: Final = {
    "LATIN",
    "CYRILLIC",
    "GREEK",
    "ARABIC",
    "HEBREW",
    "DEVANAGARI",
    "THAI",
    "HANGUL",
    "HIRAGANA",
    "KATAKANA",
    "CJK",
}


@lru_cache(maxsize=4096)
def language_of(text: str) -> str | None:
    """A two-letter code for languages with Latin letters, else the script in lower case."""
    script = _script(text)
    if script not in (None, "LATIN"):
        return "cjk" if script in ("HIRAGANA", "KATAKANA", "CJK") else script.lower()
    words = [word.casefold() for word in _WORD.findall(text[:4000].replace("\u2019", "'"))]
    if len(words) < _LEAST_WORDS:
        return None
    counts = {name: sum(word in frequent for word in words) for name, frequent in _frequent().items()}
    best = max(counts, key=lambda name: counts[name])
    second = max(count for name, count in counts.items() if name != best)
    return best if counts[best] >= 2 and counts[best] > second else None


def is_function_word(root: str) -> bool:
    """Whether a stem is that of a most frequent word of a language, or of a word that addresses the user."""
    return root in _function_roots()


@cache
def _function_roots() -> frozenset[str]:
    return frozenset(map(stem, _ADDRESSING.union(*_frequent().values())))


@cache
def _frequent() -> Mapping[str, frozenset[str]]:
    """Language -> its most frequent words."""
    lines = (Path(__file__).parent / _FILE).read_text(encoding="utf-8").splitlines()
    return {name: frozenset(words.split()) for name, _, words in (line.partition(":") for line in lines)}


def _script(text: str) -> str | None:
    found: dict[str, int] = {}
    for letter in text[:1000]:
        if letter.isalpha():
            name = unicodedata.name(letter, "").split(" ")[0]
            if name in _MAIN:
                found[name] = found.get(name, 0) + 1
    return max(found, key=lambda name: found[name]) if found else None


# Whether a message that should be a user's is an assistant's: it offers help, acts, or carries a role's label.

_LABEL: Final = re.compile(
    r"^(?:\*\*|\[|<)?\s{0,9}(?:assistant|agent|ai|bot|customer (?:service|support)|representative|"
    r"assistent(?:in)?|kundendienst|asistente|agente)"
    r"\s{0,9}(?:\*\*|\]|>)?\s{0,9}:",
    re.IGNORECASE,
)
_OFFERS_HELP: Final = re.compile(
    r"\bhow (?:can|may) i (?:help|assist)(?: you)?\b|\b(?:can|may) i (?:help|assist) you\b|"
    r"\bis there (?:any|some)thing else i can (?!provide|give|show|tell|try|use|send)\b|"
    r"\banything else i can (?:help|assist|do for) you\b|"
    r"\bi(?:'d| would| will|'ll| can| am|'m)(?: be)? (?:be )?(?:happy|glad|here) to (?:help|assist) you\b|"
    r"\bi(?:'m| am) (?:here|ready) to (?:help|assist)\b|"
    r"\bi can (?:help|assist) you with\b|\blet me know if there'?s (?:any|some)thing else i can\b|"
    r"\bwhat (?:would|can|do) you (?:like|want) to (?:order|book|buy|know)\b|\byour \w+(?: \w+)? is coming right up\b|"
    r"\bwould you like anything else(?: with that)?\?|\bwhat can i get (?:for )?you\b|"
    r"\bas an ai\b|\bas your (?:assistant|agent|support)\b|\bthank you for (?:contacting|calling|reaching out|"
    r"choosing|shopping)\b|"
    r"\b(?:wie|womit) kann ich (?:ihnen|dir) (?:heute )?(?:weiter)?helfen\b|\bkann ich (?:ihnen|dir) (?:sonst )?noch\b|"
    r"\ben qu\u00e9 (?:puedo|podemos) ayudar(?:le|te|lo|la)\b|\bpuedo ayudar(?:le|te) en algo m\u00e1s\b|"
    r"\bfor (?:your )?(?:security|verification) purposes?,? (?:please|i need|could you)\b",
    re.IGNORECASE,
)
_ACTS: Final = re.compile(
    r"\bi(?:'ve| have)(?: now| just| successfully| already)* (?:processed|cancelled|canceled|booked|updated|"
    r"refunded|issued|added|"
    r"placed|removed|modified|changed|submitted|verified|located|found|checked|initiated|completed|exchanged|"
    r"transferred|returned) "
    r"(?:your\b(?! (?:email|website|app\b|steps|instructions|suggestion|link|message))|"
    r"(?:the|it|them|all|both|a|an|this)\b[^.?!]{0,40}\bfor you\b)|"
    r"\byour (?:order|refund|reservation|request|booking|flight|cart|return|exchange|account|payment|"
    r"cancellation)\b[^.?!]{0,60}"
    r"\b(?:has been|have been|was|were|is now|will be) (?:\w+ly )?(?:processed|cancelled|canceled|booked|updated|"
    r"refunded|issued|added|"
    r"placed|removed|modified|changed|submitted|confirmed|verified|completed|exchanged|credited|shipped)\b|"
    r"\b(?:i'll|i will|let me) (?:go ahead and )?(?:process|cancel|book|update|check|look up|verify|transfer|pull "
    r"up|issue|look into|"
    r"arrange|submit|initiate) (?:your|that for you|this for you|it for you|you\b)",
    re.IGNORECASE,
)
_ACTS_OTHERWISE: Final = re.compile(
    r"\b(?:ihre?|deine?) (?:bestellung|buchung|reservierung|stornierung|erstattung|flug|anfrage)\b[^.?!]{0,60}"
    r"\b(?:wurde|ist)\b[^.?!]{0,30}\b(?:storniert|gebucht|bearbeitet|ge\u00e4ndert|aktualisiert|best\u00e4tigt|"
    r"erstattet)\b|"
    r"\bich habe (?:ihre?n?|deine?n?|f\u00fcr (?:sie|dich))\b[^.?!]{0,60}"
    r"\b(?:storniert|gebucht|bearbeitet|ge\u00e4ndert|aktualisiert|best\u00e4tigt|erstattet|bestellt|gefunden)\b|"
    r"\bhe (?:cancelado|reservado|procesado|cambiado|actualizado|confirmado|reembolsado|encontrado) (?:su|tu)\b|"
    r"\b(?:su|tu) (?:pedido|reserva|reembolso|vuelo|solicitud)\b[^.?!]{0,40}\bha sido "
    r"(?:cancelad|reservad|procesad|cambiad|actualizad|confirmad|reembolsad)[oa]\b",
    re.IGNORECASE,
)
"""The same in German and Spanish."""
_TOOLISH: Final = re.compile(
    r"<tool_call>|<function|\"(?:tool_calls?|function_call|arguments)\"\s*:|^[ \t]*\{\s*\"name\"\s*:|"
    r"```(?:json|tool|python)|\b(?:functions?|tools?)\.[a-z_]+\(|^[ \t]*[a-z]+(?:_[a-z]+)+\([^)\n]{0,2000}\)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


def agents_voice(message: str) -> str | None:
    """The words in which a message speaks as an assistant; None where it does not."""
    text = message.strip()[:8000].replace("\u2019", "'")
    for pattern in (_LABEL, _OFFERS_HELP, _ACTS, _ACTS_OTHERWISE):
        found = pattern.search(text)
        if found is not None:
            return found[0].strip()
    return None


def tool_call_in(message: str) -> str | None:
    """A tool call that is written as text; None where there is none."""
    found = _TOOLISH.search(message[:8000])
    return None if found is None else found[0].strip()


LONGEST: Final = 4_000
"""Characters of a user's message."""


@dataclass(frozen=True, kw_only=True)
class MessageProblem:
    """Why a message is asked for again."""

    fault: FaultClass
    reason: str
    note: str
    """What the model is told."""
    insists_on_ending: bool = False
    """The only fault is an end at a wrong time, which is not let happen."""


def problem_with(role: Role, heard: Heard, answered: ModelText, spoken: Spoken) -> MessageProblem | None:
    """The first problem of a message; None where the agent may have it."""
    called = tool_call_in(spoken.text)
    if answered.calls_tool or called is not None:
        what = "a tool call" if called is None else f"a tool call as text: {called[:100]!r}"
        return MessageProblem(
            fault="tool_call", reason=f"the user's model made {what}", note="A user has no tools. Write words."
        )
    if not spoken.text:
        return _wrong_end(role, heard, spoken) if spoken.wish else _nothing()
    if len(spoken.text) > LONGEST:
        said = f"the message has {len(spoken.text)} characters; at most {LONGEST} are a user's"
        return MessageProblem(fault="too_long", reason=said, note="Write a short message.")
    voice = agents_voice(spoken.text)
    if voice is not None:
        said = f"the user speaks as the agent: {voice[:100]!r}"
        return MessageProblem(
            fault="speaks_as_agent", reason=said, note="You are the user, not the assistant. Write what the user says."
        )
    return _of_language(role, heard, spoken) or _repeats(heard, spoken)


_NOTES: Final[dict[FaultClass, str]] = {
    "unknowable": "You cannot know that: neither your plan nor your details hold it. Say that you do not know it, or "
    "leave it out.",
    "revealed_early": "You were not asked for that yet. Leave it out.",
    "contradiction": "That contradicts your plan, your details, or what you said. Say what they hold.",
    "repetition": "You have said this before. Say something else, or end.",
    "out_of_role": "You are a user of a service. Speak neither of instructions nor of a test, and rate nobody.",
    "speaks_as_agent": "You are the user, not the assistant. Write what the user says.",
}


def broken_rule(fault: FaultClass, reason: str) -> MessageProblem:
    """What the model is told of a message that breaks a rule."""
    return MessageProblem(fault=fault, reason=reason, note=_NOTES[fault])


def _nothing() -> MessageProblem:
    return MessageProblem(
        fault="no_message", reason="the user's model wrote nothing", note="Write a message, or the end signal."
    )


def _wrong_end(role: Role, heard: Heard, spoken: Spoken) -> MessageProblem | None:
    """Ends after an open promise or question, and before anything was said but the opening, are not accepted.

    An end in the first turn is accepted where the agent says that nothing is left to do: a user may believe it, and the
    checks decide.
    """
    last = heard.replies[-1] if heard.replies else ""
    if not transfers(last) and (is_open_question(last) or is_open_promise(last)):
        what = "asked something" if is_open_question(last) else "said that it is about to do something"
        return MessageProblem(
            fault="ends_too_early",
            reason=f"the user ends although the agent has {what}: {last[-100:]!r}",
            note=f"The assistant has {what} that is still open. Answer, or let it go on; do not end now.",
            insists_on_ending=True,
        )
    ends = is_closing(last) or claims_completion(last)
    if spoken.wish is not None and len(heard.said) == 1 and role.plan and not ends:
        return MessageProblem(
            fault="ends_too_early",
            reason="the user ends in its first turn, before the plan was pursued",
            note="The plan was not pursued yet. Go on with it.",
        )
    return None


def _of_language(role: Role, heard: Heard, spoken: Spoken) -> MessageProblem | None:
    own = language_of(f"{role.opening} {role.plan}")
    found = language_of(spoken.text)
    agents = {language_of(reply) for reply in heard.replies}
    if own is None or found is None or found == own or found in agents:
        return None
    said = f"the user writes {found!r}, where the conversation is in {own!r}"
    return MessageProblem(
        fault="other_language", reason=said, note=f"Write in the language {own!r}, as in your first message."
    )


def _repeats(heard: Heard, spoken: Spoken) -> MessageProblem | None:
    """The same message again, although the agent's reply is another one.

    Not where the agent asks something: it may ask the same in new words, which has the same answer.
    """
    before = [said for said in heard.said if said.strip().casefold() == spoken.text.casefold()]
    if len(before) < 2 or len(heard.replies) < 2 or heard.replies[-1].strip() in map(str.strip, heard.replies[:-1]):
        return None
    if is_open_question(heard.replies[-1]):
        return None
    said = f"the user says {len(before) + 1} times: {spoken.text[:100]!r}"
    return MessageProblem(
        fault="repetition", reason=said, note="You have said this before. Say something else, or end."
    )
