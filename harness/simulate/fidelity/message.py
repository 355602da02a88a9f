"""What makes a model's message no message of a user, found before the agent gets it."""

from dataclasses import dataclass
from typing import Final

from harness.gateway import Heard
from harness.simulate.asking import ModelText
from harness.simulate.fidelity.language import language_of
from harness.simulate.fidelity.voice import agents_voice, tool_call_in
from harness.simulate.meaning.sentences import (
    claims_completion,
    is_closing,
    is_open_promise,
    is_open_question,
    transfers,
)
from harness.simulate.role import Role
from harness.simulate.stopping import Spoken
from harness.trace import FaultClass

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
    own = (role.persona.language if role.persona else None) or language_of(f"{role.opening} {role.plan}")
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
