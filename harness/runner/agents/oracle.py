"""The agent that plays a case's reference: its calls, or the solution of a task folder. A case that it fails is itself
defective.
"""

import json
from pathlib import Path

from harness.case import Case, TaskFolder
from harness.case.fault import UNREACHED
from harness.errors import UsageError
from harness.runner.agent import AgentProgram
from harness.values import digest_of

_PROGRAM = Path(__file__).parent.parent / "programs"
_SOLVE = """/solution/solve.sh >&2
status=$?
test "$status" = 0 || echo "the solution ended with status $status" >&2
echo Done.
"""
"""The tests, not the exit status, decide whether the solution solves the task."""


class OracleAgent:
    """Makes the reference calls in their order and replies with the expected output; of a task folder, it runs the
    solution.
    """

    name = "oracle"
    prompt_digest = None
    code_digest = None

    @property
    def digest(self) -> str:
        """The digest of its program; the reference that it plays is part of the suite's digest."""
        return digest_of((_PROGRAM / "oracle.py").read_text(encoding="utf-8"))  # the suite's digest covers a solution

    def program(self, case: Case) -> AgentProgram:
        """Raises UsageError where the case has no reference to replay."""
        if case.task_folder is not None:
            return _solution(case, case.task_folder)
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


def _solution(case: Case, task: TaskFolder) -> AgentProgram:
    if not task.has_solution:
        raise UsageError(
            f"case {case.id!r} has no solution for the oracle to run", remedy=f"write {task.folder}/solution/solve.sh"
        )
    env = {"DEBIAN_FRONTEND": "noninteractive", **task.solution_env}
    return AgentProgram(command=("/bin/sh", "-c", _SOLVE), env=env, answer="stdout", with_solution=True)
