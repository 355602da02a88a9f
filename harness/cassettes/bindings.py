"""Which value of one side stands for which value of the other, and in which fields.

A long value is the same thing wherever it occurs. A short one, such as 7, may be the number of an order in one field
and that of a customer in another: it is translated if the field tells the kind of thing that it was learnt for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.cassettes.volatility import Path, is_identity
from harness.values import JsonObject

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OF_IDENTITY = frozenset({"id", "ids", "uuid", "guid", "cursor", "nonce"})
_SHARED_STEM = 4


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place of a value: its member, the members around it, and the tool whose arguments or answer it is part of."""

    tool: str = ""
    path: tuple[str, ...] = ()
    """Names of members from the root; list indexes are left out."""

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else ""

    @property
    def kind(self) -> frozenset[str]:
        """Words for the kind of thing that the member names: `order` of `order_id`; none of a bare `id`."""
        return words(self.name) if is_identity(self.name) else frozenset()

    @property
    def around(self) -> frozenset[str]:
        """Words for the kind if the member does not say it: of the member around it and of the tool."""
        return words(self.path[-2] if len(self.path) > 1 else "") | words(self.tool)

    def below(self, name: str) -> "Place":
        return Place(tool=self.tool, path=(*self.path, name))


def place_of(tool: str, path: Path) -> Place:
    return Place(tool=tool, path=tuple(step for step in path if not step.isdigit()))


@dataclass(frozen=True, kw_only=True)
class IdentityKinds:
    """What the parameters of a suite's tools tell about identities."""

    named: frozenset[str] = frozenset()
    """Words for kinds of things that have an identity: `order` of `order_id`."""
    has_bare: bool = False
    """Whether a tool takes an identity whose member does not say the kind: `id`."""
    taken: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Tool -> words for the kinds that it takes: what it generates is something else."""


@dataclass(kw_only=True)
class Bindings:
    """The pairs that were learnt in one direction, and what is known about the fields that hold identities."""

    kinds: IdentityKinds
    values: dict[str, str] = field(default_factory=dict)
    """Value -> the first other value that was learnt for it."""
    _learnt: dict[str, list[tuple[str, Place]]] = field(default_factory=dict)
    _own: set[tuple[frozenset[str] | tuple[str, str], str]] = field(default_factory=set)
    """Kinds, or tools with their bare fields, and values that were seen there before they were learnt elsewhere."""

    def bind(self, value: str, other: str, place: Place) -> None:
        learnt = self._learnt.setdefault(value, [])
        if any(place.name == one.name and place.around == one.around for _, one in learnt):
            return
        learnt.append((other, place))
        self.values.setdefault(value, other)

    def is_pair(self, value: str, other: str) -> bool:
        return any(other == one for one, _ in self._learnt.get(value, ()))

    def keep(self, value: str, place: Place) -> None:
        """States that the value means the same on both sides in such a place, unless it was learnt already."""
        if value and is_identity(place.name) and value not in self._learnt:
            self._own.add((self._field(place), value))

    def named(self, value: str, place: Place) -> str | None:
        """The other value in a member that holds identities, or in which the value was seen to change."""
        return next(
            (other for other, origin in self._best(value, place) if self._may_translate(value, origin, place)), None
        )

    def in_path(self, value: str, before: str) -> str | None:
        """The other value as a segment of a path, behind the segment `before`."""
        kind = words(before)
        for other, origin in self._learnt.get(value, ()):
            if _overlap(kind, origin.kind or origin.around) or not _overlap(kind, self.kinds.named):
                return other
        return None

    def _best(self, value: str, place: Place) -> Iterator[tuple[str, Place]]:
        """What was learnt in a place of the same kind comes before the rest."""
        kind = place.kind or place.around
        learnt = self._learnt.get(value, [])
        yield from (one for one in learnt if _overlap(kind, one[1].kind or one[1].around))
        yield from learnt

    def _may_translate(self, value: str, origin: Place, place: Place) -> bool:
        if (self._field(place), value) in self._own:
            return False
        if not is_identity(place.name):
            return place.name == origin.name
        told = origin.kind or words(origin.name) | origin.around
        if _overlap(place.kind or place.around, told):
            return True
        if _overlap(place.kind, self.kinds.taken.get(origin.tool, frozenset())):
            return False
        if not place.kind:
            return not _overlap(place.around, self.kinds.named)
        return not origin.kind and not _overlap(told, self.kinds.named) and not self.kinds.has_bare

    def _field(self, place: Place) -> frozenset[str] | tuple[str, str]:
        return place.kind or (place.tool, place.name)


def identity_kinds(parameters: Mapping[str, JsonObject]) -> IdentityKinds:
    """The kinds of the identities among the parameters of tools; `parameters`: tool -> schema of its arguments."""
    found = {tool: [words(name) for name in _members(one) if is_identity(name)] for tool, one in parameters.items()}
    taken = {tool: frozenset[str]().union(*kinds) for tool, kinds in found.items()}
    has_bare = any(not kind for kinds in found.values() for kind in kinds)
    return IdentityKinds(named=frozenset[str]().union(*taken.values()), has_bare=has_bare, taken=taken)


def _members(schema: JsonValue) -> Iterator[str]:
    match schema:
        case dict():
            properties = schema.get("properties")
            yield from properties if isinstance(properties, dict) else ()
            for inner in schema.values():
                yield from _members(inner)
        case list():
            for inner in schema:
                yield from _members(inner)
        case _:
            pass


def words(name: str) -> frozenset[str]:
    """The words of a name, without those that say that it is an identity."""
    return frozenset(word.lower() for word in _WORD.findall(name)) - _OF_IDENTITY


def _overlap(some: Iterable[str], others: Set[str]) -> bool:
    return any(_same_word(one, other) for one in some for other in others)


def _same_word(one: str, other: str) -> bool:
    """Equal but for an ending: `order` and `orders`, `book` and `booking`."""
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) >= _SHARED_STEM and long.startswith(short)) or long == f"{short}s"
