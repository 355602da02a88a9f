"""Values that stand in attributes as JSON text: attributes hold no objects."""

import json
from collections.abc import Mapping, Sequence

from harness.ingest.reading import embedded_json
from harness.values import JsonObject, JsonValue


def opened(raw: JsonValue) -> JsonValue:
    """The value of a JSON text; any other value as it is."""
    if not isinstance(raw, str):
        return raw
    plain = embedded_json(raw)
    return raw if plain is None else plain


def objects(raw: JsonValue) -> list[JsonObject]:
    """The objects of a list; none for anything else."""
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []


def dumped(value: Mapping[str, JsonValue] | Sequence[JsonValue] | None) -> str | None:
    """The value as JSON text; None for an empty one."""
    return json.dumps(value, ensure_ascii=False) if value else None
