"""A command line as a user types it, as the `command` of an agent."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from harness.errors import UsageError

TASK: Final = "{task}"
"""Stands in a command for the case's task."""

_QUOTED = re.compile(r"'[^']*'|\"((?:\\.|[^\"\\])*)\"|\\.", re.DOTALL)
_OF_A_SHELL = re.compile(r"[|&;<>()$`*?~\[\n#]|^\s*[A-Za-z_][A-Za-z0-9_]*=")
_IN_QUOTES = re.compile(r"[$`]")
_INTERPRETER = re.compile(r"(?:ba|da|z|k|fi|a)?sh|python[\d.]*|perl|ruby|node")
_TAKES_CODE = re.compile(r"-[A-Za-z]*[ce]|--eval")
_TASK_WORD = re.compile(r"(?<![^\s;&|(])([\"']?)\{task\}\1(?![^\s;&|)])")


def agent_command(typed: str, task: str | None = None) -> tuple[str, ...]:
    """The words of the command; with `sh -c` before it where it uses what only a shell can do.

    A word that is the whole `task` becomes `{task}`. In a command for a shell, `{task}` becomes `"$1"`, so that no
    character of a task is read by the shell. Raises UsageError for a command that cannot be read.
    """
    try:
        words = shlex.split(typed)
    except ValueError as error:
        raise UsageError(
            f"the command {typed[:200]!r} cannot be read: {error}", remedy="close its quotation marks"
        ) from None
    if not words:
        raise UsageError("the command is empty", remedy="--from-command 'PROGRAM ARGUMENT ...'")
    if not _needs_shell(typed):
        _refuse_task_in_code(words)
        return tuple(TASK if task is not None and word == task else word for word in words)
    if TASK not in typed:
        return ("sh", "-c", typed)
    script = _TASK_WORD.sub('"$1"', typed)
    if TASK in script or any(TASK in quoted[0][1:-1] != TASK for quoted in _QUOTED.finditer(typed)):
        raise UsageError(
            "in a command for a shell, {task} must be a word of its own",
            remedy="put spaces around {task}, or put the command into a script that takes the task as its argument",
        )
    return ("sh", "-c", script, "sh", TASK)


def _refuse_task_in_code(words: Sequence[str]) -> None:
    """Raises UsageError where the task would be read as code, as in `sh -c 'echo {task}'`."""
    for before, option, code in zip(words, words[1:], words[2:], strict=False):
        program = before.rpartition("/")[2]
        if TASK in code and _TAKES_CODE.fullmatch(option) and _INTERPRETER.fullmatch(program):
            raise UsageError(
                f"{program} {option} would run the text of {TASK} as code",
                remedy=f"leave `{program} {option}` out: a command that needs a shell is run by one, and {TASK} is one"
                " argument; or put the code into a script that takes the task as its argument",
            )


def takes_task(command: Sequence[str]) -> bool:
    """Whether the command has a place for the task."""
    return any(TASK in word for word in command)


def told_task(command: Sequence[str]) -> str:
    """The task of a command without a place for it: its last word of several words, else the whole command."""
    sentences = [word for word in command if len(word.split()) > 1]
    return sentences[-1] if sentences else shlex.join(command)


def shown(command: Sequence[str]) -> str:
    """The command as it would be typed."""
    return command[2] if command[:2] == ("sh", "-c") else shlex.join(command)


def program_of(command: Sequence[str]) -> str:
    """The name of its program, without folder and ending; of a shell's command, that of the first one."""
    words = shlex.split(command[2], comments=False) if tuple(command[:2]) == ("sh", "-c") else list(command)
    first = next((word for word in words if not re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word)), "command")
    return first.rpartition("/")[2].partition(".")[0]


def _needs_shell(typed: str) -> bool:
    outside = _QUOTED.sub("_", typed)
    inside = [found[1] or "" for found in _QUOTED.finditer(typed)]
    return bool(_OF_A_SHELL.search(outside) or any(_IN_QUOTES.search(part) for part in inside))
