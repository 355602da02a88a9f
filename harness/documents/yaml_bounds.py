"""Limits the depth and size of YAML, checked before PyYAML builds any value.

PyYAML's C parser recurses, and crashes the process at some 25,000 levels; ten lines of aliases to aliases expand
to more values than fit into memory. Neither can be caught.
"""

import re
from pathlib import Path

import yaml

from harness.errors import InvalidDocument

MAX_DEPTH = 1000
_UNFOLDED = 100_000
"""The number of values that aliases may add."""
_DEEP_LINE = re.compile(rf"^[ \t?:-]{{{MAX_DEPTH}}}", re.MULTILINE)
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def refuse_boundless_yaml(path: Path, text: str) -> None:
    """Raises InvalidDocument for YAML that is nested too deeply, or whose aliases expand to too many values."""
    if text.count("[") + text.count("{") < MAX_DEPTH and not _may_have_aliases(text) and not _DEEP_LINE.search(text):
        return
    measure = _Measure(path, len(text) + _UNFOLDED)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            measure.take(event)
    except (yaml.YAMLError, ValueError):
        return  # the loader reports the error


def _may_have_aliases(text: str) -> bool:
    return "*" in text and "&" in text


class _Measure:
    """Counts values; an alias counts as many as its anchor."""

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._sizes = [0]
        self._open: list[str | None] = []
        self._anchors: dict[str | None, int] = {}

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.CollectionStartEvent():
                self._sizes.append(1)
                self._open.append(event.anchor)
            case yaml.CollectionEndEvent():
                size = self._sizes.pop()
                self._sizes[-1] += size
                self._anchors[self._open.pop()] = size
            case yaml.AliasEvent():
                if event.anchor in self._open:
                    self._refuse(event, f"the alias *{event.anchor} stands inside itself")
                self._sizes[-1] += self._anchors.get(event.anchor, 1)
            case _:
                self._sizes[-1] += 1
        if len(self._sizes) > MAX_DEPTH:
            self._refuse(event, f"is nested deeper than {MAX_DEPTH} levels")
        if self._sizes[-1] > self._most:
            self._refuse(event, "its aliases unfold to too many values")

    def _refuse(self, event: yaml.Event, problem: str) -> None:
        mark = event.start_mark
        raise InvalidDocument(self._path, problem, line=None if mark is None else mark.line + 1)
