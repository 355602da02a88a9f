"""Secrets, and bytes that are not UTF-8, in what a recording would store."""

from pathlib import Path

from harness.errors import UsageError
from harness.pipeline.command.request import CommandRequest
from harness.pipeline.command.secret_texts import SecretTexts


def refuse_typed_texts(request: CommandRequest) -> None:
    """Raises UsageError for an empty task, and for an option whose text would be stored: a secret, or not UTF-8."""
    if request.task is not None and not request.task.strip():
        raise UsageError("the text of --task is empty", remedy="--task TEXT, or leave the option out")
    secrets = SecretTexts.of_environment(request.environment)
    typed = [("--from-command", request.typed), ("--task", request.task or "")]
    typed += [(f"--mcp {name}", command) for name, command in request.mcp.items()]
    typed += [("--tool-host", host) for host in request.hosts]
    typed += [("--provider", provider) for provider in request.providers]
    for option, text in typed:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UsageError(f"the text of {option} is not UTF-8", remedy="type it in UTF-8")
        why = secrets.reason(text.encode("utf-8"))
        if why is not None:
            raise UsageError(f"{option} {why}; suite.yaml would store it", remedy=_remedy(option))


def refuse_recorded_secret(cassette: Path, shown: Path, secrets: SecretTexts) -> list[str]:
    """Raises UsageError where the cassette holds a variable's value; returns what to say of keys by their shape."""
    if not cassette.exists():
        return []
    content = cassette.read_bytes()
    name = secrets.variable_in(content)
    if name is not None:
        raise UsageError(
            f"what was recorded holds the value of the environment variable {name}; {shown} would store it",
            remedy=f"--secret {name} replaces it in all that is stored; or keep it out of what the command reads",
        )
    why = secrets.reason(content)
    return [] if why is None else [f"{shown} {why}: read it before you commit it"]


def _remedy(option: str) -> str:
    if option.startswith("--mcp"):
        return "take it out, and let the server read a variable: --secret NAME"
    return "take it out: keys of models are added by the gateway (--api-key NAME), and MCP servers get --secret NAME"
