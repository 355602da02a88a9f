"""Stored trials of this harness sent to a receiver by OTLP: to score them online as they were scored offline."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from typing import Final

from harness.errors import HarnessError
from harness.ingest import export_otlp
from harness.online.posting import post, refusal
from harness.online.trial_record import MAX_ARCHIVE, is_sent, trial_attributes
from harness.results import StoredTrial
from harness.score import ReferenceState
from harness.trace import Span, otlp_endpoint
from harness.values import JsonObject, JsonValue

_CONVERSATION: Final = "gen_ai.conversation.id"
_RELEASE: Final = "harness.release"
_TRIES: Final = 5
_BATCH_SPANS: Final = 500
_LONGEST_ANSWER: Final = 1 << 20
_TOKEN: Final = "--token VARIABLE names the environment variable that holds a token of the receiver"


class NotTaken(HarnessError):
    """The receiver did not take the spans."""


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
        named = {**facts, _CONVERSATION: session}
        attributes: list[JsonValue] = [{"key": name, "value": {"stringValue": value}} for name, value in named.items()]
        record: JsonObject = {
            "eventName": event,
            "traceId": stored.trial.trajectory.trace_id,
            "timeUnixNano": str(at_ns),
            "attributes": attributes,
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
    """Sends one request in JSON, again where the receiver asks for it; its answer. A redirect is not followed.

    Raises NotTaken, and UsageError where `url` is not a URL.
    """
    otlp_endpoint(url)
    headers = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    asked = urllib.request.Request(f"{url.rstrip('/')}{path}", data=json.dumps(request).encode(), headers=headers)
    for left in reversed(range(_TRIES)):
        wait_s, remedy = 1.0, None
        try:
            with post(asked) as response:
                answer = json.loads(response.read(_LONGEST_ANSWER) or b"{}")
                return answer if isinstance(answer, dict) else {}
        except urllib.error.HTTPError as error:
            again, reason = refusal(error)
            remedy = _TOKEN if error.code == 401 else None
            wait_s = _seconds(error.headers.get("Retry-After"))
        except (ValueError, RecursionError):
            again, reason = False, "its answer is not JSON"
        except (OSError, HTTPException) as error:
            again, reason = True, str(error)
        if not again or not left:
            raise NotTaken(f"{url}{path} did not take a request: {reason}", remedy=remedy)
        time.sleep(min(wait_s, 10))
    raise NotTaken(f"{url}{path} did not take a request")


def _seconds(header: str | None) -> float:
    """A header's number of seconds; one second where it is none, such as a date."""
    return float(header) if header is not None and header.isdecimal() else 1.0


def _in_session(span: Span, session: str, release: str) -> Span:
    """With a session id of its own: those of imported trials repeat from run to run."""
    attributes: dict[str, JsonValue] = {**span.attributes}
    if span.parent_id is None or _CONVERSATION in attributes:
        attributes[_CONVERSATION] = session
    if release and span.parent_id is None:
        attributes[_RELEASE] = release
    return span.model_copy(update={"attributes": attributes})
