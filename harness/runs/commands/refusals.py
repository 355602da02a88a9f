"""Why a command's recording cannot be kept, with the remedy."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.errors import HarnessError, ServiceError, UsageError
from harness.runs.commands.working_folder import CommandRequest, SecretTexts, program_of
from harness.runs.store.folder import StoredTrial
from harness.sandbox.providers import isolates
from harness.suite.suites import Suite
from harness.traces import names
from harness.traces.trial import ProgramExit, Trial

_NOT_FOUND = 127
_LINES = 15


class RecordedCall(NamedTuple):
    """One call of a tool or host."""

    name: str
    effect: str


def refuse_writes(request: CommandRequest, suite: Suite) -> None:
    """Raises UsageError, before anything runs, for servers that would be written to without leave."""
    names = {name for name, server in suite.servers.items() if server.mcp is not None and not server.disposable}
    writing = sorted(tool.name for tool in suite.tools if tool.server in names and tool.effect == "write")
    if writing and not request.allow_writes:
        raise UsageError(
            f"tools that may write would be called: {', '.join(writing[:8])}",
            remedy="--allow-writes, if the state of their servers may be discarded",
        )


def refuse_unusable(request: CommandRequest, command: Sequence[str], stored: StoredTrial) -> None:
    """Raises HarnessError if the trial cannot become a case: it failed, or asked no model."""
    trial = stored.trial
    if trial.outcome == "harness_failed":
        raise ServiceError(f"the command could not be recorded: {trial.reason}")
    if trial.outcome != "finished" or _refused_writes(trial):
        raise _failed_command_error(request, command, stored)
    unreadable = sorted(trial.recording.unreadable) if trial.recording is not None else []
    if unreadable:
        raise ServiceError(
            f"answers are too large, or not in the tool's protocol, and could not be recorded: {', '.join(unreadable)}",
            remedy="correct the tool",
        )
    failed = sorted(trial.recording.failed) if trial.recording is not None else []
    if failed:
        raise ServiceError(
            f"calls failed for the moment and could not be recorded: {', '.join(failed)}", remedy="record again"
        )


def asked_model(trial: Trial) -> bool:
    """Whether a request to a model passed the gateway."""
    return trial.model_use is not None or any(step.model is not None for step in trial.trajectory.steps)


def recorded_calls(stored: StoredTrial) -> tuple[RecordedCall, ...]:
    """The calls of tools and hosts that passed the gateway."""
    seen = [span.attributes for span in stored.spans if names.TOOL_EFFECT in span.attributes]
    return tuple(RecordedCall(str(one.get(names.TOOL_NAME)), str(one[names.TOOL_EFFECT])) for one in seen)


def refused_hosts(stored: StoredTrial) -> tuple[str, ...]:
    """Hosts with ports that the command called and the gateway refused."""
    refused = [span.attributes for span in stored.spans if span.attributes.get(names.STEP_KIND) == names.REFUSED]
    return tuple(sorted({str(one.get(names.TOOL_NAME, "")).removeprefix("http:") for one in refused}))


def _refused_writes(trial: Trial) -> bool:
    """Whether the gateway refused a request because it would write to a host."""
    observations = (one for step in trial.trajectory.steps for one in step.observations)
    return any(one.error is not None and "would write" in one.error.message for one in observations)


def _failed_command_error(request: CommandRequest, command: Sequence[str], stored: StoredTrial) -> HarnessError:
    trial = stored.trial
    printed = _last_lines(trial.exit or ProgramExit(code=None))
    ended = "" if trial.exit is None else f"it ended with exit status {trial.exit.code}"
    problem = f"the command was run, and is not recorded: {trial.reason or ended}{_refused_words(stored)}"
    said = f"{problem}\n{printed}" if printed else problem
    return UsageError(said, remedy=_remedy_of_failure(request, command, stored, printed))


def _remedy_of_failure(request: CommandRequest, command: Sequence[str], stored: StoredTrial, printed: str) -> str:
    trial = stored.trial
    if trial.exit is not None and trial.exit.code == _NOT_FOUND:
        return _remedy_of_missing(request, program_of(command))
    if trial.outcome == "limit_reached":
        return (
            f"allow more (--seconds, now {request.seconds:g}); a program that waits for input ends only by its time"
            " limit: use its mode for scripts"
        )
    return (
        _remedy_of_unreached(request, stored, printed)
        or "a case is made of a command that ends with exit status 0: correct it, or add `|| true` if that is"
        " meant; it has no terminal, an empty standard input (use its mode for scripts, such as `claude -p`), and no"
        " network but HTTP proxies and a model at the address of OPENAI_BASE_URL or ANTHROPIC_BASE_URL"
    )


def _remedy_of_missing(request: CommandRequest, program: str) -> str:
    if isolates(request.sandbox):
        return (
            f"{program!r} is not in the image: name one that has it (--image NAME, from images/NAME/Dockerfile),"
            " or run it on this machine without isolation: --sandbox local"
        )
    return f"{program!r} was not found on this machine: install it, or give its whole path"


def _remedy_of_unreached(request: CommandRequest, stored: StoredTrial, printed: str) -> str | None:
    if _refused_writes(stored.trial):
        return "it wrote to a host: --allow-writes, if the host's state may be discarded"
    hosts = refused_hosts(stored)
    if hosts:
        return "declare what it calls in `hosts:` of suite.yaml: " + ", ".join(hosts)
    if "ModuleNotFoundError" in printed and isolates(request.sandbox):
        return "the image has none of your packages: --image NAME (images/NAME/requirements.txt), or --sandbox local"
    return None


def _refused_words(stored: StoredTrial) -> str:
    hosts = refused_hosts(stored)
    return f"; it called {', '.join(hosts)}, which the gateway refused" if hosts else ""


def _last_lines(ended: ProgramExit) -> str:
    """The end of what it printed, indented."""
    text = "\n".join((ended.stderr_end or ended.stderr, ended.stdout_end or ended.stdout))
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(f"  | {line[:200]}" for line in lines[-_LINES:])


def refuse_typed_texts(request: CommandRequest) -> None:
    """Raises UsageError for a text that would be stored: a secret, or not UTF-8."""
    secrets = SecretTexts.of_environment(request.environment)
    typed = [("the command", " ".join(request.typed))]
    typed += [(f"--mcp {name}", command) for name, command in request.mcp.items()]
    for option, text in typed:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UsageError(f"the text of {option} is not UTF-8", remedy="type it in UTF-8")
        why = secrets.reason(text.encode("utf-8"))
        if why is not None:
            raise UsageError(
                f"{option} {why}; suite.yaml would store it",
                remedy="take it out: the program, or the server, reads it from a variable",
            )


def refuse_recorded_secret(cassette: Path, shown: Path, secrets: SecretTexts) -> list[str]:
    """Raises UsageError if the cassette holds a variable's value; returns what to say of keys by their shape."""
    if not cassette.exists():
        return []
    content = cassette.read_bytes()
    name = secrets.variable_in(content)
    if name is not None:
        raise UsageError(
            f"what was recorded holds the value of the environment variable {name}; {shown} would store it",
            remedy="keep it out of what the command reads",
        )
    why = secrets.reason(content)
    return [] if why is None else [f"{shown} {why}: read it before you commit it"]
