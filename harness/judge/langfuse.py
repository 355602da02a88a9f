"""Langfuse as a prompt registry and a place for scores, by its public HTTP API.

Prompts are read by name and label (or version); scores are sent one a judgement, under an id of their own, so that
sending again replaces and never doubles. The keys come from the environment: LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY,
LANGFUSE_SECRET_KEY.
"""

import base64
import hashlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote, urlencode

from typing_extensions import override

from harness.cassette import Redactor
from harness.cassette.redaction import SHORTEST
from harness.errors import HarnessError, UsageError
from harness.judge.judgement import Judgement
from harness.judge.prompts import PRODUCTION, Prompt
from harness.values import JsonObject

_TIMEOUT_S: Final = 30.0
_MAX_BYTES: Final = 4 * 1024 * 1024


class LangfuseError(HarnessError):
    """A request to Langfuse failed."""


class Langfuse:
    """One project of a Langfuse server."""

    def __init__(self, host: str, public_key: str, secret_key: str) -> None:
        """Raises UsageError where the host is not an HTTP address."""
        if not host.startswith(("http://", "https://")):
            raise UsageError(f"LANGFUSE_HOST {host!r} is no http(s) address")
        self._host = host.rstrip("/")
        keys = {"LANGFUSE_SECRET_KEY": secret_key, "LANGFUSE_PUBLIC_KEY": public_key}
        self._redactor = Redactor({name: key for name, key in keys.items() if len(key) >= SHORTEST})
        token = base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    @classmethod
    def from_environment(cls) -> "Langfuse":
        """Raises UsageError that names the variable that is missing."""
        names = ("LANGFUSE_HOST", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
        missing = [name for name in names if not os.environ.get(name)]
        if missing:
            raise UsageError(f"the environment variables {', '.join(missing)} are not set")
        return cls(*(os.environ[name] for name in names))

    def prompt(
        self, name: str, label: str = PRODUCTION, *, version: str | None = None, fallback: str | None = None
    ) -> Prompt:
        """The prompt by label or version; where the server has none or cannot be reached, `fallback`.

        A chat prompt becomes the text of its messages. Raises LangfuseError where there is no fallback.
        """
        asked = {"label": label} if version is None else {"version": version}
        try:
            told = self._call("GET", f"/api/public/v2/prompts/{quote(name, safe='')}?{urlencode(asked)}")
            return Prompt(
                name=name,
                version=str(told["version"]),
                text=_text(told["prompt"]),
                source="langfuse",
                label=label if version is None else None,
            )
        except (LangfuseError, KeyError, TypeError, ValueError) as error:
            if fallback is not None:
                return Prompt(name=name, version="fallback", text=fallback, source="fallback", label=label)
            if isinstance(error, LangfuseError):
                raise
            raise LangfuseError(f"Langfuse's answer about the prompt {name!r} is no prompt") from None

    def send(self, judgements: Iterable[Judgement]) -> int:
        """Sends what is a verdict as boolean scores of its trace; how many. What is none is left out."""
        scores = [_score(one) for one in judgements if one.passed is not None and one.trace_id]
        for score in scores:
            self._call("POST", "/api/public/scores", score)
        return len(scores)

    def _call(self, method: str, path: str, body: JsonObject | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._host}{path}", data=data, headers=self._headers, method=method)
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_S) as response:
                return json.loads(response.read(_MAX_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                said = self._redactor.text(error.read(_MAX_BYTES).decode("utf-8", "replace"))[:300]
            raise LangfuseError(f"Langfuse answered {method} {path} with status {error.code}: {said}") from None
        except (OSError, ValueError) as error:
            raise LangfuseError(f"Langfuse at {self._host} cannot be asked: {error}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows none: a request carries the keys of the project, which are for its own host alone."""

    @override
    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _score(one: Judgement) -> JsonObject:
    rubric = f"{one.rubric}@{one.rubric_version}"
    identity = "|".join(
        (one.trace_id, one.case_id, str(one.attempt), rubric, one.criterion, one.judge.model_dump_json())
    )
    span = next((span for span in one.spans if not span.startswith("step:")), None)
    score: JsonObject = {
        "id": hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "traceId": one.trace_id,
        "name": f"{one.rubric}.{one.criterion}",
        "value": int(one.passed is True),
        "dataType": "BOOLEAN",
        "comment": one.rationale,
        "metadata": {
            "rubric": rubric,
            "criterion_version": one.criterion_version,
            "judge": one.judge.model,
            "prompt": one.judge.prompt,
            "prompt_version": one.judge.prompt_version,
        },
    }
    return score | ({} if span is None else {"observationId": span})


def _text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(str(message["content"]) for message in prompt)
