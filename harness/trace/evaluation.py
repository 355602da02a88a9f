"""An evaluation in the form of OpenTelemetry's GenAI conventions: the event `gen_ai.evaluation.result`."""

from typing import Final

from harness.trace import names
from harness.values import Frozen, JsonValue

EVENT: Final = "gen_ai.evaluation.result"


class Evaluation(Frozen):
    """The data of one verdict; its author is stored under names that the conventions do not have yet."""

    name: str
    label: str | None = None
    """None: a metric, which has its value alone."""
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


def evaluation_event(trace_id: str, span_id: str, evaluation: Evaluation) -> EvaluationEvent:
    """The event of an evaluation; None values are omitted."""
    attributes: dict[str, JsonValue] = {
        names.EVALUATION_NAME: evaluation.name,
        names.EVALUATION_LABEL: evaluation.label,
        names.EVALUATION_SCORE: evaluation.score,
        names.EVALUATION_EXPLANATION: evaluation.explanation,
        names.ERROR_TYPE: None if evaluation.error is None else "judge_failed",
        names.EVALUATION_ERROR: evaluation.error,
        names.EVALUATOR_SOURCE: evaluation.evaluator,
        names.EVALUATOR_VERSION: evaluation.evaluator_version,
        names.PROMPT_NAME: evaluation.prompt,
        names.PROMPT_VERSION: evaluation.prompt_version,
    }
    present = {name: value for name, value in attributes.items() if value is not None}
    return EvaluationEvent(trace_id=trace_id, span_id=span_id, attributes=present)
