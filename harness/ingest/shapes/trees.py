"""Answer trees of ToolBench: nodes with a role and a message, a tool's call and its response being one node's text.

A text is an object in Python's notation. One that was cut tells its tool, and of its arguments what is left; its
response is not known.
"""

import re
from collections.abc import Iterator
from typing import Final

from harness.ingest.python_text import object_in
from harness.values import JsonObject, JsonValue

_NAME: Final = re.compile(r"\{'name': '([^']{1,200})'")
_FINISH: Final[JsonObject] = {"name": "Finish", "description": "Hands in the answer, or gives up."}


def tree_messages(record: JsonObject) -> list[JsonValue] | None:
    """The messages of a record's tree, depth first; None: it has no tree."""
    answer = record.get("answer")
    roots = answer.get("answer_details") if isinstance(answer, dict) else None
    if not isinstance(roots, list) or not roots:
        return None
    stack, said, number = list(reversed(roots)), list[JsonValue](), 0
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        below = node.get("next")
        stack.extend(reversed(below if isinstance(below, list) else []))
        text = node.get("message")
        if node.get("role") == "tool" and isinstance(text, str):
            said += _called(f"node {number}", text)
            number += 1
        elif text:
            said.append({"role": node.get("role"), "content": text})
    return said


def tree_tools(record: JsonObject) -> list[JsonValue] | None:
    """The tools of a record with a tree, with the one that every run has to hand in its answer."""
    tools = record.get("available_tools")
    return [*tools, _FINISH] if isinstance(tools, list) else None


def _called(id: str, text: str) -> Iterator[JsonValue]:
    whole = object_in(text)
    found, (asked, closed, _) = _NAME.match(text), text.partition("'arguments': '")[2].partition("', 'response'")
    name = whole.get("name") if whole is not None else found[1] if found is not None else "unreadable"
    arguments: JsonValue = asked.replace("\\n", "\n") if closed else text
    if whole is not None:
        arguments = whole.get("arguments")
    yield {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]}
    if whole is not None and "response" in whole:
        yield {"role": "tool", "tool_call_id": id, "content": whole["response"]}
