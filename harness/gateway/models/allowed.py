"""The allow-list for requests to a provider of models: known paths, parameters, headers, fields and models.

All others are rejected or removed, because the request carries the provider's key: an unknown field may enable a tool
of the provider. A suite lists further fields that its agent needs (`model.allow`).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from pydantic import JsonValue

from harness.gateway.models.endpoints import Endpoint
from harness.gateway.upstream.request_parts import headers_of
from harness.suite.models import ModelSpec
from harness.values import JsonObject, objects_of

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:@+-]{0,199}")
_MOST_SEGMENTS: Final = 4
"""A model's id may contain slashes between the publisher and the name."""
_MOST_PAIRS: Final = 20
LONGEST_MODEL: Final = 200
"""The number of characters of a model's name, which every report shows."""

_PAGES: Final = frozenset({"after", "after_id", "before_id", "limit", "order"})
_QUERY: Final[Mapping[str, frozenset[str]]] = {
    "/v1/messages": frozenset({"beta"}),
    "/v1/messages/count_tokens": frozenset({"beta"}),
    "/v1/models": _PAGES | {"beta"},
    "/v1beta/models": frozenset({"pageSize", "pageToken"}),
}
_AZURE_QUERY: Final = frozenset({"api-version"})
_GEMINI_QUERY: Final = frozenset({"alt", "key", "$alt"})
"""`key` is the agent's own, and never passed on; the form of the answer is part of the endpoint."""
_ANSWERED_AS: Final = frozenset({"json", "sse", "json;enum-encoding=int"})
_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-language",
        "anthropic-beta",
        "anthropic-version",
        "content-type",
        "http-referer",
        "idempotency-key",
        "openai-beta",
        "user-agent",
        "x-goog-api-client",
        "x-client-request-id",
        "x-title",
    }
)
_HEADERS_OF_SDKS: Final = "x-stainless-"
_IDLE_HEADERS: Final = frozenset({"accept", "http-referer", "idempotency-key", "x-title"})
"""Whether the answer is streamed, body and path say; nor do the agent's name and the number of a try choose it."""


def _listed_names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_SAMPLING: Final = _listed_names(
    "add_generation_prompt best_of cache_prompt chat_template_kwargs continue_final_message do_sample",
    "echo enable_thinking format grammar guided_choice guided_decoding_backend guided_grammar",
    "guided_json guided_regex ignore_eos json_schema keep_alive length_penalty min_p min_tokens",
    "mirostat mirostat_eta mirostat_tau num_ctx num_predict options prompt_logprobs reasoning",
    "reasoning_budget repeat_last_n repeat_penalty repetition_penalty safe_prompt skip_special_tokens",
    "spaces_between_special_tokens stop_token_ids structured_outputs think thinking tfs_z top_a top_k",
    "truncate_prompt_tokens typical_p use_beam_search",
)
"""What compatible servers (llama.cpp, vLLM, SGLang, Ollama) know beside OpenAI's own fields."""
_GEMINI: Final = "/v1beta/models/{{model}}:{}"
_GENERATING: Final = _listed_names(
    "contents generationConfig generation_config labels safetySettings safety_settings serviceTier service_tier store",
    "systemInstruction system_instruction toolConfig tool_config tools",
)
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "/v1/chat/completions": _SAMPLING
    | _listed_names(
        "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens",
        "max_tokens messages metadata modalities model n parallel_tool_calls prediction presence_penalty",
        "prompt_cache_key prompt_cache_retention reasoning_effort response_format safety_identifier seed",
        "service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p",
        "user verbosity",
    ),
    "/v1/responses": _SAMPLING
    | _listed_names(
        "context_management frequency_penalty include input instructions max_output_tokens max_tool_calls messages",
        "metadata model parallel_tool_calls presence_penalty previous_response_id prompt_cache_key",
        "prompt_cache_retention reasoning safety_identifier seed service_tier store stream stream_options",
        "temperature text tool_choice tools top_logprobs top_p truncation user",
    ),
    "/v1/embeddings": frozenset({"dimensions", "encoding_format", "input", "model", "user"}),
    "/v1/messages": _SAMPLING
    | _listed_names(
        "betas cache_control context_management inference_geo max_tokens messages metadata model",
        "output_config output_format service_tier speed stop_sequences stream system temperature thinking",
        "tool_choice tools top_k top_p",
    ),
    "/v1/messages/count_tokens": _listed_names(
        "betas cache_control context_management messages model output_config output_format system",
        "thinking tool_choice tools",
    ),
    _GEMINI.format("generateContent"): _GENERATING,
    _GEMINI.format("streamGenerateContent"): _GENERATING,
    _GEMINI.format("countTokens"): frozenset({"contents"}),
    _GEMINI.format("embedContent"): _listed_names(
        "content outputDimensionality output_dimensionality taskType task_type title"
    ),
    _GEMINI.format("batchEmbedContents"): frozenset({"requests"}),
}
_HOSTED: Final[Mapping[str, frozenset[str]]] = {
    "/v1/chat/completions": frozenset({"data_sources", "web_search_options"}),
    "/v1/responses": frozenset({"background", "conversation", "prompt"}),
    "/v1/messages": frozenset({"container", "mcp_servers"}),
    "/v1/messages/count_tokens": frozenset({"mcp_servers"}),
    _GEMINI.format("generateContent"): _listed_names("cachedContent cached_content"),
    _GEMINI.format("streamGenerateContent"): _listed_names("cachedContent cached_content"),
}
"""Known fields that make the provider run or fetch something by itself."""
_BATCHES: Final = frozenset({_GEMINI.format("batchEmbedContents")})
_NOTHING: Final[tuple[object, ...]] = (None, [], "", False)


def plain_path(path: str) -> str | None:
    """The path for the upstream request: decoded once, without parts that leave its root. None if it has
    such parts.
    """
    segments = unquote(path).split("/")
    if path == "/" or segments[0] or len(segments) > 2 + _MOST_SEGMENTS:
        return None
    if not all(_SEGMENT.fullmatch(segment) for segment in segments[1:]):
        return None
    return "/".join(quote(segment, safe=":@+") for segment in segments)


def plain_query(endpoint: Endpoint, query: str) -> str:
    """The query in one spelling. Raises ValueError for a parameter that the endpoint does not know."""
    pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_PAIRS)
    known = _known_parameters(endpoint)
    unknown = next((name for name, _ in pairs if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{endpoint.path} takes no query parameter {unknown[:100]!r} here{_allowed_names_hint(known)}")
    if endpoint.provider == "gemini":
        form = next((value for name, value in pairs if name.endswith("alt") and value not in _ANSWERED_AS), None)
        if form is not None:
            raise ValueError(f"{endpoint.path} answers as JSON or as events here, not as {form[:100]!r}")
        pairs = [(name, value) for name, value in pairs if name not in _GEMINI_QUERY]
    return urlencode(pairs)


def _known_parameters(endpoint: Endpoint) -> frozenset[str]:
    if endpoint.provider == "azure":
        return _AZURE_QUERY
    path = endpoint.known_as
    if endpoint.operation == "models":
        path = "/v1beta/models" if endpoint.provider == "gemini" else "/v1/models"
    return _QUERY.get(path, frozenset()) | (_GEMINI_QUERY if endpoint.provider == "gemini" else frozenset())


def plain_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The agent's headers that are sent to the provider."""
    return {
        name: value
        for name, value in headers.items()
        if name.lower() in _HEADERS or name.lower().startswith(_HEADERS_OF_SDKS)
    }


def parts_beside(headers: Mapping[str, str], query: str, own: Iterable[str]) -> dict[str, JsonValue]:
    """What chooses the answer beside path and body: the query, and of the headers that the provider receives all but
    noise. `own`: names of headers that the gateway sets itself.
    """
    sent = headers_of(plain_headers(headers), map(str.lower, own), {}).chosen
    chosen: dict[str, JsonValue] = {name: value for name, value in sent.items() if name not in _IDLE_HEADERS}
    return {"headers": chosen, "query": dict(parse_qsl(query, keep_blank_values=True))}


def hosted_field(endpoint: Endpoint, body: JsonObject) -> str | None:
    """The name of a field that enables a tool of the provider; a field without a value is ignored."""
    hosted = _HOSTED.get(endpoint.known_as, frozenset())
    return next(
        (f"the field {name!r}" for name, value in body.items() if name in hosted and value not in _NOTHING), None
    )


def unknown_field(endpoint: Endpoint, body: JsonObject, spec: ModelSpec) -> str | None:
    """Why a field or the model of a request is not passed on; None: all are known."""
    known = _FIELDS.get(endpoint.known_as, frozenset()) | _HOSTED.get(endpoint.known_as, frozenset())
    known |= {"model"} if endpoint.model is not None else frozenset()
    name = next((name for name in body if name not in known and name not in {*spec.allow, *spec.ignore}), None)
    if name is not None:
        return (
            f"{endpoint.path} takes no field {name[:100]!r} here, since it is not known what the provider would do "
            "with it; the suite can allow it with `model.allow`"
        )
    model = body.get("model")
    if isinstance(model, str) and len(model) > LONGEST_MODEL:
        return f"the name of the model has {len(model)} characters; at most {LONGEST_MODEL} are passed on"
    if spec.models and body and model not in spec.models:
        return f"the model {str(model)[:100]!r} is none of the suite's `model.models`: {', '.join(spec.models)}"
    return _unknown_in_batch(endpoint, body)


def _unknown_in_batch(endpoint: Endpoint, body: JsonObject) -> str | None:
    """Each request of a batch is for the model in the path, and has the fields of a single request."""
    known = _FIELDS[_GEMINI.format("embedContent")] | {"model"}
    for request in objects_of(body.get("requests")) if endpoint.known_as in _BATCHES else ():
        model = str(request.get("model", body.get("model"))).removeprefix("models/")
        if model != body.get("model"):
            return f"a request of the batch names the model {model[:100]!r}, and the path {body.get('model')!r}"
        name = next((name for name in request if name not in known), None)
        if name is not None:
            return f"a request of the batch takes no field {name[:100]!r} here"
    return None


def _allowed_names_hint(known: Iterable[str]) -> str:
    named = ", ".join(sorted(known))
    return f"; it takes {named}" if named else ""
