"""The final answer by any of the usual rules, or by a Python function of the suite's own."""

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr

from harness.case import Suite
from harness.errors import UsageError
from harness.plugins import find_object
from harness.score.evidence import Evidence
from harness.score.verifiers.final_answer import FinalAnswer
from harness.values import JsonObject


class CheckAnswer(FinalAnswer):
    """As `final_answer` (`equals`, `contains`, `regex`, `number` with `tolerance`, `json`), and `function`.

    The function is `file.py:name` in the suite's folder, or `module:name`. It is called with the answer and the case's
    `expected_output` and gives a truth value, or one with a reason. Rules beside it must hold too. No answer fails.
    """

    version: ClassVar[str] = "1"

    function: str | None = Field(default=None, pattern=r"^.+:[A-Za-z_]\w*$")
    """`file.py:name` in the suite's folder, or `module:name`; None applies only the rules."""
    _loaded: Callable[..., Any] | None = PrivateAttr(default=None)

    def problem_in(self, suite: Suite) -> str | None:
        """In words why this check cannot work in its suite; None where it can. Loads the function."""
        if self.function is None:
            return None
        try:
            found = find_object("answer check", self.function, {}, folder=suite.folder)
        except UsageError as error:
            return f"with.function: {error.message}"
        if not callable(found):
            return f"with.function: {self.function!r} is not a function"
        self._loaded = found
        return None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        if self.function is None:
            return super().verify(evidence)
        answer = evidence.trial.trajectory.final_output
        if answer is None:
            return False, "the agent gave no final answer", {}
        if self._has_rule:
            passed, reason, seen = super().verify(evidence)
            if passed is not True:
                return passed, reason, seen
        return self._by_function(evidence)

    def _by_function(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        if self._loaded is None:
            return None, f"{self.function} was not loaded: a check is made ready by its suite", {}
        answer = evidence.trial.trajectory.final_output
        found = self._loaded(answer, evidence.case.expected_output)
        passed, reason = found if isinstance(found, tuple) else (found, "")
        if not isinstance(passed, bool | None):
            return None, f"{self.function} gave {type(passed).__name__}, no truth value", {"answer": answer}
        words = "accepts the answer" if passed else "cannot tell" if passed is None else "refuses the answer"
        return passed, str(reason) or f"{self.function} {words}", {"answer": answer}
