"""How an answer of a tool is compared with its recording, where that is not word for word."""

from typing import Literal

from pydantic import Field, model_validator

from harness.validation import check_expression
from harness.values import Frozen

Comparison = Literal["ignore", "type", "exact", "regex", "approx", "set", "map"]


class AnswerRule(Frozen):
    """One rule for the value at a path of the answer; the first rule that matches a path applies."""

    at: str | None = Field(default=None, pattern=r"^(/[^/]*)*$")
    """A JSON pointer, `*` standing for every item of a list or member of an object; empty: the whole answer. A rule
    holds for everything below its place too."""
    header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
    """A response header instead of a path: it is stored in new recordings and compared. No header is compared without a
    rule, and a header that carries secrets is never stored.
    """
    compare: Comparison
    """`ignore`: not compared. `type`: only the kind of value is compared. `exact`: a changed value is drift at once,
    without days of learning that it is stable. `regex`: `pattern` must match. `approx`: numbers, within `tolerance`.
    `set`: a list whose order is irrelevant. `map`: an object whose keys are data, so that different keys are not lost
    fields; the rule does not apply to values below it.
    """
    pattern: str | None = None
    """Of `regex`: a regular expression that the whole text must fit."""
    tolerance: float | None = Field(default=None, ge=0)
    """Of `approx`: the greatest difference that is none, in the number's own unit."""
    key: str | None = None
    """Of `set`: the member by which items are the same item."""

    @model_validator(mode="after")
    def _has_its_parameter(self) -> "AnswerRule":
        if (self.at is None) == (self.header is None):
            raise ValueError("needs either `at`, a place in the answer's body, or `header`, a response header")
        if self.header is not None and self.compare in ("set", "map"):
            raise ValueError(f"`compare: {self.compare}` is for bodies: a header is one text")
        for name, owner in (("pattern", "regex"), ("tolerance", "approx")):
            if (getattr(self, name) is not None) != (self.compare == owner):
                raise ValueError(f"`{name}` goes with `compare: {owner}`, and only with that")
        if self.key is not None and self.compare != "set":
            raise ValueError("`key` goes with `compare: set`, and only with that")
        if self.pattern is not None:
            check_expression(self.pattern)
        return self
