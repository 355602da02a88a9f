"""What Inspect's `metadata` of a sample, and the tags of a log, say about a case."""

from collections.abc import Iterable

from harness.values import JsonObject, JsonValue, canonical_json

_DIFFICULTIES = ("easy", "medium", "hard")
_MAX_CHARS = 100
"""The longest tag; what is longer is a line of the description."""


def sample_facts(metadata: JsonValue, tags: Iterable[JsonValue] = ()) -> JsonObject:
    """The fields of a case that keep all of it.

    `category` and `difficulty` are the case's own where they are valid there; `tags` are tags, and every other value is
    the tag `name=value`, an object or list in JSON, or a line of the description where it is too long for a tag.
    """
    given = dict(metadata) if isinstance(metadata, dict) else {}
    fields: JsonObject = {}
    category, difficulty = given.get("category"), given.get("difficulty")
    if isinstance(category, str) and 0 < len(category.strip()) <= _MAX_CHARS:
        fields["category"] = category.strip()
        del given["category"]
    if isinstance(difficulty, str) and difficulty.lower() in _DIFFICULTIES:
        fields["difficulty"] = difficulty.lower()
        del given["difficulty"]
    own = given.pop("tags") if isinstance(given.get("tags"), list) else []
    assert isinstance(own, list)
    texts = {name: _text(value) for name, value in given.items() if value is not None}
    short = [f"{name}={text}" for name, text in texts.items() if len(f"{name}={text}") <= _MAX_CHARS]
    long = [f"{name}: {text}" for name, text in texts.items() if len(f"{name}={text}") > _MAX_CHARS]
    named = [*dict.fromkeys([*map(_text, tags), *map(_text, own), *short])]
    return {**fields, **({"tags": [*named]} if named else {}), **({"description": "\n".join(long)} if long else {})}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
