"""Valid inputs changed a little: by their structure, and by their text."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from harness.errors import HarnessError
from harness.suite.documents import refuse_boundless_yaml
from qa.fuzz.oddities import NUMBERS, RAW_JSON, RAW_YAML, TOKENS, VALUES, Raw
from qa.fuzz.reader import Syntax

_DEEP = (2_000, 100_000)
_MOST_EDITS = 3


class _Twin(str):
    """A key that can stand in an object beside its equal."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__


@dataclass(frozen=True)
class Mutator:
    """Changes the seeds of one reader."""

    syntax: Syntax
    seeds: Sequence[bytes]

    def make(self, chance: Random) -> bytes:
        """One input: a seed changed in its structure, in its text, or in both."""
        return self.change(chance.choice(self.seeds), chance)

    def change(self, content: bytes, chance: Random) -> bytes:
        way = chance.randrange(4)
        if way > 0:
            with suppress(RecursionError):  # an input that is too deep already
                content = self._restructured(content, chance)
        return _retyped(content, chance) if way in (0, 3) else content

    def _restructured(self, content: bytes, chance: Random) -> bytes:
        match self.syntax:
            case "json" | "yaml":
                tree = _tree(content)
                return _text(_changed(tree, chance, self.syntax)) if tree is not None else content
            case "lines":
                lines = content.split(b"\n")
                at = chance.randrange(len(lines))
                tree = _tree(lines[at])
                if tree is not None:
                    lines[at] = _text(_changed(tree, chance, "json"))
                return b"\n".join(lines)
            case _:
                return _retyped(content, chance)


@lru_cache(maxsize=512)
def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        pass
    try:
        refuse_boundless_yaml(Path("changed.yaml"), content.decode())  # its aliases would be unfolded by `_copied`
        return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (HarnessError, yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return None  # also where a tag stands before what is none of it


def _tree(content: bytes) -> Any:
    """The values of a text, free to be changed; None where it is none."""
    found = _parsed(content)
    return None if found is None else _copied(found)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list | tuple | set) else value


def _changed(tree: Any, chance: Random, syntax: Syntax) -> Any:
    root = [tree]
    for _ in range(chance.randint(1, _MOST_EDITS)):
        places = list(_places(root))
        holder, key = places[chance.randrange(len(places))]
        _edit(holder, key, chance, syntax)
    return root[0]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree: what holds it, and by which key."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def _edit(holder: Any, key: Any, chance: Random, syntax: Syntax) -> None:
    old = holder[key]
    match chance.randrange(10):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[chance.choice(("", "x", "\x00", "\ud800", "a.b", "$ref", "<<", f"{key}x", "k" * 5000))] = old
        case 2 if isinstance(holder, dict):
            holder[_Twin(str(key))] = chance.choice((old, None, _odd(chance, syntax)))
        case 3 if isinstance(holder, list):
            holder.extend([old] * chance.choice((1, 2, 300)))
        case 4:
            holder[key] = chance.choice(([old], {"a": old}, {str(key): old}, [[[old]]]))
        case 5 if isinstance(old, str):
            holder[key] = _in_text(old, chance)
        case 6 if isinstance(old, int | float):
            holder[key] = chance.choice(NUMBERS)
        case _:
            holder[key] = _odd(chance, syntax)


def _odd(chance: Random, syntax: Syntax) -> Any:
    raw = RAW_YAML if syntax == "yaml" else RAW_JSON
    return _copied(chance.choice(VALUES)) if chance.randrange(3) else chance.choice(raw)


def _in_text(text: str, chance: Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(TOKENS).decode("utf-8", "surrogateescape") + text[at + chance.randrange(2) :]


def _text(tree: Any) -> bytes:
    parts: list[str] = []
    _write(tree, parts)
    return "".join(parts).encode("utf-8", "surrogatepass")


def _write(value: Any, parts: list[str]) -> None:
    match value:
        case Raw():
            parts.append(value.text)
        case dict():
            parts.append("{")
            for number, (key, item) in enumerate(value.items()):
                parts += [", " if number else "", json.dumps(str(key)), ": "]
                _write(item, parts)
            parts.append("}")
        case list():
            parts.append("[")
            for number, item in enumerate(value):
                parts.append(", " if number else "")
                _write(item, parts)
            parts.append("]")
        case None | bool() | int() | float() | str():
            parts.append(json.dumps(value))
        case _:  # YAML's dates and bytes
            parts.append(json.dumps(str(value)))


def _retyped(content: bytes, chance: Random) -> bytes:
    """The same text with something of it cut, doubled, replaced or put in."""
    for _ in range(chance.randint(1, _MOST_EDITS)):
        at = chance.randrange(len(content) + 1)
        end = min(len(content), at + chance.choice((1, 1, 2, 8, 64)))
        match chance.randrange(8):
            case 0:
                content = content[:at]
            case 1:
                content = content[:at] + content[end:]
            case 2:
                content = content[:end] + content[at:]
            case 3:
                content = content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
            case 4:
                content = chance.choice((b"\xef\xbb\xbf" + content, content.replace(b"\n", b"\r\n"), content[::-1]))
            case 5:
                content = (
                    content[:at] + chance.choice((b"[", b'{"a":', b"- ", b"(")) * chance.choice(_DEEP) + content[at:]
                )
            case _:
                content = content[:at] + chance.choice(TOKENS) + content[end - chance.randrange(2) :]
    return content
