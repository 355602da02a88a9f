"""What a suite's composite figure is made of."""

from typing import Any

from pydantic import Field, model_validator

from harness.values import Frozen


class CompositePart(Frozen):
    """One metric and its weight; a bare number is the weight.

    `worst` and `best` scale a figure that is not a share (cost, tokens, steps) to the range from 0 to 1; lower values
    may be better.
    """

    weight: float = Field(gt=0, allow_inf_nan=False)
    """Share of the metric, relative to the other parts."""
    worst: float | None = Field(default=None, allow_inf_nan=False)
    """Value of the metric that counts as 0."""
    best: float | None = Field(default=None, allow_inf_nan=False)
    """Value of the metric that counts as 1."""

    @model_validator(mode="before")
    @classmethod
    def _bare_weight(cls, data: Any) -> Any:
        return {"weight": data} if isinstance(data, int | float) and not isinstance(data, bool) else data

    @model_validator(mode="after")
    def _both_ends(self) -> "CompositePart":
        if (self.worst is None) != (self.best is None):
            raise ValueError("needs both `worst` and `best`, or neither")
        if self.worst is not None and self.worst == self.best:
            raise ValueError("`worst` and `best` are the same")
        return self
