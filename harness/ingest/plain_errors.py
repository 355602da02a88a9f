"""Errors that a log reports only in the text of a result, without a flag.

Only what a recorder or a tool's own wrapper writes counts: a text that begins with its mark, an exit code that is not
zero. A word like "error" inside an answer tells nothing.
"""

import re
from typing import Final

from harness.trace import ToolErrorType, ToolFailure
from harness.values import JsonValue

_TYPE_ERROR: Final = re.compile(
    r"[A-Za-z_.]{0,60}Error: .{0,400}(unexpected keyword argument|missing \d+ required (positional|keyword-only))"
)
_UNKNOWN: Final = re.compile(
    r"(?:Error: )?(?:Unknown (?:action|tool|function)\b|(?:No such|Unrecogni[sz]ed) (?:tool|function)\b"
    r"|Invalid (?:tool|function) name\b|No (?:tool|function) (?:is )?(?:named|called|with (?:the )?name)\b"
    r"|tool_not_found\b"
    r"|(?:Tool|Action) [\"'`]?[\w.-]{1,80}[\"'`]? (?:is )?not found"
    r"|Tool [\"'`]?[\w.-]{1,80}[\"'`]? (?:does not exist|doesn't exist|is not (?:available|defined|registered|known))"
    r"|[\"'`]?[\w.-]{1,80}[\"'`]? is not a valid (?:tool|function)\b)",
    re.I,
)
_ERROR: Final = re.compile(
    r"\s{0,8}(?:(?:[A-Za-z_.]{0,60}(?:(?-i:Error|Exception))|(?-i:error|ERROR))(?: executing tool [\w.-]{1,80})?:"
    r"|Traceback \(most recent call last\)|\[ERROR\]|fatal: |Error from \w|(?:Request failed|Failed to|Access denied|"
    r"Permission denied)\b|(?:(?:HTTP|Error|Status)(?:/\d(?:\.\d)?)?:? )?[45]\d\d(?: -|:)? (?:Bad Request|"
    r"Unauthori[sz]ed|Forbidden|Not Found|Method Not|Conflict\b|Gone\b|Payload|Request Entity|"
    r"Unprocessable|Too Many|Internal Server|Bad Gateway|Service Unavailable|Gateway Time))",
    re.I,
)
_EXIT: Final = re.compile(
    r"(?:<returncode>|exit ?code:? ?|Exit code: |\[?[Cc]ommand (?:finished|exited) with (?:exit )?code )(-?\d{1,5})"
)
_HEAD: Final = 300
"""Characters of a result in which an exit code is searched for; `exitcode:` deeper in a text is the program's."""


def plain_failure(content: JsonValue) -> ToolFailure | None:
    """The failure in the text of a result; None where it contains none."""
    if not isinstance(content, str):
        return None
    if _UNKNOWN.match(content):
        return ToolFailure(type="unknown_tool", message=content[:500])
    if _ERROR.match(content):
        return ToolFailure(type=_type_of(content), message=content[:500])
    code = _EXIT.match(content[:_HEAD].lstrip())
    if code is not None and int(code[1]) != 0:
        return ToolFailure(type="tool_error", message=content[:500])
    return None


def _type_of(content: str) -> ToolErrorType:
    return "invalid_arguments" if _TYPE_ERROR.match(content) else "tool_error"
