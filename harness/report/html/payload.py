"""Shortens texts of agents and tools for the page: a long text is replaced by its beginning (of a log,
its end) and its length.

JSON is stored as text and formatted in the browser: a browser's numbers would round long integers.
"""

import json
from dataclasses import dataclass

from harness.values import JsonObject, JsonValue


@dataclass(frozen=True, kw_only=True)
class Cutter:
    """Cuts texts after `limit` characters; the whole stays in the run folder."""

    limit: int

    def text(self, text: str) -> JsonObject:
        return self._cut("text", text)

    def last(self, text: str) -> JsonObject:
        """The end of a log, which is more informative than the beginning."""
        if len(text) <= self.limit:
            return {"text": text}
        return {"text": text[-self.limit :], "of": len(text), "end": True}

    def value(self, value: JsonValue) -> JsonObject:
        """A text as it is, everything else as compact JSON."""
        if isinstance(value, str):
            return self.text(value)
        return self._cut("json", json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def optional(self, text: str | None) -> JsonObject | None:
        return None if text is None else self.text(text)

    def _cut(self, kind: str, text: str) -> JsonObject:
        if len(text) <= self.limit:
            return {kind: text}
        return {kind: text[: self.limit], "of": len(text)}


def present(**fields: JsonValue) -> JsonObject:
    """The fields with a value: a page of a thousand trials need not repeat empty fields."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {}, ())}
