"""Attributes of spans built from steps, in addition to those of `harness.traces.names`."""

from typing import Final

STEP_INDEX: Final = "harness.step.index"
"""Set on every span of an imported step: the reply and its calls are one step."""
STEP_SOURCE: Final = "harness.step.source"
STEP_AGENT: Final = "harness.step.agent"
STEP_PARENT: Final = "harness.step.parent"
STEP_ASKED_IN: Final = "harness.step.asked_in"
STEP_SPAN: Final = "harness.step.span"
CALL_ORDER: Final = "harness.call.order"
OBSERVATION_ORDER: Final = "harness.observation.order"
"""When the result came, among those of its step; absent: no result ever came."""
DURATION: Final = "harness.tool.duration_ms"
COST: Final = "harness.usage.cost_usd"
STEP_COUNT: Final = "harness.steps"
"""Set on the root span: marks an imported trial, and shows whether steps are missing."""
FINAL_OUTPUT: Final = "harness.final_output"
"""JSON; absent if there is none."""

MODEL: Final = "gen_ai.response.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
STATUS_MESSAGE: Final = "otel.status_description"
"""Where a span's status message goes in formats that have no field for it, by OpenTelemetry's own rule."""
CONVERSATION_NAMES: Final = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "gcp.vertex.agent.session_id",
)
"""Attributes that name the conversation of a trace; the first that a span has."""
