"""Checks that the process followed declared rules, whatever its result."""

from typing import ClassVar

from pydantic import Field, field_validator

from harness.scoring.evidence import Evidence
from harness.scoring.rules.events import EVENTS, row_of
from harness.scoring.rules.language import parsed_rule
from harness.suite.suites import Suite
from harness.traces.trajectory import Content
from harness.values import Frozen, JsonObject


class Rules(Frozen):
    """`rules` in a short notation, each of which must hold.

    `A before B`: wherever B happens, A has happened earlier (when B never happens it holds). `never A after B`; `never
    A before B`: no A until the first B. `require A`, `require A 2 times`; `A at most 2 times`; `never A`.
    `harness.scoring.rules` lists the events and all forms. The credit is the share of rules that hold.
    """

    version: ClassVar[str] = "6"
    reads: ClassVar[frozenset[Content]] = frozenset({"answer", "messages", "arguments"})

    rules: tuple[str, ...] = Field(min_length=1)
    """Process rules, each a line in the words above; all of them must hold."""

    @field_validator("rules")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            parsed_rule(text)
        return value

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        known = {tool.name for tool in suite.tools} | EVENTS
        for text in self.rules:
            for named in parsed_rule(text).names:
                if not named.only_call and named.name not in known:
                    return (
                        f"with.rules: {text!r} names {named.name!r}, which is neither a tool of the suite nor an event "
                        f"({', '.join(sorted(EVENTS))}); a tool of the agent's own is tool:{named.name}"
                    )
        return None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        row = row_of(evidence)
        kept = {text: parsed_rule(text).kept(row) for text in self.rules}
        broken = {text: one.reason for text, one in kept.items() if one.state == "broken"}
        words = "; ".join(f"{text!r}: {reason}" for text, reason in broken.items())
        credit = 1 - len(broken) / len(kept)
        return not broken, words or f"all {len(kept)} rules hold", {"credit": credit, "broken": [*broken]}
