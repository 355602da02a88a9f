"""Langfuse as a prompt registry and a place for scores, by its public HTTP API.

Prompts are read by name and label (or version); scores are sent one for each judgement, with a stable id, so that
sending again replaces them. The keys come from the environment: LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY,
LANGFUSE_SECRET_KEY.
"""

import hashlib
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from harness.judge.judgement import Judgement
from harness.judge.prompts import PRODUCTION, Prompt
from harness.upstream import LangfuseClient, LangfuseError, langfuse_keys
from harness.values import JsonObject


class Langfuse:
    """One project of a Langfuse server."""

    def __init__(self, host: str, public_key: str, secret_key: str) -> None:
        """Raises UsageError where the host is not an HTTP address."""
        self._client = LangfuseClient(host, public_key, secret_key)

    @classmethod
    def from_environment(cls) -> "Langfuse":
        """Raises UsageError with the name of the missing variable."""
        return cls(*langfuse_keys())

    def prompt(
        self, name: str, label: str = PRODUCTION, *, version: str | None = None, fallback: str | None = None
    ) -> Prompt:
        """The prompt by label or version; where the server has none or cannot be reached, `fallback`.

        A chat prompt becomes the text of its messages. Raises LangfuseError where there is no fallback.
        """
        query = {"label": label} if version is None else {"version": version}
        try:
            answer = self._client.get(f"/api/public/v2/prompts/{quote(name, safe='')}", **query)
            return Prompt(
                name=name,
                version=str(answer["version"]),
                text=_text(answer["prompt"]),
                source="langfuse",
                label=label if version is None else None,
            )
        except (LangfuseError, KeyError, TypeError, ValueError) as error:
            if fallback is not None:
                return Prompt(name=name, version="fallback", text=fallback, source="fallback", label=label)
            if isinstance(error, LangfuseError):
                raise
            raise LangfuseError(f"Langfuse returned no valid prompt for {name!r}") from None

    def send(self, judgements: Iterable[Judgement]) -> int:
        """Sends verdicts as boolean scores of their traces, and returns their number. Judgements without a verdict are
        omitted.
        """
        scores = [_score(one) for one in judgements if one.passed is not None and one.trace_id]
        for score in scores:
            self._client.post("/api/public/scores", score)
        return len(scores)


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
