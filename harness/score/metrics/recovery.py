"""What the agent made of the errors that it met."""

from collections import Counter
from typing import ClassVar

from harness.score.evidence import Evidence
from harness.score.failures import recoveries


class Recovery:
    """Errors that the agent recovered from / errors that occurred or were injected; share, 0 to 1.

    Recovered: a related call among the next three after the error succeeded, other than by doing nothing. The
    explanation counts the responses (retried the same, changed something, used another tool, told the user, ignored).
    Excluded: replay misses and the step limit, after which no call can succeed, and, where the gateway observed any
    call, self-reported calls. None where no error occurred.
    """

    name: ClassVar[str] = "recovery"
    version: ClassVar[str] = "2"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        met = recoveries(evidence.credited)
        if not met:
            return None, "no error was met"
        recovered = [one.recovered_after for one in met if one.recovered_after is not None]
        responses = Counter(one.response.replace("_", " ") for one in met)
        words = ", ".join(f"{count} {response}" for response, count in sorted(responses.items()))
        within = f" within {max(recovered)} calls" if recovered else ""
        return len(recovered) / len(met), f"{len(recovered)} of {len(met)} errors were recovered{within}: {words}"
