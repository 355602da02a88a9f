"""What is judged in these tests: dialogues, a rubric and a mind."""

from collections.abc import Sequence

from harness.judging.rubrics import Criterion, Rubric
from harness.traces.trajectory import Observation, Step, ToolCall
from qa.doubles.rules import ModelRule, RuleSet

Steps = Sequence[Step]


def dialogue(answer: str, price: str = "2.19", request: str = "How much is the oat drink?") -> Steps:
    """The user asks, a tool answers, the agent says something."""
    call = ToolCall(id="k", name="lookup", arguments={"item": "oat drink"})
    seen = Observation(call_id="k", content={"item": "oat drink", "price": price})
    return (
        Step(index=0, source="user", message=request, span_id="span-user"),
        Step(index=1, source="agent", calls=(call,), observations=(seen,), span_id="span-call"),
        Step(index=2, source="agent", message=answer, span_id="span-answer"),
    )


GROUNDED = Criterion(
    id="grounded", statement="The price is the one that a result gives.", evidence=("claims",), critical=True, points=3
)
POLITE = Criterion(id="polite", statement="The tone is polite.", evidence=("conversation",))
REFUNDED = Criterion(
    id="refunded",
    statement="The refund was made.",
    eligibility="The user asked for a refund.",
    evidence=("request", "claims"),
)
RUBRIC = Rubric(name="prices", criteria=(GROUNDED, POLITE, REFUNDED))

TOLD = "a claim\nabout an action or a fact counts when a result in the evidence bears it out"
"""A sentence of the package's own prompt: the rule below is followed since it stands there."""
MIND = RuleSet(
    rules=(
        ModelRule(criterion="grounded", told_by=TOLD, who="agent|shop", finds=r"9\.99", says="fail"),
        ModelRule(criterion="polite", who="agent|shop", finds="(?i)go away", says="fail"),
        ModelRule(criterion="refunded", who="user", finds="(?i)refund", finds_nothing=True, says="not_eligible"),
    )
)
