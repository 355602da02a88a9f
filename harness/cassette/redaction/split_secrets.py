"""Finds secrets whose pieces stand in texts that a client joins: the deltas of a streamed answer.

Each text belongs to channels: its place in its event, exactly and without the numbers of lists. What a channel's texts
have in common with the beginning of a secret is kept, and the events with it wait for the next text.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from harness.cassette.redaction.pseudonyms import encoded, pseudonym_of
from harness.cassette.redaction.secret_search import MARK, SecretSearch
from harness.values import JsonValue

WAITS_FROM: Final = 3
"""The number of bytes of a possible secret from which an event waits; fewer are the end of many a text."""
_MOST_CHANNELS: Final = 1024
_NUMBERS: Final = frozenset({"index", "output_index", "content_index", "contentBlockIndex", "item_id"})
"""Members that say which of several texts a delta continues."""

Place = tuple[str | int, ...]


class EventText:
    """One text of one event."""

    def __init__(self, text: str, places: tuple[Place, ...]) -> None:
        self.raw, self._errors = encoded(text)
        self.places = places
        self.is_sent = False
        self.is_changed = False

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", self._errors if not self.is_changed else "replace")

    def cut(self, start: int, end: int, replacement: bytes) -> None:
        self.raw = self.raw[:start] + replacement + self.raw[end:]
        self.is_changed = True


class SplitSearch:
    """The channels of one stream."""

    def __init__(self, search: SecretSearch) -> None:
        self._search = search
        self._open: dict[Place, tuple[list[EventText], int]] = {}
        """The last texts of a channel, and where in the first of them a secret may begin."""

    def take(self, part: EventText) -> None:
        """Continues the part's channels, and removes what is found from the parts that are not sent."""
        for place in part.places:
            parts, start = self._open.pop(place, ([], 0))
            found = self._left([*parts, part], start)
            if found is not None:
                self._open[place] = found
        while len(self._open) > _MOST_CHANNELS:
            del self._open[next(iter(self._open))]

    def waiting(self) -> Iterator[EventText]:
        """The parts in which a secret may have begun, of which enough is there."""
        for parts, start in self._open.values():
            if sum(len(part.raw) for part in parts) - start >= WAITS_FROM:
                yield from parts

    def _left(self, parts: list[EventText], start: int) -> tuple[list[EventText], int] | None:
        text = b"".join(part.raw for part in parts)
        at, matches = min(start, len(text)), list[tuple[int, int, bytes]]()
        while not isinstance(found := self._search.next_or_open(text, at), int):
            matches.append((found.start, found.end, pseudonym_of(found.name)))
            at = found.end
        left = len(text) - found
        for begin, end, pseudonym in reversed(matches):
            _replace(parts, begin, end, pseudonym)
        while parts and left < sum(len(part.raw) for part in parts[1:]):
            parts = parts[1:]
        return (parts, sum(len(part.raw) for part in parts) - left) if left else None


def holds_none(search: SecretSearch, parts: Iterable[EventText]) -> bool:
    """Whether certainly no channel of these texts, which are all that there are, holds a secret: one search of all
    channels. False also where only a `SplitSearch` can tell.
    """
    channels: defaultdict[Place, list[bytes]] = defaultdict(list)
    for part in parts:
        for place in part.places:
            channels[place].append(part.raw)
    if search.separator is None:
        return False
    joined = search.separator.join(map(b"".join, channels.values()))
    # What a pseudonym contains is skipped, and two searches may find its beginning at different places.
    return MARK not in joined and search.next(joined) is None


def _replace(parts: list[EventText], start: int, end: int, pseudonym: bytes) -> None:
    """Replaces the bytes from `start` to `end` of the joined parts, as far as they are not sent."""
    at = 0
    for part in parts:
        length = len(part.raw)
        first, last = max(start - at, 0), min(end - at, length)
        if first < last and not part.is_sent:
            part.cut(first, last, pseudonym)
            pseudonym = b""
        at += length


def parts_of(value: JsonValue) -> list[EventText]:
    """Every text of a value, in order."""
    found: list[EventText] = []
    waiting: list[tuple[JsonValue, Place, Place]] = [(value, (), ())]
    while waiting:
        one, exact, loose = waiting.pop()
        match one:
            case str():
                found.append(EventText(one, (exact,) if exact == loose else (exact, ("", *loose))))
            case dict():
                numbers = tuple(str(item) for name, item in one.items() if name in _NUMBERS)
                for name, item in reversed(one.items()):
                    waiting.append((item, (*exact, *numbers, name), (*loose, name)))
            case list():
                for at, item in reversed(list(enumerate(one))):
                    waiting.append((item, (*exact, at), loose))
            case _:
                pass
    return found


def with_parts(value: JsonValue, parts: Iterator[EventText]) -> JsonValue:
    """The value with the texts of `parts`, in the order of `parts_of`."""
    match value:
        case str():
            return next(parts).text
        case dict():
            return {name: with_parts(item, parts) for name, item in value.items()}
        case list():
            return [with_parts(item, parts) for item in value]
        case _:
            return value
