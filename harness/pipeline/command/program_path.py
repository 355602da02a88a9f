"""Where the sandbox `local` finds a program that the user's own shell finds."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from harness.pipeline.command.agent_command import program_of
from harness.pipeline.command.request import CommandRequest
from harness.sandbox import isolates, local_search_path


def path_of_program(request: CommandRequest, command: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The variable PATH for the agent, and what to say of it; nothing where the sandbox finds the program by itself."""
    word = command[0] if command[0] != "sh" else program_of(command)
    if isolates(request.sandbox) or "/" in word or shutil.which(word, path=local_search_path()) is not None:
        return {}, []
    found = shutil.which(word, path=request.environment.get("PATH"))
    if found is None:
        return {}, []
    folder = str(Path(found).parent)
    note = f"suite.yaml names {folder} of this machine, where {word!r} was found: `env: PATH` of the agent"
    return {"PATH": f"{folder}:{local_search_path()}"}, [note]
