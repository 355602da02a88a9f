"""Scores on their way out: as `gen_ai.evaluation.result` events by OTLP, or as Langfuse scores.

A file in the outbox stands for scores that were not sent yet. It is written before the scores and removed after the
receiver has taken them, so that none is lost; one that is sent twice has the same id, by which receivers tell.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Final

from harness.documents import write_atomically
from harness.errors import HarnessError
from harness.judge import Langfuse
from harness.online.posting import post, refusal
from harness.online.scores.scores import SessionScore
from harness.plain_files import read_plain_file
from harness.trace import Evaluation, evaluation_event, otlp_endpoint, otlp_headers
from harness.values import JsonObject, JsonValue, digest_of

_TRIES: Final = 3
_DAMAGED: Final = ".damaged"
_EVENT_ID: Final = "harness.evaluation.id"
_CONVERSATION: Final = "gen_ai.conversation.id"
Send = Callable[[Sequence[SessionScore]], None]
"""Sends scores; raises HarnessError where they were not taken."""


class ScoresNotSent(HarnessError):
    """The endpoint did not take the scores; they are kept and sent again."""


class Outbox:
    """The folder of scores that wait."""

    def __init__(self, folder: Path, send: Send) -> None:
        self._folder = folder
        self._send = send

    def announce(self, scores: Sequence[SessionScore]) -> None:
        """Keeps scores until `deliver` has sent them."""
        documents = [one.model_dump(mode="json") for one in scores if not one.skipped]
        if documents:
            content = json.dumps(documents).encode()
            write_atomically(self._folder / f"{time.time_ns()}-{digest_of(documents)[:8]}.json", content)

    def deliver(self, say: Callable[[str], None] = lambda _: None) -> int:
        """Sends everything that waits, oldest first; the number of scores. Raises HarnessError at the first failure.

        A file that holds no scores is told to `say`, and kept under another name: the others are sent.
        """
        sent = 0
        for path in sorted(self._folder.glob("*.json")):
            try:
                scores = _waiting_scores(path)
            except FileNotFoundError:  # another process has sent it
                continue
            except (OSError, ValueError, TypeError, RecursionError, HarnessError) as error:
                kept = path.replace(path.with_name(f"{path.name}{_DAMAGED}"))
                say(f"{path}: holds no scores and is not sent; kept as {kept.name}: {str(error)[:200]}")
                continue
            self._send(scores)
            path.unlink(missing_ok=True)
            sent += len(scores)
        return sent

    @property
    def damaged(self) -> int:
        """Files that held no scores and were kept aside."""
        return sum(1 for _ in self._folder.glob(f"*{_DAMAGED}"))

    @property
    def waiting(self) -> int:
        """Batches that were not sent yet."""
        return sum(1 for _ in self._folder.glob("*.json"))


def forget_waiting(folder: Path, gone: Callable[[SessionScore], bool], before_ns: int | None = None) -> None:
    """Removes scores from an outbox. A damaged file may hold any of them: it goes too, where it was written before
    `before_ns`; None: in any case.
    """
    for path in (*folder.glob("*.json"), *folder.glob(f"*{_DAMAGED}")):
        try:
            scores = _waiting_scores(path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, RecursionError, HarnessError):
            if before_ns is None or path.lstat().st_mtime_ns < before_ns:
                path.unlink(missing_ok=True)
            continue
        kept = [one for one in scores if not gone(one)]
        if not kept:
            path.unlink(missing_ok=True)
        elif len(kept) < len(scores):
            write_atomically(path, json.dumps([one.model_dump(mode="json") for one in kept]).encode())


def _waiting_scores(path: Path) -> list[SessionScore]:
    return [SessionScore.model_validate(one) for one in json.loads(read_plain_file(path))]


def langfuse_sender() -> Send:
    """Sends judgements to the Langfuse server of the environment. Raises UsageError where a variable is missing."""
    langfuse = Langfuse.from_environment()

    def send(scores: Sequence[SessionScore]) -> None:
        langfuse.send(judgement for score in scores for judgement in score.judgements)

    return send


def otlp_logs_sender(address: str) -> Send:
    """Sends to an OTLP/HTTP endpoint as JSON; `/v1/logs` is added where it has no path. Headers are those of
    OTEL_EXPORTER_OTLP_HEADERS. Raises UsageError where `told` is no URL.
    """
    base = otlp_endpoint(address)
    endpoint = f"{base.removesuffix('/v1/traces')}/v1/logs" if base.endswith("/v1/traces") else base
    headers = otlp_headers()

    def send(scores: Sequence[SessionScore]) -> None:
        body = json.dumps(evaluation_request(scores)).encode()
        request = urllib.request.Request(endpoint, data=body, headers={**headers, "Content-Type": "application/json"})
        for left in reversed(range(_TRIES)):
            try:
                with post(request) as response:
                    response.read()
                    return
            except urllib.error.HTTPError as error:
                again, reason = refusal(error)
            except (OSError, HTTPException) as error:
                again, reason = True, str(error)
            if not again or not left:
                raise ScoresNotSent(f"the OTLP endpoint did not take {len(scores)} scores: {reason}")
            time.sleep(2.0 ** (_TRIES - left - 1))

    return send


def evaluation_request(scores: Iterable[SessionScore]) -> JsonObject:
    """An OTLP logs request with an event for every verdict and judgement, in the form of the GenAI conventions."""
    records: list[JsonValue] = [record for score in scores for record in _records(score)]
    resource: JsonObject = {"attributes": _typed({"service.name": "trial-harness"})}
    scope: JsonObject = {"scope": {"name": "harness"}, "logRecords": records}
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
    """Every verdict, failure mode and judgement of a score as an evaluation."""
    card = score.card
    found = [
        Evaluation(
            name=verdict.check,
            label={True: "pass", False: "fail", None: "unknown"}[verdict.passed],
            score=None if verdict.passed is None else float(verdict.passed),
            explanation=verdict.reason[:2000],
            evaluator=f"{score.suite}:{verdict.verifier}",
            evaluator_version=verdict.version,
        )
        for verdict in (card.verdicts if card is not None else ())
    ]
    found += [
        Evaluation(
            name=f"failure_mode.{diagnosis.failure}",
            label="found",
            score=0.0,
            explanation=diagnosis.evidence[:2000],
            evaluator=f"{score.suite}:detector",
        )
        for diagnosis in (card.diagnoses if card is not None else ())
    ]
    for one in score.judgements:
        found.append(
            Evaluation(
                name=one.criterion,
                label=one.answer,
                score=None if one.passed is None else float(one.passed),
                explanation=one.rationale[:2000] or None,
                error=one.failure,
                evaluator=one.judge.model,
                evaluator_version=f"{one.rubric}@{one.rubric_version}/{one.criterion_version}",
                prompt=one.judge.prompt,
                prompt_version=one.judge.prompt_version,
            )
        )
    return found


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
