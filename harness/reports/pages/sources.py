"""Which call of a tool a value of a trial came from, for a reader who follows it to its source."""

import json
import re
from collections.abc import Callable, Iterator, Sequence

from pydantic import JsonValue

from harness.reports.pages.markup import Child, Markup, fragment, link
from harness.traces.trajectory import Step

_TOKEN = re.compile(r"\w+(?:[-.@/:+']\w+)*")
_MOST_VALUES = 20_000
_LONGEST = 200
_MOST_TEXT = 200_000


class Sources:
    """Values that a tool was the first to name: not the user, and not the agent in an earlier call."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._first: dict[str, int] = {}
        self._by_token: dict[str, list[str]] = {}
        said: set[str] = set()
        for step in steps:
            if step.source != "agent":
                said.update(_TOKEN.findall((step.message or "")[:_MOST_TEXT]))
            for call in step.calls:
                said.update(token for leaf in _leaves(call.arguments) for token in _TOKEN.findall(leaf))
            for seen in step.observations:
                for value in _leaves(seen.content):
                    self._add(value, step.index, said)
        for values in self._by_token.values():
            values.sort(key=len, reverse=True)

    def _add(self, value: str, step: int, said: set[str]) -> None:
        tokens = _TOKEN.findall(value)
        if not _is_telling(value, tokens) or value in self._first or len(self._first) >= _MOST_VALUES:
            return
        if all(token in said for token in tokens) or not value.startswith(tokens[0]):
            return
        self._first[value] = step
        self._by_token.setdefault(tokens[0], []).append(value)

    def linked(self, text: str, step: int, place: Callable[[int], str]) -> Child:
        """The text of a step, in which each value of an earlier call leads to that call; `place`: of a step."""
        parts: list[Child] = []
        done = 0
        for found in _TOKEN.finditer(text):
            if found.start() < done:
                continue
            value = self._value_at(text, found, step)
            if value is not None:
                parts += [text[done : found.start()], self._link(value, place)]
                done = found.start() + len(value)
        return fragment(*parts, text[done:]) if parts else text

    def _value_at(self, text: str, token: re.Match[str], step: int) -> str | None:
        for value in self._by_token.get(token[0], ()):
            end = token.start() + len(value)
            whole = text.startswith(value, token.start()) and not text[end : end + 1].isalnum()
            if whole and self._first[value] < step:
                return value
        return None

    def _link(self, value: str, place: Callable[[int], str]) -> Markup:
        step = self._first[value]
        return link(place(step), value, class_="source", title=f"from the answer in step {step}")


def _is_telling(value: str, tokens: Sequence[str]) -> bool:
    """A word alone may stand anywhere by chance; a number, an identifier or a phrase may not."""
    return bool(tokens) and 3 <= len(value) <= _LONGEST and (len(tokens) > 1 or any(map(str.isdigit, value)))


def _leaves(value: JsonValue) -> Iterator[str]:
    """Texts and numbers of a value. Of a text that is no JSON, the words with a digit."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, str):
        yield from _of_text(value[:_MOST_TEXT])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _of_text(text: str) -> Iterator[str]:
    if text[:1] in "{[":
        try:
            yield from _leaves(json.loads(text))
        except (ValueError, RecursionError):
            pass
        else:
            return
    if len(text) <= _LONGEST:
        yield text
    yield from (token for token in _TOKEN.findall(text) if any(map(str.isdigit, token)))
