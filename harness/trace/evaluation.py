"""An evaluation in the form of OpenTelemetry's GenAI conventions: the event `gen_ai.evaluation.result`."""

from typing import Final

from harness.trace import names
from harness.values import Frozen, JsonValue

EVENT: Final = "gen_ai.evaluation.result"


class Evaluation(Frozen):
    """The data of one verdict; its author is stored under names that the conventions do not have yet."""

    name: str
    label: str
    score: float | None = None
    explanation: str | None = None
    error: str | None = None
    """The reason why there is no verdict."""
    evaluator: str
    evaluator_version: str | None = None
    prompt: str | None = None
    prompt_version: str | None = None


class EvaluationEvent(Frozen):
    """An event in the shape of an OTLP log record; `span_id` is empty where the event concerns the whole trace."""

    event_name: str = EVENT
    trace_id: str
    span_id: str = ""
    attributes: dict[str, JsonValue]


def evaluation_event(trace_id: str, span_id: str, told: Evaluation) -> EvaluationEvent:
    """What is None is left out."""
    attributes: dict[str, JsonValue] = {
        names.EVALUATION_NAME: told.name,
        names.EVALUATION_LABEL: told.label,
        names.EVALUATION_SCORE: told.score,
        names.EVALUATION_EXPLANATION: told.explanation,
        names.ERROR_TYPE: None if told.error is None else "judge_failed",
        names.EVALUATION_ERROR: told.error,
        names.EVALUATOR_SOURCE: told.evaluator,
        names.EVALUATOR_VERSION: told.evaluator_version,
        names.PROMPT_NAME: told.prompt,
        names.PROMPT_VERSION: told.prompt_version,
    }
    present = {name: value for name, value in attributes.items() if value is not None}
    return EvaluationEvent(trace_id=trace_id, span_id=span_id, attributes=present)
