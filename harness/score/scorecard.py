"""What scoring gives for one trial: scores, the use of tools, and the scorecard that holds them."""

from typing import Literal

from pydantic import Field

from harness.score.diagnosis import Diagnosis, Failure
from harness.score.evidence import Verdict
from harness.trace import MEASURED, Outcome
from harness.values import Frozen


class Score(Frozen):
    """One metric's value. None where it does not apply or is not known; None is never averaged as 0."""

    metric: str
    version: str
    value: float | None = Field(allow_inf_nan=False)
    explanation: str = ""
    lower_is_better: bool = False


ParameterFault = Literal["unparsed", "unknown", "missing", "wrong_type", "out_of_range", "other"]
"""What is wrong with a call's arguments: no JSON object; a parameter that the tool does not have; a required one left
out; another JSON type than declared; a value outside what the schema allows (enum, bounds, pattern, length); else."""


EncodingFault = Literal[
    "json_as_text", "value_as_text", "json_for_text", "value_for_text", "list_of_one", "one_without_list"
]
"""How an argument that is right in substance is written otherwise than declared: an object or a list as text; a number
or truth value as text; an object or a list where text is declared; a number or truth value there; a single value inside
a list; and a single value where a list is declared."""


class ToolUse(Frozen):
    """How one tool was used in a trial, by the model that called it."""

    tool: str
    undeclared: bool = False
    """The suite does not declare the tool: the agent chose its name."""
    others: int = 0
    """If not 0: the calls of so many undeclared names together, which have no row of their own."""
    model: str | None = None
    """None: no model traffic was seen."""
    calls: int
    wrong: int = 0
    """Calls that `tool_selection` counts as wrong."""
    invalid: dict[ParameterFault, int] = {}
    """Calls by what is wrong with their arguments, each under its first fault in the order of the kinds."""
    encodings: dict[EncodingFault, int] = {}
    """Calls by how an argument that is right in substance is written wrongly, each under the first; see `encodings`."""
    errors: int = 0
    """Answered with an error; misses and refusals by the step limit are not among them."""
    recovered: int = 0
    """Of the errors; see the metric `recovery`."""
    faults: int = 0
    """Met a fault that was injected on purpose."""
    misses: int = 0
    cost_usd: float | None = Field(default=None, allow_inf_nan=False)
    """The cost of the model replies that decided the calls, each divided evenly among its calls; None where it is not
    known.
    """


class Scorecard(Frozen):
    """All verdicts and scores of one trial. Holds no time, id or machine: equal trials give equal bytes."""

    case_id: str
    attempt: int
    category: str
    difficulty: str
    tags: tuple[str, ...] = ()
    outcome: Outcome
    reason: str | None = None
    success: bool | None
    """True where every verdict passed; None where the outcome is "not measured", where no check failed and one is
    undecided, or where the case has no check.
    """
    verdicts: tuple[Verdict, ...] = ()
    scores: tuple[Score, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    """What the failure detectors found, by origin step; also in trials that succeeded."""
    hints: tuple[Diagnosis, ...] = ()
    """What points at a failure mode, but no better than simple rules do on runs of unseen sources: no findings, and in
    no figure; the ranking of steps looks at them."""
    modes_not_measured: dict[Failure, str] = {}
    """Maps failure modes that this trial has no data to measure to the reason. The absence of a finding of these has no
    meaning.
    """
    tool_use: tuple[ToolUse, ...] = ()
    """By tool and model, in the order of their first call."""
    models: tuple[str, ...] = ()
    """The models that were seen to answer."""
    prompt: str | None = None
    """The prompts that spans name (`name@version`), else the digest of the system messages seen; None: neither was."""
    digest: str
    """The trajectory's."""

    @property
    def undecided(self) -> bool:
        """Whether the trial was measured and has checks, and yet it is not known whether it succeeded."""
        return self.success is None and bool(self.verdicts) and self.outcome in MEASURED

    def value(self, metric: str) -> float | None:
        """The value of a metric by name; None where it is absent or not known."""
        return next((score.value for score in self.scores if score.metric == metric), None)
