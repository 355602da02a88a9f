"""The agent that does nothing: a case that it passes asks nothing."""

from harness.case import Case
from harness.frozen import digest_of
from harness.runner.agent import AgentProgram


class NopAgent:
    """Ends at once, with no call and no reply."""

    name = "nop"
    prompt_digest = None
    code_digest = None
    digest = digest_of("nop")

    def program(self, case: Case) -> AgentProgram:
        """The same for every case."""
        del case
        return AgentProgram(command=("true",))
