"""What a Langfuse server, version 4, answers about the spans and scores that it was sent: experiments, their items and
the observations of a trace, in pages with cursors.
"""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_TYPES = {"chat": "GENERATION", "execute_tool": "TOOL", "invoke_agent": "AGENT"}
_INPUTS = ("langfuse.observation.input", "gen_ai.input.messages", "gen_ai.tool.call.arguments")
_OUTPUTS = ("langfuse.observation.output", "gen_ai.output.messages", "gen_ai.tool.call.result")
_METADATA = "langfuse.observation.metadata."
_CUT = 200


def attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """By name; values of any type as they are in OTLP's JSON."""
    return {one["key"]: next(iter(one["value"].values()), None) for one in span["attributes"]}


def page(entries: list[dict[str, Any]], query: Mapping[str, str], most: int) -> dict[str, Any]:
    """The entries behind the cursor, as many as the request and the server allow."""
    first = int(base64.b64decode(query["cursor"])) if "cursor" in query else 0
    last = first + min(most, int(query.get("limit", 50)))
    meta = {"cursor": base64.b64encode(str(last).encode()).decode()} if last < len(entries) else {}
    return {"data": entries[first:last], "meta": meta}


def experiments(spans: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The latest activity first."""
    found: dict[str, dict[str, Any]] = {}
    for span in _roots(spans):
        facts = attributes(span)
        known = found.setdefault(
            facts["langfuse.experiment.id"],
            {
                "id": facts["langfuse.experiment.id"],
                "name": facts["langfuse.experiment.name"],
                "datasetId": facts.get("langfuse.experiment.dataset.id"),
                "startTime": _instant(span["startTimeUnixNano"]),
                "endTime": _instant(span["endTimeUnixNano"]),
                "itemCount": 0,
            },
        )
        known["itemCount"] += 1
        known["endTime"] = max(known["endTime"], _instant(span["endTimeUnixNano"]))
    return sorted(found.values(), key=lambda one: str(one["endTime"]), reverse=True)


def experiment_items(
    spans: Mapping[str, dict[str, Any]], scores: Mapping[str, dict[str, Any]], experiment: str, fields: str
) -> list[dict[str, Any]]:
    """The latest first, with the groups of fields that are asked for."""
    groups = fields.split(",")
    found = []
    for span in _roots(spans):
        facts = attributes(span)
        if facts["langfuse.experiment.id"] != experiment:
            continue
        item: dict[str, Any] = {
            "id": span["spanId"],
            "traceId": span["traceId"],
            "startTime": _instant(span["startTimeUnixNano"]),
            "endTime": _instant(span["endTimeUnixNano"]),
            "level": facts.get("langfuse.observation.level", "DEFAULT"),
            "environment": facts.get("langfuse.environment", "default"),
            "experimentId": experiment,
            "experimentName": facts["langfuse.experiment.name"],
            "experimentItemId": facts["langfuse.experiment.item.id"],
        }
        if "dataset" in groups:
            item |= {"experimentDatasetId": facts.get("langfuse.experiment.dataset.id"), "experimentItemVersion": None}
        if "io" in groups:
            item |= {
                "input": facts.get("langfuse.observation.input"),
                "output": facts.get("langfuse.observation.output"),
                "expectedOutput": facts.get("langfuse.experiment.item.expected_output"),
            }
        if "itemMetadata" in groups:
            item["experimentItemMetadata"] = json.loads(facts.get("langfuse.experiment.item.metadata") or "{}")
        if "scores" in groups:
            item["scores"] = [_score(one) for one in scores.values() if one.get("traceId") == span["traceId"]]
        found.append(item)
    return sorted(found, key=lambda one: str(one["startTime"]), reverse=True)


def observations(
    spans: Mapping[str, dict[str, Any]], scopes: Mapping[str, str], query: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Those of one trace, the latest first; metadata is flat, its values are texts, and long ones are cut."""
    whole = query.get("expandMetadata", "").split(",")
    found = [
        _observation(span, scopes[span["spanId"]], whole)
        for span in spans.values()
        if span["traceId"] == query["traceId"]
    ]
    return sorted(found, key=lambda one: str(one["startTime"]), reverse=True)


def _roots(spans: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    name = "langfuse.experiment.item.root_observation_id"
    return [span for span in spans.values() if attributes(span).get(name) == span["spanId"]]


def _observation(span: dict[str, Any], scope: str, whole: list[str]) -> dict[str, Any]:
    facts = attributes(span)
    kind = str(facts.get("langfuse.observation.type") or _TYPES.get(str(facts.get("gen_ai.operation.name")), "SPAN"))
    level = facts.get("langfuse.observation.level") or (
        "ERROR" if span.get("status", {}).get("code") == 2 else "DEFAULT"
    )
    metadata = {name.removeprefix(_METADATA): value for name, value in facts.items() if name.startswith(_METADATA)}
    if scope != "langfuse-sdk":
        kept = {name: value for name, value in facts.items() if name not in (*_INPUTS, *_OUTPUTS)}
        metadata |= {f"attributes.{name}": value for name, value in kept.items()}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in metadata.items()}
    return {
        "id": span["spanId"],
        "traceId": span["traceId"],
        "startTime": _instant(span["startTimeUnixNano"]),
        "endTime": _instant(span["endTimeUnixNano"]),
        "projectId": "project-1",
        "parentObservationId": span.get("parentSpanId") or None,
        "type": kind.upper(),
        "name": span["name"],
        "level": level,
        "statusMessage": facts.get("langfuse.observation.status_message") or span.get("status", {}).get("message"),
        "input": _first(facts, _INPUTS),
        "output": _first(facts, _OUTPUTS),
        "metadata": {name: text if name in whole else text[:_CUT] for name, text in texts.items()},
        "model": facts.get("langfuse.observation.model.name") or facts.get("gen_ai.request.model"),
        "usageDetails": json.loads(facts.get("langfuse.observation.usage_details") or "{}"),
    }


def _first(facts: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((facts[name] for name in names if facts.get(name) is not None), None)


def _score(sent: Mapping[str, Any]) -> dict[str, Any]:
    at = sent.get("timestamp") or "2026-11-01T10:00:00.000Z"
    kind = sent.get("dataType") or "NUMERIC"
    value = bool(sent["value"]) if kind == "BOOLEAN" else sent["value"]
    places = {"projectId": "project-1", "source": "API", "environment": "default", "createdAt": at, "updatedAt": at}
    return {**sent, **places, "dataType": kind, "timestamp": at, "value": value}


def _instant(time_ns: str) -> str:
    at = datetime.fromtimestamp(int(time_ns) // 1000 / 1e6, UTC)
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
