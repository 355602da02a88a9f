"""Where scores of sessions are sent: as `gen_ai.evaluation.result` events by OTLP, or as Langfuse scores."""

import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from typing import Final

from harness.errors import HarnessError
from harness.judge import Judgement
from harness.online.posting import post, refusal
from harness.online.scores.outbox import Send
from harness.online.scores.scores import SessionScore
from harness.score import Scorecard, card_values
from harness.trace import Evaluation, evaluation_event, otlp_endpoint, otlp_headers
from harness.upstream import LangfuseClient, langfuse_instant, langfuse_score, send_langfuse_scores
from harness.values import JsonObject, JsonValue, digest_of

_TRIES: Final = 3
_EVENT_ID: Final = "harness.evaluation.id"
_CONVERSATION: Final = "gen_ai.conversation.id"
_LONGEST: Final = 2000
"""Characters of an explanation."""


class ScoresNotSent(HarnessError):
    """The endpoint did not take the scores; they are kept and sent again."""


def langfuse_sender() -> Send:
    """Sends to the Langfuse server of the environment, as scores of the sessions' traces.

    Raises UsageError where a variable is missing.
    """
    client = LangfuseClient.from_environment()

    def send(scores: Sequence[SessionScore]) -> int:
        bodies = [body for score in scores for body in langfuse_scores(score)]
        send_langfuse_scores(client, bodies)
        return len(bodies)

    return send


def langfuse_scores(score: SessionScore) -> list[JsonObject]:
    """Success, checks, failure modes and metrics, or criteria, under the names that trials have in Langfuse.

    A later score of the session by the same suite or rubric replaces them.
    """
    values = [] if score.card is None else list(card_values(score.card))
    values += [
        (f"{one.rubric}.{one.criterion}", one.passed, one.rationale)
        for one in score.judgements
        if one.passed is not None
    ]
    metadata: JsonObject = {"suite": score.suite, "scorer": score.judge or score.scorer, "rate": score.sampling.rate}
    return [
        {
            **langfuse_score(f"{score.session}|{score.suite}|{name}", name, value, comment),
            "traceId": score.trace_id,
            "timestamp": langfuse_instant(score.received_ns),
            "metadata": metadata,
        }
        for name, value, comment in values
    ]


def otlp_logs_sender(address: str) -> Send:
    """Sends to an OTLP/HTTP endpoint as JSON; `/v1/logs` is added where it has no path. Headers are those of
    OTEL_EXPORTER_OTLP_HEADERS. Raises UsageError where `address` is not a URL.
    """
    base = otlp_endpoint(address)
    endpoint = f"{base.removesuffix('/v1/traces')}/v1/logs" if base.endswith("/v1/traces") else base
    headers = otlp_headers()

    def send(scores: Sequence[SessionScore]) -> int:
        records = [record for score in scores for record in _records(score)]
        body = json.dumps(_request(records)).encode()
        request = urllib.request.Request(endpoint, data=body, headers={**headers, "Content-Type": "application/json"})
        for left in reversed(range(_TRIES)):
            try:
                with post(request) as response:
                    response.read()
                    return len(records)
            except urllib.error.HTTPError as error:
                again, reason = refusal(error)
            except (OSError, HTTPException) as error:
                again, reason = True, str(error)
            if not again or not left:
                raise ScoresNotSent(f"the OTLP endpoint did not take {len(scores)} scores: {reason}")
            time.sleep(2.0 ** (_TRIES - left - 1))
        raise AssertionError("the last try returns or raises")

    return send


def _request(records: Sequence[JsonObject]) -> JsonObject:
    """An OTLP logs request with an event for every evaluation, in the form of the GenAI conventions."""
    resource: JsonObject = {"attributes": _typed({"service.name": "trial-harness"})}
    scope: JsonObject = {"scope": {"name": "harness"}, "logRecords": [*records]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}


def _records(score: SessionScore) -> Iterator[JsonObject]:
    for one in evaluations_of(score):
        event = evaluation_event(score.trace_id, "", one)
        identity = digest_of([score.identity, one.name, one.evaluator])[:32]
        facts = {**event.attributes, _EVENT_ID: identity, _CONVERSATION: score.session.partition(":")[2]}
        yield {
            "timeUnixNano": str(score.received_ns),
            "eventName": event.event_name,
            "traceId": event.trace_id,
            "severityNumber": 9,
            "attributes": _typed(facts),
        }


def evaluations_of(score: SessionScore) -> list[Evaluation]:
    """Every verdict, failure mode, known metric and judgement of a score as an evaluation."""
    found = [] if score.card is None else list(_of_card(score.card, score.suite))
    return found + [_of_judgement(one) for one in score.judgements]


def _of_card(card: Scorecard, suite: str) -> Iterator[Evaluation]:
    for verdict in card.verdicts:
        yield Evaluation(
            name=verdict.check,
            label={True: "pass", False: "fail", None: "unknown"}[verdict.passed],
            score=None if verdict.passed is None else float(verdict.passed),
            explanation=verdict.reason[:_LONGEST],
            evaluator=f"{suite}:{verdict.verifier}",
            evaluator_version=verdict.version,
        )
    for diagnosis in card.diagnoses:
        yield Evaluation(
            name=f"failure_mode.{diagnosis.failure}",
            label="found",
            score=0.0,
            explanation=diagnosis.evidence[:_LONGEST],
            evaluator=f"{suite}:detector",
        )
    for measured in card.scores:
        if measured.value is not None and math.isfinite(measured.value):
            yield Evaluation(
                name=measured.metric,
                score=measured.value,
                explanation=measured.explanation[:_LONGEST],
                evaluator=f"{suite}:metric",
                evaluator_version=measured.version,
            )


def _of_judgement(one: Judgement) -> Evaluation:
    return Evaluation(
        name=one.criterion,
        label=one.answer,
        score=None if one.passed is None else float(one.passed),
        explanation=one.rationale[:_LONGEST] or None,
        error=one.failure,
        evaluator=one.judge.model,
        evaluator_version=f"{one.rubric}@{one.rubric_version}/{one.criterion_version}",
        prompt=one.judge.prompt,
        prompt_version=one.judge.prompt_version,
    )


def _typed(facts: JsonObject) -> list[JsonValue]:
    return [{"key": name, "value": _typed_value(value)} for name, value in facts.items()]


def _typed_value(value: JsonValue) -> JsonObject:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": str(value)}
