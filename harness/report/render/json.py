"""A summary and a comparison as JSON, for programs."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.report.figures.summary import Summary
from harness.values import JsonObject

if TYPE_CHECKING:
    from harness.report.comparison.compare import Comparison
    from harness.report.comparison.margin import MarginCheck


def summary_json(summary: Summary) -> str:
    return _text(summary)


def comparison_json(comparison: "Comparison", margins: "Sequence[MarginCheck]" = ()) -> str:
    """The comparison as JSON, with the verdicts on requested margins."""
    checks: JsonObject = {"margins": [check.model_dump() for check in margins]} if margins else {}
    return _text({**comparison.model_dump(), **checks})


def _text(value: Summary | JsonObject) -> str:
    plain = value.model_dump() if isinstance(value, Summary) else value
    return json.dumps(plain, indent=1, ensure_ascii=True) + "\n"
