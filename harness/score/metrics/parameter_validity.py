"""Whether the arguments of the calls satisfy the tools' schemas."""

from collections import Counter
from typing import ClassVar

from harness.score.comparison.arguments import argument_faults
from harness.score.evidence import Evidence, calls_of


class ParameterValidity:
    """Calls whose arguments satisfy their tool's JSON Schema / calls of known tools; share, 0 to 1.

    Arguments that are not a JSON object are invalid. Excluded: calls of a tool that does not exist (they have no
    schema; `tool_selection` counts them). None where no call is left. The explanation counts the kinds of faults
    (unparsed, unknown, missing, wrong type, out of range); the table by tool lists them by tool and model.
    """

    name: ClassVar[str] = "parameter_validity"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        tools = {tool.name for tool in evidence.tools}
        calls = [call for call in calls_of(evidence) if call.name in tools]
        if not calls:
            return None, "no call of a known tool"
        faults = argument_faults(evidence)
        wrong = [(call.name, faults[id(call)]) for call in calls if id(call) in faults]
        words = f"{len(calls) - len(wrong)} of {len(calls)} calls are valid"
        if wrong:
            kinds = Counter(kind.replace("_", " ") for _, (kind, _) in wrong)
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            words = f"{words}; {counts}; first: {wrong[0][0]}: {wrong[0][1][1]}"
        return 1 - len(wrong) / len(calls), words
