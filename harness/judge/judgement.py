"""A judgement: the answer to one criterion of one trial, and its author."""

from typing import Literal

from harness.values import Frozen

Answer = Literal["pass", "fail", "not_eligible", "judge_failed"]


class JudgeIdentity(Frozen):
    """Everything that can explain a different verdict on the same evidence."""

    prompt: str | None = None
    """Name of the judge's prompt; None: code decided."""
    prompt_version: str | None = None
    prompt_digest: str | None = None
    model: str
    """The requested model; for code, `code:<name>@<version>`."""
    samples: int = 1
    """How often each question was sent; the majority counts."""


class Votes(Frozen):
    """The answers of the samples of one verdict."""

    passed: int = 0
    failed: int = 0
    not_eligible: int = 0
    judge_failed: int = 0


class Judgement(Frozen):
    """One criterion of one trial. Contains no time or machine: the same evidence and judge give the same bytes."""

    run: str
    case_id: str
    attempt: int
    trace_id: str = ""
    """The trace id of the judged trajectory; an imported trace keeps its own id."""
    trajectory: str
    """Digest of the trajectory that was judged."""
    evidence: str = ""
    """Digest of the evidence that the judge received."""
    rubric: str
    rubric_version: str
    rubric_digest: str
    criterion: str
    criterion_version: str
    eligible: bool | None
    """Whether the criterion applies; None where that is unknown, see `failure`."""
    passed: bool | None
    """None where the criterion is not eligible, or the judge failed."""
    failure: str | None = None
    """The reason why there is no judgement: the judge failed, not the agent."""
    rationale: str = ""
    spans: tuple[str, ...] = ()
    """The ids of the spans that support the verdict; `step:<index>` where a step has no span."""
    judge: JudgeIdentity
    cached: bool = False
    """Whether the answer came from an earlier run's cassette, without a request."""
    votes: Votes | None = None
    """None: one sample was taken."""

    @property
    def answer(self) -> Answer:
        """The answer as one of four values."""
        if self.failure is not None:
            return "judge_failed"
        if self.eligible is False:
            return "not_eligible"
        return "pass" if self.passed else "fail"
