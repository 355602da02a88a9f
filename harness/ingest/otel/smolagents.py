"""The messages in which smolagents tells a model of its earlier calls: text, where others have fields.

`Calling tools:` and a list in Python's notation is a reply's calls; `Call id: ...`, then `Observation:` or `Error:`, is
a result. The roles are `tool-call` and `tool-response`, or plain `user` and `assistant` where the provider knows no
others.
"""

import ast
import re
from typing import Any, Final

from harness.ingest.foreign import ForeignCall, ForeignResult
from harness.trace import ToolFailure
from harness.values import JsonValue

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
        listed: Any = ast.literal_eval(text[opened.end() :].strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    found = [_call(item) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return tuple(call for call in found if call is not None) or None


def result_in(text: str, *, told_as_result: bool) -> ForeignResult | None:
    """The result that a message tells; None where it tells none. `told_as_result`: its role says that it is one."""
    opened = _RESULT.match(text)
    if opened is None or not (opened[1] or told_as_result):
        return ForeignResult(call_id=None, content=text) if told_as_result else None
    content = text[opened.end() :].strip()
    failed = opened[2] == "Error"
    kind = "unknown_tool" if _UNKNOWN.search(content[:500]) else "tool_error"
    error = ToolFailure.model_validate({"type": kind, "message": content[:500]}) if failed else None
    return ForeignResult(call_id=opened[1], content=content, error=error)


def _call(item: dict[Any, Any]) -> ForeignCall | None:
    function = item.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    told = function.get("arguments")
    name = function["name"]
    arguments: JsonValue = {"code": told} if name == "python_interpreter" and isinstance(told, str) else told
    if isinstance(arguments, dict):
        arguments = {str(key): value for key, value in arguments.items()}
    call_id = item.get("id")
    return ForeignCall(id=call_id if isinstance(call_id, str) else None, name=name, arguments=arguments)
