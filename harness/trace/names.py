"""Attribute and operation names of the trace, in one place.

They follow OpenTelemetry's GenAI conventions. The constants are ours because the conventions moved out of the main
repository after 1.41 and the published packages mark them all as deprecated. Names under `harness.` are our own.
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
"""The arguments as canonical JSON; absent where they could not be parsed (see TOOL_UNPARSED)."""
TOOL_RESULT: Final = "gen_ai.tool.call.result"
"""What the agent was given back, as JSON."""
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
"""The last two are proposed, and no part of the conventions yet."""

COST_USD: Final = "harness.usage.cost_usd"
PREVIOUS_RESPONSE: Final = "harness.model.previous_response"
"""Id of the reply that a request goes on from, where the history stays at the provider."""
ORIGIN: Final = "harness.origin"
"""`agent`: the span is the agent's own, sent by it to the gateway. Absent: the gateway's."""
ORIGIN_TRACE: Final = "harness.origin.trace_id"
ORIGIN_PARENT: Final = "harness.origin.parent_id"
"""Id of the agent's own span in which a request was made, as its `traceparent` header told."""

TOOL_UNPARSED: Final = "harness.tool.unparsed_arguments"
TOOL_EFFECT: Final = "harness.tool.effect"
TOOL_ERROR_MESSAGE: Final = "harness.tool.error.message"
REPLAY_TIER: Final = "harness.replay.tier"
REPLAY_NEAREST: Final = "harness.replay.nearest"
"""JSON list: the recordings nearest to a call that none answers."""

INJECTED: Final = "harness.injected"
"""True where a fault was done to the call on purpose; FAULT_KIND says which."""
FAULT_KIND: Final = "harness.fault.kind"

STEP_KIND: Final = "harness.step"
"""`turn` (the user spoke), `reply` (the agent spoke), `tool` (a call), `model` (a request to a model),
`probe` (the harness's own read)."""
TURN: Final = "turn"
REPLY: Final = "reply"
TOOL: Final = "tool"
PROBE: Final = "probe"
MODEL: Final = "model"
REFUSED: Final = "refused"
"""A host that the agent wanted to reach and that is none of the declared ones: no step."""
AFTERTHOUGHT: Final = "afterthought"
"""A thought that no step followed."""

MESSAGE: Final = "harness.message"
THOUGHT: Final = "harness.thought"
PLAN: Final = "harness.plan"
"""JSON list of the planned steps, in the agent's words."""
PROBE_NAME: Final = "harness.probe.name"

CASE_ID: Final = "harness.case.id"
ATTEMPT: Final = "harness.attempt"
STARTED_MONOTONIC: Final = "harness.started_monotonic_ns"
ENDED_MONOTONIC: Final = "harness.ended_monotonic_ns"
"""Nanoseconds of the monotonic clock since the trial's session opened; a span's wall times may step, these cannot."""
