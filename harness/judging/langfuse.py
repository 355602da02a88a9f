"""Langfuse as a prompt registry, by its public HTTP API.

Prompts are read by name and label (or version). The keys come from the environment: LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY,
LANGFUSE_SECRET_KEY.
"""

from typing import Any
from urllib.parse import quote

from harness.gateway.upstream.langfuse import LangfuseClient, LangfuseError, langfuse_keys
from harness.judging.prompts import PRODUCTION, Prompt


class Langfuse:
    """One project of a Langfuse server."""

    def __init__(self, host: str, public_key: str, secret_key: str) -> None:
        """Raises UsageError if the host is not an HTTP address."""
        self._client = LangfuseClient(host, public_key, secret_key)

    @classmethod
    def from_environment(cls) -> "Langfuse":
        """Raises UsageError with the name of the missing variable."""
        return cls(*langfuse_keys())

    def prompt(
        self, name: str, label: str = PRODUCTION, *, version: str | None = None, fallback: str | None = None
    ) -> Prompt:
        """The prompt by label or version; if the server has none or cannot be reached, `fallback`.

        A chat prompt becomes the text of its messages. Raises LangfuseError if there is no fallback.
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


def _text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(str(message["content"]) for message in prompt)
