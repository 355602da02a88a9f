"""How an answer of a tool is compared with its recording, where that is not word for word."""

from typing import Literal

from pydantic import Field, model_validator

from harness.validation import check_expression
from harness.values import Frozen

Comparison = Literal["ignore", "type", "exact", "regex", "approx", "set", "map"]


class AnswerRule(Frozen):
    """One rule for what stands at a place of the answer; the first that fits a place counts."""

    at: str | None = Field(default=None, pattern=r"^(/[^/]*)*$")
    """A JSON pointer, `*` standing for every item of a list or member of an object; empty: the whole answer. A rule
    holds for everything below its place too."""
    header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
    """A response header instead: it is kept on new recordings and compared. No header is compared without a rule, and
    one that carries secrets is never kept."""
    compare: Comparison
    """`ignore`: not at all. `type`: only what kind of value it is. `exact`: a changed value is drift at once, without
    the days of learning that it is steady. `regex`: `pattern` must fit. `approx`: numbers, within `tolerance`.
    `set`: a list whose order says nothing. `map`: an object whose keys are data, so that other keys are no lost
    fields; it says nothing of what lies below."""
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
