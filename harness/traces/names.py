"""Attribute and operation names of the trace, in one place.

They follow OpenTelemetry's GenAI conventions. The constants are ours because the conventions moved out of the main
repository after 1.41 and the published packages mark them all as deprecated. Names under `harness.` are defined by this
project.
"""

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
CONVERSATION_ID: Final = "gen_ai.conversation.id"

TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
"""The arguments as canonical JSON; absent if they could not be parsed (see TOOL_UNPARSED)."""
TOOL_RESULT: Final = "gen_ai.tool.call.result"
"""The result that the agent received, as JSON."""
ERROR_TYPE: Final = "error.type"

PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
FIRST_CHUNK_S: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
SYSTEM: Final = "gen_ai.system_instructions"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
"""JSON lists of `{"role", "parts"}`: the whole history that was sent, and the reply."""
TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
HTTP_STATUS: Final = "http.response.status_code"

PROMPT_NAME: Final = "gen_ai.prompt.name"
PROMPT_VERSION: Final = "gen_ai.prompt.version"

EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
EVALUATION_ERROR: Final = "harness.evaluation.error"
EVALUATOR_SOURCE: Final = "gen_ai.evaluation.evaluator.source"
EVALUATOR_VERSION: Final = "gen_ai.evaluation.evaluator.version"
"""The last two are proposed, and not part of the conventions yet."""

COST_USD: Final = "harness.usage.cost_usd"
PREVIOUS_RESPONSE: Final = "harness.model.previous_response"
"""The id of the reply that a request continues, if the provider stores the history."""
MODEL_OPTIONS: Final = "harness.model.options"
"""JSON: the request's parameters other than messages, system and tools (temperature, limits, format), as sent."""
ORIGIN: Final = "harness.origin"
"""`agent`: the span is the agent's own, sent by it to the gateway. Absent: the gateway's."""
ORIGIN_TRACE: Final = "harness.origin.trace_id"
ORIGIN_PARENT: Final = "harness.origin.parent_id"
"""The id of the agent's own span that contains the request, from the request's `traceparent` header."""

TOOL_UNPARSED: Final = "harness.tool.unparsed_arguments"
TOOL_EFFECT: Final = "harness.tool.effect"
TOOL_ERROR_MESSAGE: Final = "harness.tool.error.message"
TOOL_RETRIED: Final = "harness.tool.retried"
"""JSON list: how the transport failed before each time that a live read was sent again."""
REPLAY_TIER: Final = "harness.replay.tier"
REPLAY_NEAREST: Final = "harness.replay.nearest"
"""JSON list: the recordings nearest to a call that none answers."""

INJECTED: Final = "harness.injected"
"""True if a fault was injected into the call; FAULT_KIND names it."""
FAULT_KIND: Final = "harness.fault.kind"

STEP_KIND: Final = "harness.step"
"""`turn` (a message of the user), `reply` (a message of the agent), `tool` (a call), `model` (a request to a model),
`probe` (the harness's own read), `page` (a request of a page in the trial's browser).
"""
TURN: Final = "turn"
REPLY: Final = "reply"
TOOL: Final = "tool"
PROBE: Final = "probe"
MODEL: Final = "model"
PAGE: Final = "page"
"""Not a step: the step is the call of the browser's tool, or the page read of a check."""
REFUSED: Final = "refused"
"""A request to an undeclared host: no step."""
TRAILING_THOUGHT: Final = "afterthought"
"""A thought that no step followed."""

MESSAGE: Final = "harness.message"
THOUGHT: Final = "harness.thought"
PLAN: Final = "harness.plan"
"""JSON list of the planned steps, in the agent's words."""
PROBE_NAME: Final = "harness.probe.name"

RUN: Final = "harness.run.id"
SUITE: Final = "harness.suite.name"
RELEASE: Final = "harness.release"
"""These three are attributes of the resource of exported spans, and of no stored span."""

CASE_ID: Final = "harness.case.id"
ATTEMPT: Final = "harness.attempt"
STARTED_MONOTONIC: Final = "harness.started_monotonic_ns"
ENDED_MONOTONIC: Final = "harness.ended_monotonic_ns"
"""Nanoseconds of the monotonic clock since the trial's session opened; a span's wall times may jump, these cannot. For
a turn, the time at which the agent received the user's message; the span itself lasts until the turn has ended.
"""

# Of spans that are built from steps of another program.

IMPORTED_STEP: Final = "harness.imported_step"
"""JSON of the whole step, on the span of its message or reply."""
STEP_COUNT: Final = "harness.steps"
"""Set on the root span: marks an imported trial, and shows whether steps are missing."""
FINAL_OUTPUT: Final = "harness.final_output"
"""JSON; absent if there is none."""
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
