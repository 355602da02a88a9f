"""Parses a judge's answer strictly: a text that is not exactly an answer to this criterion is not a verdict.

Prose is not searched for an answer, because it may repeat text from the evidence. Only a code fence around the whole
answer is removed.
"""

import json
import re
from collections.abc import Collection
from typing import Final, Literal

from pydantic import ConfigDict, ValidationError

from harness.documents import first_words
from harness.judge.prompting.request import TOOL
from harness.judge.rubric import Criterion
from harness.upstream import Replied
from harness.values import Frozen, JsonObject

_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_SHOWN: Final = 120
_MAX_RATIONALE: Final = 4000


class JudgeFailed(Exception):
    """There is no verdict; the message gives the reason."""


class GivenAnswer(Frozen):
    """The judge's answer; `verdict` is None where the criterion does not apply."""

    model_config = ConfigDict(strict=True)

    criterion: str
    eligible: bool
    rationale: str
    verdict: Literal["pass", "fail"] | None
    refs: tuple[str, ...] = ()


def read_answer(replied: Replied, criterion: Criterion, refs: Collection[str]) -> GivenAnswer:
    """The answer to this criterion; `refs` are the pieces in the request. Raises JudgeFailed."""
    answer = _shaped(answer_object(replied))
    if answer.criterion != criterion.id:
        raise JudgeFailed(f"answered the criterion {answer.criterion[:_SHOWN]!r}, not {criterion.id!r}")
    if answer.eligible != (answer.verdict is not None):
        raise JudgeFailed(
            "contradicts itself: "
            + ("eligible without a verdict" if answer.eligible else "a verdict on what is not eligible")
        )
    if not answer.eligible and criterion.eligibility is None:
        raise JudgeFailed("answered 'not eligible' for a criterion that always applies")
    known = tuple(ref for ref in dict.fromkeys(answer.refs) if ref in refs)
    if answer.refs and not known:
        raise JudgeFailed(f"cites evidence that does not exist: {', '.join(answer.refs)[:_SHOWN]}")
    return answer.model_copy(update={"refs": known, "rationale": answer.rationale[:_MAX_RATIONALE]})


def answer_object(replied: Replied) -> JsonObject:
    """The single JSON object of the judge's reply, a tool call or text. Raises JudgeFailed."""
    parts = (replied.message or {}).get("parts")
    found = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    for part in found:
        if part.get("type") == "tool_call" and part.get("name") == TOOL:
            arguments = part.get("arguments")
            return arguments if isinstance(arguments, dict) else _parsed(str(arguments))
    text = "\n".join(str(part.get("content")) for part in found if part.get("type") == "text")
    if not text.strip():
        raise JudgeFailed("returned no text")
    return _parsed(text, cut="length" in replied.finish_reasons or "max_tokens" in replied.finish_reasons)


def _parsed(text: str, *, cut: bool = False) -> JsonObject:
    fenced = _FENCE.match(text)
    try:
        value = json.loads(text if fenced is None else fenced[1], object_pairs_hook=_once)
    except (ValueError, RecursionError):
        why = "was cut off at its token limit" if cut else "answered with something that is not JSON"
        raise JudgeFailed(f"{why}: {' '.join(text.split())[:_SHOWN]!r}") from None
    if not isinstance(value, dict):
        raise JudgeFailed("answered with JSON that is not an object")
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Rejects two values under one name: the choice between them would be arbitrary."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _shaped(value: JsonObject) -> GivenAnswer:
    refs = value.get("refs")
    plain = value | ({"refs": tuple(refs)} if isinstance(refs, list) else {})
    try:
        return GivenAnswer.model_validate(plain)
    except ValidationError as error:
        field, problem = first_words(error)
        raise JudgeFailed(f"answered in an unexpected form: {field}: {problem}") from None
