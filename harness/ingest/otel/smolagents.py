"""The messages in which smolagents tells a model of its earlier calls: text, where others have fields.

`Calling tools:` and a list in Python's notation is a reply's calls; `Call id: ...`, then `Observation:` or `Error:`, is
a result. The roles are `tool-call` and `tool-response`, or plain `user` and `assistant` where the provider knows no
others.
"""

import ast
import json
import re
from typing import Final

from harness.ingest.foreign import ForeignCall, ForeignResult
from harness.ingest.reading import embedded_json
from harness.trace import ToolFailure
from harness.values import JsonObject, JsonValue

_CALLING: Final = re.compile(r"\s*Calling tools:\s*(?=\[)")
_RESULT: Final = re.compile(r"\s*(?:Call id: (\S{1,120})\s*\n)?(Observation|Error):\s*")
_LONGEST: Final = 100_000
"""Characters of a list of calls that Python's own reader is given."""
_UNKNOWN: Final = re.compile(r"(?i)unknown tool|forbidden function|tool .{1,80} (?:not found|does not exist)")


def calls_in(text: str) -> tuple[ForeignCall, ...] | None:
    """The calls that a message lists; None where it lists none."""
    opened = _CALLING.match(text)
    if opened is None or len(text) > _LONGEST:
        return None
    try:
        # What Python's notation has and JSON has not (bytes, sets, infinities) could be neither stored nor digested.
        listed = embedded_json(json.dumps(ast.literal_eval(text[opened.end() :].strip()), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    found = [_call(item) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return tuple(call for call in found if call is not None) or None


def result_in(text: str, *, is_observation: bool) -> ForeignResult | None:
    """The result that a message tells; None where it tells none. `is_observation`: its role says that it is one."""
    opened = _RESULT.match(text)
    if opened is None or not (opened[1] or is_observation):
        return ForeignResult(call_id=None, content=text) if is_observation else None
    content = text[opened.end() :].strip()
    failed = opened[2] == "Error"
    kind = "unknown_tool" if _UNKNOWN.search(content[:500]) else "tool_error"
    error = ToolFailure.model_validate({"type": kind, "message": content[:500]}) if failed else None
    return ForeignResult(call_id=opened[1], content=content, error=error)


def _call(item: JsonObject) -> ForeignCall | None:
    function = item.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str):
        return None
    raw = function.get("arguments")
    arguments: JsonValue = {"code": raw} if name == "python_interpreter" and isinstance(raw, str) else raw
    call_id = item.get("id")
    return ForeignCall(id=call_id if isinstance(call_id, str) else None, name=name, arguments=arguments)
