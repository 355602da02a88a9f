"""Plain YAML as values in a third of PyYAML's time: from the events of its parser, without nodes and their marks.

Only what cassettes are written with is read here: texts, numbers, binary data, lists and mappings. Everything else, a
malformed file included, is left to the reader of vcrpy's format, whose answer and whose errors count.
"""

from collections.abc import Callable
from typing import Any, Final

import yaml

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_PLAIN: Final = frozenset(f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp"))
_BINARY = f"{_TAG}binary"
_DEPTH = 50
"""Deeper collections are left to the other reader, which bounds what it takes."""
_KEPT = 10_000
"""Plain scalars whose values are remembered: most of a cassette's come again in every recording."""


class NotPlainYaml(Exception):
    """The text is not plain YAML."""


def quick_values(text: str) -> Any:
    """The one document in the text. Raises Unusual for anchors, tags, merge keys, and what is deep or malformed."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.take[type(event)](event)
    except (yaml.YAMLError, ValueError, TypeError, KeyError) as error:
        raise NotPlainYaml(str(error)) from None
    return builder.document()


class _Builder:
    """Puts together the values of one document."""

    def __init__(self) -> None:
        self._documents: list[Any] = []
        self._open: list[tuple[Callable[[Any], None], Any]] = [(self._documents.append, None)]
        """For each open collection, how a value is added to it, and itself."""
        self._known: dict[str, Any] = {}
        self._resolver = _Loader("")
        self.take: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._sequence,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            **dict.fromkeys((yaml.StreamStartEvent, yaml.StreamEndEvent), self._pass),
            **dict.fromkeys((yaml.DocumentStartEvent, yaml.DocumentEndEvent), self._pass),
        }

    def document(self) -> Any:
        """The value of the one document."""
        if len(self._documents) != 1:
            raise NotPlainYaml("expected one document")
        return self._documents[0]

    def _pass(self, event: Any) -> None:
        """Neither a value nor a part of one."""

    def _scalar(self, event: Any) -> None:
        if event.anchor is not None:
            raise NotPlainYaml("an anchor")
        self._open[-1][0](self._plain(event.value) if event.implicit[0] else self._marked(event))

    def _plain(self, text: str) -> Any:
        if text in self._known:
            return self._known[text]
        tag = self._resolver.resolve(yaml.ScalarNode, text, (True, False))
        if tag not in _PLAIN:
            raise NotPlainYaml(f"a scalar of the tag {tag}")
        value = self._constructed(tag, text)
        if len(self._known) < _KEPT:
            self._known[text] = value
        return value

    def _marked(self, event: Any) -> Any:
        if event.implicit[1] and event.tag is None:
            return event.value
        if event.tag != _BINARY:
            raise NotPlainYaml(f"a scalar of the tag {event.tag}")
        return self._constructed(_BINARY, event.value)

    def _constructed(self, tag: str, text: str) -> Any:
        return self._resolver.construct_object(yaml.ScalarNode(tag, text), deep=True)

    def _mapping(self, event: Any) -> None:
        made: dict[Any, Any] = {}
        keys: list[Any] = []

        def add(value: Any) -> None:
            if keys:
                made[keys.pop()] = value
            else:
                hash(value)  # TypeError: a list or mapping as key
                keys.append(value)

        self._begin(event, add, made)

    def _sequence(self, event: Any) -> None:
        made: list[Any] = []
        self._begin(event, made.append, made)

    def _begin(self, event: Any, add: Callable[[Any], None], made: Any) -> None:
        if event.anchor is not None or event.tag is not None or len(self._open) > _DEPTH:
            raise NotPlainYaml("an anchor, a tag, or too deep")
        self._open.append((add, made))

    def _end(self, event: Any) -> None:
        del event
        made = self._open.pop()[1]
        self._open[-1][0](made)
