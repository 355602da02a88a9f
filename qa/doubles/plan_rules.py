"""The next message of a user who follows a plan by rules, line by line or sentence by sentence.

    If asked for the size, say "Small, please."     an answer, said where the agent's question has these words
    Say "And a muffin."                             said word for word, in the order of the plan
    Ask for oat milk.                               said in the first person

It answers what it is asked first, then goes on with the plan, and ends where nothing is left and the agent has nothing
open.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from harness.users.role import NOTHING

GOAL, _GAVE_UP = "[[END: GOAL REACHED]]", "[[END: GAVE UP]]"
_RULE: Final = re.compile(
    r"^(?:if|when|once|after)\s+(?P<cue>.+?),?\s+(?:then\s+)?(?:say|answer|reply|respond|tell\s+\w+)\s*(?:with|that)?:?\s*"
    r"[\"“'](?P<say>.+?)[\"”']\.?$",
    re.IGNORECASE,
)
_SAY: Final = re.compile(
    r"^(?:then\s+|finally,?\s+|next,?\s+)?(?:say|write|answer|reply|tell\s+\w+)\s*:?\s*[\"“](?P<say>.+?)[\"”]\.?$",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[\"\u201c].*?[\"\u201d]")
_STANCE: Final = re.compile(
    r"^(?:(?P<yes>accept|confirm|agree to|approve)|refuse|decline|reject)\s+(?P<thing>.+)$", re.IGNORECASE
)
_NO_STEP: Final = re.compile(
    r"^(?:do not|don't|never|be |you are|you're|the user is|you have|avoid|only|speak|stay|keep|the conversation|"
    r"end |stop |"
    r"your (?:name|goal|mood|tone)|act )",
    re.IGNORECASE,
)
_SPOKEN: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), said)
    for pattern, said in (
        (r"^(?:then\s+|finally,?\s+|next,?\s+|first,?\s+|after that,?\s+)+", ""),
        (r"^(?:you|the user|they)\s+(?:want|wants|would like|need|needs)\s+to\s+", "I would like to "),
        (r"^(?:you|the user|they)\s+(?:want|wants|would like|need|needs)\s+", "I would like "),
        (r"^(?:ask (?:the agent |it )?for|request|order|get|buy)\s+", "I would like "),
        (r"^ask (?:the agent |it )?about\s+", "Could you tell me about "),
        (r"^ask (?:the agent |it )?to\s+", "Please "),
        (r"^ask (?:the agent |it )?(?:whether|if)\s+", "Could you tell me whether "),
        (r"^(?:mention|state|explain|say|tell (?:the agent|it))\s+(?:that\s+)?", ""),
        (r"\b(?:the user's|their)\b", "my"),
        (r"\byour\b", "my"),
        (r"\b(?:you|the user|they) (?:are|is)\b", "I am"),
        (r"\b(?:you|the user|they) (?:have|has)\b", "I have"),
    )
)
_STOP: Final = frozenset(
    re.findall(
        r"\S+",
        "the a an and or for to of in on at is are was be it its if when asked asks ask agent about which "
        "what how  do does you your their user they with that this says say offers offer offered any i me my "
        "please would  like want ",
    )
)
_ENDS: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_OFFER: Final = re.compile(r"\b(?:any|some)thing else\b|\blet me know\b|\bany other\b|\bfeel free\b", re.IGNORECASE)
_PROMISE: Final = re.compile(
    r"\b(?:i'll|i will|let me|one moment|right away|i am going to|working on)\b", re.IGNORECASE
)
_REFUSAL: Final = re.compile(r"\b(?:cannot|can't|unable to|unfortunately|i'm sorry|not possible)\b", re.IGNORECASE)
_YES_NO: Final = re.compile(
    r"^(?:(?:is|are|do|does|did|shall|should|would|will|can|may|have|has)\b|.*\b(?:right|correct|okay|ok|proceed)\s*\?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    answers: tuple[tuple[frozenset[str], str], ...]
    steps: tuple[str, ...]


def next_message(system: str, turns: list[tuple[str, str]]) -> str:
    """What a user says who follows the request's plan; `turns` are roles on the wire with their texts."""
    plan = _plan_of(_section(system, "plan") or "")
    details = _details(_section(system, "details") or "{}")
    said = [text for role, text in turns if role == "assistant"]
    last = last_reply(turns)
    if not last.strip() or last == NOTHING:
        return "Are you still there?"
    answer = _answer(plan, details, said, last)
    if answer is not None:
        return answer
    step = next((step for step in plan.steps if step not in said[1:] and not _covered(step, said)), None)
    if step is not None and not (_is_open_promise(last) and not _OFFER.search(last)):
        return step
    if is_open_question(last):
        return "Yes, please." if _YES_NO.search(_question(last)) else "I have no preference."
    if _is_open_promise(last) or len(said) == 1:  # no user of a plan ends before it has said anything
        return "All right."
    return _GAVE_UP if _REFUSAL.search(last) and step is None and len(said) <= 1 + len(plan.steps) else GOAL


def _answer(plan: _Plan, details: Mapping[str, str], said: list[str], last: str) -> str | None:
    words = _words(last)
    for cue, text in plan.answers:
        if cue and len(cue & words) >= max(1, (len(cue) + 1) // 2) and text not in said[-2:]:
            return text
    asked = _question(last)
    for name, value in details.items():
        cue = _words(name.replace("_", " "))
        text = f"My {name.replace('_', ' ')} is {value}."
        if asked and cue and cue <= _words(asked) and text not in said:
            return text
    return None


def _covered(step: str, said: list[str]) -> bool:
    """Whether the opening, or what was said since, holds the step already."""
    words = _words(step)
    return not words or any(len(words & _words(one)) >= 0.8 * len(words) for one in said)


def _plan_of(text: str) -> _Plan:
    answers: list[tuple[frozenset[str], str]] = []
    steps: list[str] = []
    for line in _plan_lines(text):
        rule, say = _RULE.match(line), _SAY.match(line)
        if rule is not None:
            answers.append((_words(rule["cue"]), rule["say"]))
        elif say is not None:
            steps.append(say["say"])
        elif (stance := _STANCE.match(line)) is not None:
            thing = stance["thing"].rstrip(".")
            said = "Yes, please." if stance["yes"] else f"No, thank you, not {thing}."
            answers.append((_words(thing), said))
        elif not _NO_STEP.match(line) and not line.lower().startswith(("if ", "when ", "unless ")):
            steps.append(_in_first_person(line))
    return _Plan(answers=tuple(answers), steps=tuple(steps))


def _plan_lines(text: str) -> list[str]:
    """Lines, and the sentences of each; a quotation is never cut."""
    lines: list[str] = []
    for line in text.splitlines():
        masked = re.sub(r"^\s*(?:[-*\u2022]|\d+[.)])\s*", "", line).strip()
        quoted: list[str] = _QUOTED.findall(masked)
        for number, quotation in enumerate(quoted):
            masked = masked.replace(quotation, f"\u2039{number}\u203a", 1)
        for sentence in sentences(re.sub(r"\u203a\s+(?=[A-Z])", "\u203a. ", masked)):
            whole = sentence
            for number, quotation in enumerate(quoted):
                whole = whole.replace(f"\u2039{number}\u203a", quotation)
            lines.append(whole)
    return [line for line in lines if line]


def _in_first_person(line: str) -> str:
    text = line.strip().rstrip(".")
    for pattern, said in _SPOKEN:
        text = pattern.sub(said, text)
    text = text[:1].upper() + text[1:]
    return f"{text}?" if text.startswith("Could you") else f"{text}."


def _section(system: str, name: str) -> str | None:
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", system, re.DOTALL)
    return None if found is None else found[1]


def _details(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {name: str(value) for name, value in found.items() if isinstance(value, str | int | float)}


def last_reply(turns: list[tuple[str, str]]) -> str:
    """What the agent said last, without the frame around it."""
    text = next((text for role, text in reversed(turns) if role == "user"), "")
    found = re.search(r"<assistant>\n(.*)\n</assistant>", text, re.DOTALL)
    return text if found is None else found[1]


def sentences(text: str) -> list[str]:
    """The sentences of a text, without marks of emphasis and bullets."""
    return [part for piece in _ENDS.split(re.sub(r"[*_`#>|]+", " ", text)) if (part := " ".join(piece.split()))]


def is_open_question(text: str) -> bool:
    """Whether a text asks something beside whether there is anything else."""
    return any(_asks(one) and not _OFFER.search(one) for one in sentences(text))


def _asks(sentence: str) -> bool:
    return "?" in sentence or sentence.casefold().startswith("please ")


def _is_open_promise(text: str) -> bool:
    return any(_PROMISE.search(one) and not _OFFER.search(one) for one in sentences(text)[-2:])


def _question(text: str) -> str:
    """The last sentence that asks, offers of further help apart."""
    return next((one for one in reversed(sentences(text)) if _asks(one) and not _OFFER.search(one)), "")


def _words(text: str) -> frozenset[str]:
    words = re.findall(r"[a-z0-9$.]+", text.casefold().replace("\u2019", "'"))
    return frozenset(word.strip(".").removesuffix("s") for word in words) - _STOP - {""}
