"""What is sent elsewhere: scores of sessions, and stored trials to a receiver."""

import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPException
from typing import Final

from pydantic import JsonValue

from harness.errors import HarnessError
from harness.gateway.posting import post, refusal
from harness.gateway.upstream.langfuse import LangfuseClient, langfuse_instant, langfuse_score, send_langfuse_scores
from harness.production.score_store import Send
from harness.production.scores import SessionScore
from harness.production.session import MAX_ARCHIVE, is_sent, trial_attributes
from harness.runs.store.folder import StoredTrial
from harness.scoring.evidence import ReferenceState
from harness.scoring.scorecard import Scorecard, card_values
from harness.traces.exporting import otlp_endpoint, otlp_headers
from harness.traces.otlp import export_otlp, typed_pairs
from harness.traces.spans import Evaluation, Span, evaluation_event
from harness.values import JsonObject, digest_of

_TRIES: Final = 5
_EVENT_ID: Final = "harness.evaluation.id"
_CONVERSATION: Final = "gen_ai.conversation.id"
_LONGEST: Final = 2000
"""Characters of an explanation."""


class NotTaken(HarnessError):
    """The receiver did not take what was sent."""


def langfuse_sender() -> Send:
    """Sends to the Langfuse server of the environment, as scores of the sessions' traces.

    Raises UsageError if a variable is missing.
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
    """Sends to an OTLP/HTTP endpoint as JSON; `/v1/logs` is added if it has no path. Headers are those of
    OTEL_EXPORTER_OTLP_HEADERS. Raises UsageError if `address` is not a URL.
    """
    base = otlp_endpoint(address)
    endpoint = f"{base.removesuffix('/v1/traces')}/v1/logs" if base.endswith("/v1/traces") else base
    headers = otlp_headers()

    def send(scores: Sequence[SessionScore]) -> int:
        records = [record for score in scores for record in _records(score)]
        _post(endpoint, _request(records), headers)
        return len(records)

    return send


def _request(records: Sequence[JsonObject]) -> JsonObject:
    """An OTLP logs request with an event for every evaluation, in the form of the GenAI conventions."""
    resource: JsonObject = {"attributes": typed_pairs({"service.name": "trial-harness"})}
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
            "attributes": typed_pairs(facts),
        }


def evaluations_of(score: SessionScore) -> list[Evaluation]:
    """Every verdict, failure mode, known metric and judgement of a score as an evaluation."""
    found = [] if score.card is None else list(_of_card(score.card, score.suite))
    return found + [one.evaluation for one in score.judgements]


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


_RELEASE: Final = "harness.release"
_BATCH_SPANS: Final = 500
_LONGEST_ANSWER: Final = 1 << 20
_TOKEN: Final = (
    "--token VARIABLE names the environment variable that holds a token of the receiver; of scores, the header stands"
    " in OTEL_EXPORTER_OTLP_HEADERS"
)


def trial_session(run: str, trial: StoredTrial) -> str:
    """The session id that a stored trial is sent under."""
    return f"{run}.{trial.trial.case_id}.{trial.trial.attempt}"


def trial_requests(
    run: str, stored: StoredTrial, *, release: str = "", references: Mapping[str, ReferenceState] | None = None
) -> Iterable[tuple[str, JsonObject]]:
    """(path, request) for a trial: its spans, then the records of what is known beside them.

    `references`: case id -> the state that the case's reference leaves, of those that are stored with the run.
    """
    session = trial_session(run, stored)
    spans = [_in_session(span, session, release) for span in stored.spans]
    for start in range(0, len(spans), _BATCH_SPANS):
        yield "/v1/traces", export_otlp(spans[start : start + _BATCH_SPANS])
    at_ns = max((span.end_ns for span in spans), default=0)
    for event, facts in trial_attributes(stored.trial, stored.end_state, (references or {}).get(stored.trial.case_id)):
        record: JsonObject = {
            "eventName": event,
            "traceId": stored.trial.trajectory.trace_id,
            "timeUnixNano": str(at_ns),
            "attributes": typed_pairs({**facts, _CONVERSATION: session}),
        }
        yield "/v1/logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


def left_out_of(stored: StoredTrial) -> str | None:
    """What of a trial is not sent, so that some of its checks cannot be decided; None: nothing."""
    if stored.end_state is None or is_sent(stored.end_state):
        return None
    most = MAX_ARCHIVE >> 20
    return f"the content of the changed files is above {most} MB: checks that read it cannot be decided"


def refused_in(answer: JsonObject) -> str | None:
    """What a receiver says that it did not take, or cut; None: nothing."""
    partial = answer.get("partialSuccess")
    words = partial.get("errorMessage") if isinstance(partial, dict) else None
    return str(words)[:300] if words else None


def post_otlp(url: str, path: str, request: JsonObject, token: str | None = None) -> JsonObject:
    """Sends one request in JSON, again if the receiver asks for it; its answer. A redirect is not followed.

    Raises NotTaken, and UsageError if `url` is not a URL.
    """
    otlp_endpoint(url)
    endpoint, headers = f"{url.rstrip('/')}{path}", {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        answer = json.loads(_post(endpoint, request, headers) or b"{}")
    except (ValueError, RecursionError):
        raise NotTaken(f"{endpoint} did not take a request: its answer is not JSON") from None
    return answer if isinstance(answer, dict) else {}


def _post(endpoint: str, request: JsonObject, headers: Mapping[str, str]) -> bytes:
    content, headers = json.dumps(request).encode(), {**headers, "Content-Type": "application/json"}
    asked = urllib.request.Request(endpoint, data=content, headers=headers)
    for left in reversed(range(_TRIES)):
        wait_s, remedy = 1.0, None
        try:
            with post(asked) as response:
                return response.read(_LONGEST_ANSWER)
        except urllib.error.HTTPError as error:
            again, reason = refusal(error)
            remedy = _TOKEN if error.code == 401 else None
            wait_s = _seconds(error.headers.get("Retry-After"))
        except (OSError, HTTPException) as error:
            again, reason = True, str(error)
        if not again or not left:
            raise NotTaken(f"{endpoint} did not take a request: {reason}", remedy=remedy)
        time.sleep(min(wait_s, 10))
    raise AssertionError("the last try returns or raises")


def _seconds(header: str | None) -> float:
    """A header's number of seconds; one second if it is not a number, such as a date."""
    return float(header) if header is not None and header.isdecimal() else 1.0


def _in_session(span: Span, session: str, release: str) -> Span:
    """With a session id of its own: those of imported trials repeat from run to run."""
    attributes: dict[str, JsonValue] = {**span.attributes}
    if span.parent_id is None or _CONVERSATION in attributes:
        attributes[_CONVERSATION] = session
    if release and span.parent_id is None:
        attributes[_RELEASE] = release
    return span.model_copy(update={"attributes": attributes})
