"""The names of what instrumentations may leave out of spans, as a reader is told them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from harness.trace import Content

_WORDS: Final[Mapping[Content, str]] = MappingProxyType(
    {
        "answer": "the final answer",
        "messages": "what was said",
        "arguments": "the arguments of calls",
        "results": "the results of calls",
    }
)


def content_words(missing: Sequence[Content]) -> str:
    """The names of some content in a sentence."""
    words = [_WORDS[one] for one in missing]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
