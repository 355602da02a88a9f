"""Actions that agents write as text: code blocks and tags in a reply, parsed as calls.

A form counts as calls only where the log declares it (in the system's or the first user's message) or shows
it in use (at least half of the agent's replies hold it, and each of these is followed by somebody else's message).
What follows such a reply is then the observation of its call.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.ingest.foreign import ForeignCall
from harness.ingest.react_text import named_call, written_call
from harness.ingest.reading import embedded_json
from harness.values import JsonValue

_LONGEST: Final = 200_000
"""Characters of a reply that are searched; a longer one contains data, not an action."""
_SHELLS: Final = frozenset({"", "bash", "sh", "shell", "console", "zsh"})
_PYTHON: Final = frozenset({"py", "python", "python3"})
_FENCE: Final = re.compile(r"```([a-zA-Z0-9_-]{0,20})[ \t]*\n(.*?)(?:\n```|```|\Z)", re.S)
_TAG: Final = re.compile(r"<(execute_bash|execute_ipython|execute|bash|ipython|run_ipython|action)>")
_FUNCTION: Final = re.compile(r"<(function)=([\w.-]{1,80})>")
_PARAMETER: Final = re.compile(r"<(parameter)=([\w.-]{1,80})>")
_TOOL_CALL: Final = re.compile(r"<(tool_call)>(?=\s{0,200}\{)")
_REACT_JSON: Final = re.compile(r"(?m)^\s{0,8}Action(?: ?\d{1,3})?:\s*(?=\{)")
_REACT: Final = re.compile(
    r"(?m)^\s{0,8}Action(?: ?\d{1,3})?:\s*([\w.-]{1,80})\s*\n\s{0,8}Action Input(?: ?\d{1,3})?:\s*"
    r"(.*?)(?=\nObservation(?: ?\d{1,3})?:|\Z)",
    re.S,
)
_REACT_BRACKETS: Final = re.compile(r"(?m)^\s{0,8}Action(?: ?\d{1,3})?:[ \t]*([A-Za-z][\w.-]{0,60}\[[^\n]*\])[ \t]*$")
_INVOCATION: Final = re.compile(r"\s*([A-Za-z_][\w.]{0,60})\((.*)\)\s*(?:#[^\n]*)?\Z", re.S)
_THINK: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.S)


@dataclass(frozen=True, kw_only=True)
class ActionForm:
    """One way to write actions: what shows it, and how the calls of a reply are found."""

    name: str
    shown_by: re.Pattern[str]
    """Matches instructions that declare the form."""
    find: Callable[[str], "list[Written]"]
    is_explicit: bool = False
    """It is nothing but an action wherever it stands, so that one use of it tells how the agent acts."""

    def acted(self, text: str) -> tuple[str | None, tuple[ForeignCall, ...]]:
        """The text around a reply's actions, and the calls; None for an empty text."""
        found = self.find(_THINK.sub("", text)[:_LONGEST])
        kept, end = [], 0
        plain = _THINK.sub("", text)
        for one in found:
            kept.append(plain[end : one.start])
            end = max(end, one.end)
        said = "".join([*kept, plain[end:]]).strip()
        return said or None, tuple(one.call for one in found)


@dataclass(frozen=True, kw_only=True)
class Written:
    """A call and its span of the text."""

    call: ForeignCall
    start: int
    end: int


def form_of(instructions: Iterable[str], replies: Sequence[tuple[str, bool]]) -> ActionForm | None:
    """The form in which this log's agent acts; None where it writes no actions.

    `replies`: each reply's text, and whether somebody else's message follows it.
    """
    instructions_text = "\n".join(instructions)[:_LONGEST]
    for form in FORMS:
        using = [followed for text, followed in replies if form.find(_THINK.sub("", text))]
        if not using:
            continue
        declared = form.shown_by.search(instructions_text) is not None
        shown = 2 * len(using) >= len(replies) and len(using) >= 2 and sum(not one for one in using) <= 1
        used = 2 * len(using) >= len(replies) or (form.is_explicit and any(using))
        if (declared and used) or shown:
            return form
    return None


def _fenced(languages: frozenset[str], tool: str, argument: str) -> "Callable[[str], list[Written]]":
    def find(text: str) -> list[Written]:
        if "```" not in text:
            return []
        return [
            _written(match, tool, {argument: match[2].strip()})
            for match in _FENCE.finditer(text)
            if match[1].lower() in languages and match[2].strip()
        ]

    return find


def _written(match: re.Match[str], name: str, arguments: JsonValue) -> Written:
    return Written(call=ForeignCall(id=None, name=name, arguments=arguments), start=match.start(), end=match.end())


@dataclass(frozen=True, kw_only=True)
class _Element:
    """A tag, up to the next end of one of its kind."""

    opened: re.Match[str]
    content: str
    end: int

    def written(self, name: str, arguments: JsonValue) -> Written:
        call = ForeignCall(id=None, name=name, arguments=arguments)
        return Written(call=call, start=self.opened.start(), end=self.end)


def _elements(text: str, opening: re.Pattern[str]) -> Iterator[_Element]:
    """In linear time, however many tags are opened and never closed: the agent wrote them."""
    at, ends = 0, dict[str, int]()
    while (opened := opening.search(text, at)) is not None:
        closing, at = f"</{opened[1]}>", opened.end()
        end = ends.get(closing, 0)
        if 0 <= end < at:
            end = ends[closing] = text.find(closing, at)
        if end >= 0:
            content, at = text[at:end], end + len(closing)
            yield _Element(opened=opened, content=content, end=at)


def _tagged(text: str) -> list[Written]:
    return [_invoked(one, one.opened[1], one.content.strip()) for one in _elements(text, _TAG)] if "</" in text else []


def _invoked(element: _Element, tag: str, body: str) -> Written:
    """`click('12')` in an `<action>` names its tool; a script is an argument of the tag's own tool."""
    call = _INVOCATION.fullmatch(body) if tag == "action" else None
    if call is not None and "\n" not in call[1]:
        return element.written(call[1], {"arguments": call[2].strip()})
    return element.written(tag, {"command" if "bash" in tag or tag == "execute" else "code": body})


def _functions(text: str) -> list[Written]:
    if "<function=" not in text:
        return []
    return [
        one.written(
            one.opened[2], {inner.opened[2]: inner.content.strip("\n") for inner in _elements(one.content, _PARAMETER)}
        )
        for one in _elements(text, _FUNCTION)
    ]


def _tool_calls(text: str) -> list[Written]:
    found = []
    for one in _elements(text, _TOOL_CALL):
        parsed = embedded_json(one.content)
        if isinstance(parsed, dict) and isinstance(parsed.get("name"), str):
            found.append(one.written(str(parsed["name"]), parsed.get("arguments")))
    return found


def _react(text: str) -> list[Written]:
    """At most one call: a reply contains one action, and text after it is invented by the model."""
    if "Action" not in text:
        return []
    opened = _REACT_JSON.search(text)
    if opened is None:
        return _named_or_bracketed(text)
    try:
        action, end = json.JSONDecoder().raw_decode(text, opened.end())
    except (ValueError, RecursionError):
        body = text[opened.end() :].strip()
        call = ForeignCall(id=None, name="unreadable", arguments=None, unparsed=body)
        return [Written(call=call, start=opened.start(), end=len(text))]
    if not isinstance(action, dict) or not isinstance(action.get("name"), str):
        return []
    arguments = action.get("arguments", action.get("kwargs"))
    return [Written(call=ForeignCall(id=None, name=action["name"], arguments=arguments), start=opened.start(), end=end)]


def _named_or_bracketed(text: str) -> list[Written]:
    """`Action: search` with its `Action Input:`, or `Action: search[Rome]`."""
    found = _REACT.search(text)
    call = named_call(found[1], found[2].strip()) if found is not None else None
    if found is None:
        found = _REACT_BRACKETS.search(text)
        call = written_call(found[1]) if found is not None else None
    return [] if found is None or call is None else [Written(call=call, start=found.start(), end=found.end())]


FORMS: Final = (
    ActionForm(name="function", shown_by=re.compile(r"<function="), find=_functions, is_explicit=True),
    ActionForm(name="tool_call", shown_by=re.compile(r"<tool_call>"), find=_tool_calls, is_explicit=True),
    ActionForm(name="tags", shown_by=re.compile(r"<(?:execute\w*|bash|ipython|run_ipython|action)>"), find=_tagged),
    ActionForm(name="react", shown_by=re.compile(r"(?m)^[ \t]*Action(?: ?\d{1,3})?:"), find=_react, is_explicit=True),
    ActionForm(
        name="bash",
        shown_by=re.compile(r"```(?:bash|sh|shell)\b|bash code block|(?i:shell|command)"),
        find=_fenced(_SHELLS, "bash", "command"),
    ),
    ActionForm(
        name="python",
        shown_by=re.compile(r"```py(?:thon)?\b|(?i:python code)"),
        find=_fenced(_PYTHON, "python_interpreter", "code"),
    ),
)
"""The forms, the most explicit first."""
