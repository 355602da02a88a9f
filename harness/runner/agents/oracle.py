"""The agent that plays a case's reference calls: a case that it fails is wrong itself."""

import json
from pathlib import Path

from harness.case import Case
from harness.case.fault import UNREACHED
from harness.errors import UsageError
from harness.runner.agent import AgentProgram
from harness.values import digest_of

_PROGRAM = Path(__file__).parent.parent / "programs"


class OracleAgent:
    """Makes the reference calls in their order and replies with the expected output."""

    name = "oracle"
    prompt_digest = None
    code_digest = None

    @property
    def digest(self) -> str:
        """Of its program; the reference it plays is part of the suite's digest."""
        return digest_of((_PROGRAM / "oracle.py").read_text(encoding="utf-8"))

    def program(self, case: Case) -> AgentProgram:
        """Raises UsageError where the case has no reference to replay."""
        if case.reference is None:
            raise UsageError(
                f"case {case.id!r} has no reference for the oracle to play",
                remedy="give it `reference:` (an empty list where no call is needed)",
            )
        calls = [{"tool": call.tool, "arguments": call.arguments} for call in case.reference]
        answer = case.expected_output
        again = sorted({fault.tool for fault in case.faults if fault.kind in UNREACHED})
        plan = {
            "calls": calls,
            "again": again,
            "answer": answer if isinstance(answer, str | None) else json.dumps(answer),
        }
        return AgentProgram(
            command=("python3", "{agent}/oracle.py"), files=_PROGRAM, env={"HARNESS_ORACLE": json.dumps(plan)}
        )
