"""Text of message content, which may be a text or a list of parts with every provider."""

from collections.abc import Collection

from harness.values import JsonValue

_TEXTS = ("text", "content", "refusal")


def text_of(content: JsonValue) -> str | None:
    """The text of a message; a part that is not text is named in brackets. None for empty content."""
    match content:
        case None:
            return None
        case str():
            return content
        case list():
            parts = [part for part in (part_text(item) for item in content) if part]
            return "\n".join(parts) if parts else None
        case dict():
            return part_text(content)
        case _:
            return str(content)


def part_text(part: JsonValue) -> str | None:
    """The text of one part, or its type in brackets."""
    if not isinstance(part, dict):
        return text_of(part)
    for name in _TEXTS:
        found = part.get(name)
        if isinstance(found, str):
            return found
    return f"[{part.get('type') or 'part'}]"


def result_of(content: JsonValue) -> JsonValue:
    """The result of a tool: a text where all parts are text, else the unchanged content."""
    if isinstance(content, list) and content and all(_is_text(part) for part in content):
        return text_of(content)
    return content


def has_other_parts(
    content: JsonValue, known: Collection[str] = ("text", "input_text", "output_text", "refusal")
) -> bool:
    """Whether a message contains parts other than text: images, sounds, files."""
    return isinstance(content, list) and any(
        isinstance(part, dict) and str(part.get("type", "text")) not in known for part in content
    )


def _is_text(part: JsonValue) -> bool:
    return isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str)
