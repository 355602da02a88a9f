"""What a text must be: one rule, shared by every check that reads text (answers, files, output)."""

import re
import unicodedata

from pydantic import field_validator

from harness.validation import check_expression, finds
from harness.values import Frozen


class TextRule(Frozen):
    """All given rules must hold. Texts are compared in Unicode's composed form (NFC)."""

    equals: str | None = None
    """The whole text, white space at both ends aside."""
    contains: str | tuple[str, ...] = ()
    """A part, or parts all of which must occur."""
    excludes: str | tuple[str, ...] = ()
    """Parts that must not occur."""
    regex: str | None = None
    """Python's syntax; found anywhere in the text."""
    ignore_case: bool = False
    """Whether upper and lower case are the same."""

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            check_expression(value)
        return value

    @property
    def demands(self) -> bool:
        """Whether any rule was given."""
        return self.equals is not None or bool(self.contains) or bool(self.excludes) or self.regex is not None

    def problem(self, text: str) -> str | None:
        """In words what does not hold of `text`; None where all does. Raises OutOfTime where `regex` takes too long."""
        plain = self._plain(text)
        if self.equals is not None and plain.strip() != self._plain(self.equals).strip():
            return f"is not {_short(self.equals)}"
        missing = [part for part in _parts(self.contains) if self._plain(part) not in plain]
        if missing:
            return f"does not contain {_short(missing[0])}"
        unwanted = [part for part in _parts(self.excludes) if self._plain(part) in plain]
        if unwanted:
            return f"contains {_short(unwanted[0])}"
        flags = re.IGNORECASE if self.ignore_case else 0
        if self.regex is not None and not finds(self.regex, text, field="regex", flags=flags):
            return f"does not match {self.regex!r}"
        return None

    def _plain(self, text: str) -> str:
        composed = unicodedata.normalize("NFC", text)
        return composed.casefold() if self.ignore_case else composed


def _parts(parts: str | tuple[str, ...]) -> tuple[str, ...]:
    return (parts,) if isinstance(parts, str) else parts


def _short(text: str, most: int = 80) -> str:
    return repr(text if len(text) <= most else text[: most - 3] + "...")
