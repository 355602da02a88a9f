"""What the agent did about each tool error, and whether it got over it.

The response is read from what the agent did next:
- `retried_same`: the next call asks for the very same;
- `changed_something`: the same tool with other arguments (for a shell: the same program, or whatever comes next where
  the failed command named nothing to go by), among the next `within` calls;
- `used_another_tool`: another tool, or another program, on a common operand or on something that the error names,
  among the next `within` calls;
- `told_user`: no such call before it, and the agent gave the turn back with a message;
- `ignored`: none of these; work went on elsewhere or stopped.

Recovered: one of those calls succeeded, other than by doing nothing (`:`, `true`); `recovered_after` counts the agent's
calls from the error to it. An error that only reached the user, or that was ignored, is not recovered: nothing was
achieved.

Left out: replay misses and the step limit, after which no call can succeed.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, Literal

from harness.scoring.evidence import Evidence, once
from harness.scoring.findings.reading import Act, Reading, atoms, read
from harness.traces.trajectory import Step, ToolErrorType
from harness.values import Frozen

WITHIN: Final = 3
Response = Literal["retried_same", "changed_something", "used_another_tool", "told_user", "ignored"]

_EXCLUDED: Final[frozenset[ToolErrorType]] = frozenset({"replay_miss", "limit_reached"})
_SHELL_ARGUMENTS: Final = ("command", "cmd", "script")
_SEGMENT: Final = re.compile(r"&&|\|\||[;|\n]")
_WORD: Final = re.compile(r"\S+")
_BEFORE_A_PROGRAM: Final = re.compile(r"\w+=\S*|sudo|time|env|cd|export|timeout")
_IDLE: Final = frozenset({":", "true", "false", "#", "echo"})
"""Commands that do nothing: they succeed without anything being achieved."""
_WEAK: Final = frozenset(
    {"this", "that", "with", "from", "error", "failed", "file", "files", "line", "command", "exit", "code", "found"}
    | {"such", "true", "false", "none", "null", "python", "python3", "bash", "home", "root", "echo", "grep", "head"}
    | {"tail", "import", "print", "usr", "description"}
)


class ErrorRecovery(Frozen):
    """One tool error and what came of it."""

    step: int
    tool: str
    error: ToolErrorType
    response: Response
    recovered_after: int | None
    """Calls until a related one succeeded, 1 being the next; None: not within reach."""

    @property
    def recovered(self) -> bool:
        return self.recovered_after is not None


@once
def recoveries(evidence: Evidence) -> tuple[ErrorRecovery, ...]:
    """Every tool error of the agent's calls, in order."""
    reading = read(evidence)
    found = [(act, act.seen.error.type) for act in reading.acts if act.seen is not None and act.seen.error is not None]
    return tuple([_recovery(reading, act) for act, error in found if error not in _EXCLUDED])


def _recovery(reading: Reading, act: Act) -> ErrorRecovery:
    later = _next_calls(reading.acts, act)
    related = [(one, how) for place, one in enumerate(later) if (how := _relation(act, one, place)) is not None]
    good = next((one for one, _ in related if one.seen is not None and not one.failed and not _is_idle(one)), None)
    return ErrorRecovery(
        step=act.step,
        tool=act.call.name,
        error=act.seen.error.type if act.seen is not None and act.seen.error is not None else "tool_error",
        response=_response(reading, act, later, related),
        recovered_after=None if good is None else later.index(good) + 1,
    )


def _next_calls(acts: Sequence[Act], act: Act) -> list[Act]:
    """Calls decided after the error was seen: parallel ones are none."""
    first = bisect_right(acts, act.moment, key=lambda one: one.moment)
    return list(acts[first : first + WITHIN])


def _response(reading: Reading, act: Act, later: Sequence[Act], related: Sequence[tuple[Act, Response]]) -> Response:
    explained = _explains(reading, act, later[0].step if later else None)
    if related and (not explained or related[0][0].number == act.number + 1):
        return related[0][1]
    return "told_user" if explained else "ignored"


def _explains(reading: Reading, act: Act, until: int | None) -> bool:
    """Whether the agent gave the turn back with a message before its next call."""
    place = reading.moments[act.step] // 2
    end = len(reading.steps) if until is None else reading.moments[until] // 2
    said: Step | None = None
    for step in reading.steps[place + 1 : end]:
        if step.source == "user":
            break
        said = step if step.source == "agent" and step.message is not None else said
    else:
        if until is not None:  # it talked to itself and went on
            return False
    return said is not None and bool(said.message)


def _relation(failed: Act, later: Act, place: int) -> Response | None:
    if failed.gist_key == later.gist_key:
        return "changed_something" if place else "retried_same"
    same_tool = failed.call.name == later.call.name
    first, second = _command(failed), _command(later)
    if same_tool and (first is None or second is None or _programs(first) & _programs(second)):
        return "changed_something"
    if same_tool and not place and not _operands(failed):
        return "changed_something"
    if not _operands(failed) & _words_of(later):
        return None
    return "changed_something" if same_tool and _is_idle(later) else "used_another_tool"


def _command(act: Act) -> str | None:
    arguments = act.call.arguments or {}
    return next((value for name in _SHELL_ARGUMENTS if isinstance(value := arguments.get(name), str)), None)


def _programs(command: str) -> frozenset[str]:
    """The first word of every part of a command line, `cd`, assignments and the like left out."""
    found = set()
    for segment in _SEGMENT.split(command[:4000]):
        words = (word for word in _WORD.findall(segment) if not _BEFORE_A_PROGRAM.fullmatch(word))
        program = next(words, None)
        if program is not None and program not in _IDLE:
            found.add(program.rsplit("/", 1)[-1])
    return frozenset(found)


def _is_idle(act: Act) -> bool:
    command = _command(act)
    return command is not None and not _programs(command)


def _words_of(act: Act) -> frozenset[str]:
    return frozenset(
        atom for text in act.argument_texts for atom in atoms(text[:4000]) if len(atom) > 3 and atom not in _WEAK
    )


def _operands(act: Act) -> frozenset[str]:
    """What the failed call was about, and what the error names: paths and codes, not its prose."""
    named = act.seen.error.message[:400] if act.seen is not None and act.seen.error is not None else ""
    marked = [word for word in _WORD.findall(named) if "/" in word.strip("/") or any(char.isdigit() for char in word)]
    return _words_of(act) | {atom for word in marked for atom in atoms(word) if len(atom) > 3 and atom not in _WEAK}
