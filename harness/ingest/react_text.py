"""Whole trajectories written as one text: `Thought 1: ... Action 1: search[Rome] Observation 1: ...`, as turns.

The marks may be numbered or not, and stand at the beginning of a line. A text counts as a trajectory where it has an
action and an observation at least.
"""

import re
from collections.abc import Iterator
from typing import Final

from harness.ingest.foreign import ForeignCall
from harness.ingest.reading import embedded_json
from harness.values import JsonObject

_MARK: Final = re.compile(r"(?m)^[ \t]{0,8}(Thought|Action Input|Action|Observation)(?: ?\d{1,3})?:[ \t]*")
_BRACKETS: Final = re.compile(r"\s*([A-Za-z][\w.-]{0,60})\[(.*)\]\s*", re.S)
_INVOKED: Final = re.compile(r"\s*([A-Za-z_][\w.]{0,60})\((.*)\)\s*(?:;\s*)?", re.S)
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,60}")
_LONGEST: Final = 5_000_000


def turns_of(text: str) -> list[JsonObject]:
    """The turns (`thought`, `action`, `action_input`, `observation`) of a text; empty where it is not a trajectory."""
    if "Action" not in text or "Observation" not in text or len(text) > _LONGEST:
        return []
    turns = list(_turns(text))
    acts = any("action" in turn for turn in turns) and any("observation" in turn for turn in turns)
    return [{"action": "", **turn} for turn in turns] if acts else []


def _turns(text: str) -> Iterator[JsonObject]:
    marks = list(_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    turn: JsonObject = {}
    for mark, end in zip(marks, ends, strict=False):
        name = mark[1].casefold().replace(" ", "_")
        if name in turn or (name == "thought" and turn) or "observation" in turn:
            yield turn
            turn = {}
        turn[name] = text[mark.end() : end].strip()
    if turn:
        yield turn


def written_call(action: str, *, invoked: bool = False) -> ForeignCall | None:
    """`search[Rome]` as a call; with `invoked` also `search("Rome")`. None where it is neither."""
    found = _BRACKETS.fullmatch(action) or (_INVOKED.fullmatch(action) if invoked else None)
    return None if found is None else ForeignCall(id=None, name=found[1], arguments={"input": _unquoted(found[2])})


def named_call(name: str, arguments_text: str) -> ForeignCall | None:
    """The call of an `Action:` line that names its tool alone, with its `Action Input:`."""
    if _NAME.fullmatch(name.strip()) is None:
        return None
    arguments = embedded_json(arguments_text)
    return ForeignCall(
        id=None,
        name=name.strip(),
        arguments=arguments if isinstance(arguments, dict) else {"input": _unquoted(arguments_text)},
    )


def is_invocation(action: str) -> bool:
    return _INVOKED.fullmatch(action) is not None


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def asked_in(text: str) -> str | None:
    """What stands before the first mark, without `Question:`; None where nothing does."""
    first = _MARK.search(text)
    asked = text[: first.start()].strip().removeprefix("Question:").strip() if first is not None else ""
    return asked or None
