"""What a detector says: which failure, where it began, what followed from it, and how sure it is."""

from typing import Annotated, Literal

from pydantic import Field

from harness.values import Frozen

Failure = Literal[
    "loop_trap", "goal_drift", "tool_hallucination", "premature_commitment", "cascading_error", "wrong_outcome", "other"
]

Kind = Literal[
    "repeated_call",
    "repeated_cycle",
    "stuck_on_error",
    "echoed_call",
    "barren_calls",
    "foreign_task",
    "plan_for_another_task",
    "plan_not_carried_out",
    "goal_left_out",
    "objective_switched",
    "answer_off_goal",
    "invented_tool",
    "invented_parameter",
    "claimed_call",
    "fabricated_result",
    "unsupported_answer",
    "made_up_data",
    "guessed_argument",
    "unseen_target",
    "missing_reads",
    "stopped_early",
    "unwarranted_write",
    "assumed_data",
    "stated_assumption",
    "recalled_figures",
    "unchecked_answer",
    "claimed_check",
    "ambiguous_match",
    "unread_items",
    "miscopied_value",
    "invented_value",
    "carried_premise",
    "unsourced_figures_carried",
    "first_result_carried",
    "failed_code_carried",
    "first_answer_carried",
    "worker_result_carried",
    "hidden_error_carried",
    "injected_answer_carried",
    "contradicted_answer_carried",
    "contradicted_user_carried",
    "wrong_target",
    "wrong_argument",
    "wrong_encoding",
    "missing_write",
    "needless_write",
    "wrong_order",
    "wrong_words",
    "wrong_tool",
    "missing_call",
    "wrong_answer",
    "left_to_the_user",
    "refused",
    "first_change",
    "judged",
    "failed_without_a_known_mode",
]
"""The kinds of the built-in detectors, a closed list. The docstring of a kind's detector describes its failure, and
which cases count.
"""


OwnKind = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+:[a-z0-9_]+$")]
"""A kind of a detector that is not built in: `<name of the detector>:<kind>`."""


class Diagnosis(Frozen):
    """One finding. A trial may have several, of the same failure too where the origins differ."""

    failure: Failure
    kind: Kind | OwnKind
    origin_step: int | None
    """Index of the step in which it began; None: not known."""
    dependent_steps: tuple[int, ...] = ()
    """Later steps that repeat it or rest on it, ascending."""
    evidence: str
    """A description of the observation."""
    prevention: str | None = None
    """A description of the measure that would have stopped it before other steps depended on it; None where it is not
    known.
    """
    confidence: float = Field(ge=0, le=1)
    """The detector's own: 0.9 and more where the finding follows from its definition, less where it is inferred."""
    version: str
    """The detector's, changed whenever the same evidence could give another finding."""
