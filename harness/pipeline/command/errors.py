"""Errors of a recording in the user's terms: places where the suite will be, remedies that this verb has."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.errors import ExitCode, HarnessError, SandboxError, UsageError
from harness.pipeline.command.staging import Staging

_OF_A_RUN = "--tools replay"
_BY_HAND = "start it by hand with the command in the suite's `tools:`"
_OWN_REMEDY = "start it, or name another one: --provider, --mcp, --tool-host"


@contextmanager
def in_terms_of(stage: Staging, suite: str) -> Iterator[None]:
    """Replaces hidden paths by those of the project, and the remedy of a run that could replay."""
    shown = {str(stage.suite): str(stage.project / "suites" / suite), str(stage.world): str(stage.project)}
    try:
        yield
    except HarnessError as error:
        message, remedy = _renamed(error.message, shown), _renamed(error.remedy or "", shown)
        if _OF_A_RUN in remedy:
            remedy = _OWN_REMEDY
        remedy = remedy.replace(_BY_HAND, "start it by hand with the command of --mcp")
        if (message, remedy) == (error.message, error.remedy or ""):
            raise
        kind = UsageError if error.exit_code == ExitCode.USAGE else SandboxError
        raise kind(message, remedy=remedy or None) from error


def _renamed(text: str, shown: dict[str, str]) -> str:
    for hidden, place in shown.items():
        text = text.replace(hidden, place)
    return text
