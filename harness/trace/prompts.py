"""The prompt versions that the spans of model requests name."""

from collections.abc import Iterable

from harness.trace import names
from harness.trace.span import Span


def prompts_of(spans: Iterable[Span]) -> tuple[str, ...]:
    """`name@version`, or the name alone where no version is set; each once, in order."""
    found = (_prompt(span) for span in spans if span.attributes.get(names.PROMPT_NAME) is not None)
    return tuple(dict.fromkeys(found))


def _prompt(span: Span) -> str:
    name, version = span.attributes[names.PROMPT_NAME], span.attributes.get(names.PROMPT_VERSION)
    return str(name) if version is None else f"{name}@{version}"
