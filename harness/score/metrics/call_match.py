"""How far the calls are those of the reference, arguments and order included.

Calls are paired with the reference's calls, each once, so that as many as possible are paired in the order of its DAG;
equal means same tool and same arguments by the schema (defaults filled in, 1 = 1.0, True is not 1). Calls that count:
all but those refused by the step limit and the *neutral* ones, which are allowed reads that the reference does not make
and that were not made before since the last write. A repeated read is redundant and counts.
"""

from typing import ClassVar

from harness.score.comparison.reference import Alignment, align
from harness.score.evidence import Evidence

_NO_REFERENCE = "the case has no reference"


class CallMatch:
    """F1 of `call_precision` and `call_recall`: 2 x paired / (calls that count + reference calls); 0 to 1.

    None without a reference; with an empty one 1 where no call counts, else 0.
    """

    name: ClassVar[str] = "call_match"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = align(evidence)
        if found is None:
            return None, _NO_REFERENCE
        if not found.needed and not found.counted:
            return 1.0, "no call was needed, and none that counts was made"
        return 2 * found.paired / (found.counted + found.needed), self._words(found)

    def _words(self, found: Alignment) -> str:
        precision = f"{found.paired}/{found.counted}"
        recall = f"{found.paired}/{found.needed}"
        return f"precision {precision}, recall {recall}{_missing(found)}{_bound(found)}"


class CallPrecision:
    """Calls paired with the reference / calls that count; 0 to 1.

    None without a reference and where no call counts.
    """

    name: ClassVar[str] = "call_precision"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = align(evidence)
        if found is None:
            return None, _NO_REFERENCE
        if not found.counted:
            return None, "no call that counts was made"
        return (
            found.paired / found.counted,
            f"{found.paired} of {found.counted} calls are the reference's{_bound(found)}",
        )


class CallRecall:
    """Calls paired with the reference / calls of the reference; 0 to 1.

    None without a reference and with an empty one.
    """

    name: ClassVar[str] = "call_recall"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = align(evidence)
        if found is None:
            return None, _NO_REFERENCE
        if not found.needed:
            return None, "the reference has no call"
        words = f"{found.paired} of {found.needed} reference calls were made{_missing(found)}{_bound(found)}"
        return found.paired / found.needed, words


def _missing(found: Alignment) -> str:
    return f"; missing: {', '.join(found.missing)}" if found.missing else ""


def _bound(found: Alignment) -> str:
    return "" if found.exact else "; at least: the search was cut short"
