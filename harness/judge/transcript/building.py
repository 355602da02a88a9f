"""Builds a transcript from a trial's trajectory.

Imported traces are built in the same way: the importer has joined their turns and dropped the histories that every
model span repeats; remaining repetitions (system messages, equal results of equal calls) are shown once.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from harness.case import Case, Conversation, Persona
from harness.judge.transcript.piece import Piece, PieceKind, Transcript
from harness.judge.transcript.trimming import SMALL, compact, shown, trimmed, words
from harness.score.verifiers.reward import REWARD
from harness.trace import EvidenceKind, Observation, Step, ToolCall, Trajectory, Trial
from harness.values import JsonObject, JsonValue

_WORTH_A_REFERENCE = 120
_FILES_SHOWN = 100


def build_transcript(trial: Trial, case: Case | None = None) -> Transcript:
    """The transcript of one trial; `case` adds the user's profile and system texts that the trace does not contain."""
    trajectory = trial.trajectory
    results = _results(trajectory.steps)
    pieces = [*_given(case), *_pieces(trajectory.steps, results, case), *_left(trial)]
    pieces = [_named(piece, trajectory.agent) for piece in pieces]
    return Transcript(
        trace_id=trajectory.trace_id,
        agent=trajectory.agent,
        pieces=tuple(pieces),
        raw_chars=_length(trajectory),
    )


def _length(trajectory: Trajectory) -> int:
    try:
        return len(trajectory.model_dump_json())
    except ValueError:  # half a surrogate pair, which an imported text may contain, has no UTF-8
        return len(json.dumps(trajectory.model_dump()))


class _Result(NamedTuple):
    """The shown form of a result, the number of removed characters, and the whole content, to detect equal results."""

    text: str
    lost: int
    whole: str


_Results = dict[tuple[int, int], _Result]
"""Results by the positions of step and observation."""


def _results(steps: tuple[Step, ...]) -> _Results:
    """Processes the steps in reverse, so that the later use of each result is known."""
    used = {word for step in steps if step.source == "user" and step.message for word in words(step.message)}
    found: _Results = {}
    for place in range(len(steps) - 1, -1, -1):
        step = steps[place]
        for number, seen in enumerate(step.observations):
            found[place, number] = _result(seen, used)
        if step.source == "agent":
            used |= _words_of(step)
    return found


def _words_of(step: Step) -> set[str]:
    texts = [step.message or "", *(shown(call.arguments) for call in step.calls)]
    return words(" ".join(texts))


def _result(seen: Observation, used: set[str]) -> _Result:
    content = compact(seen.content)
    whole = shown(content)
    if seen.error is not None:
        text = f"error {seen.error.type}: {seen.error.message or whole}"
        return _Result(text, 0, text)
    if len(whole) <= SMALL:
        return _Result(whole, 0, whole)
    short = shown(trimmed(content, used))
    return _Result(short, len(whole) - len(short), whole) if len(short) < len(whole) else _Result(whole, 0, whole)


def _given(case: Case | None) -> Iterator[Piece]:
    if case is not None and case.user_profile is not None:
        yield Piece(ref="profile", kind="profile", text=shown(compact(dict(case.user_profile))))
    if case is not None and case.conversation is not None and (scenario := _scenario(case.conversation)):
        yield Piece(ref="scenario", kind="scenario", text="\n".join(scenario))


def _scenario(talk: Conversation) -> list[str]:
    """What a simulated user was to do: no part of what was said, and shown only to who judges the user."""
    lines = [] if talk.plan is None else [f"Plan: {talk.plan}"]
    if isinstance(talk.persona, Persona):
        lines.append(f"Persona {talk.persona.id}: {talk.persona.description}")
        lines += [f"- {line}" for line in talk.persona.instructions]
    return lines


def _named(piece: Piece, outermost: str) -> Piece:
    is_agent_under_test = piece.agent in (None, outermost)
    return piece if is_agent_under_test else piece.model_copy(update={"outermost": False})


def _pieces(steps: tuple[Step, ...], results: _Results, case: Case | None) -> Iterator[Piece]:
    systems: set[str] = set()
    shown: dict[tuple[str | None, str], str] = {}
    for place, step in enumerate(steps):
        if step.source == "system":
            if step.message and step.message not in systems:
                systems.add(step.message)
                yield _piece(step, "system", step.message)
        elif step.source == "user":
            yield from _of_user(step, results, place, case)
        else:
            yield from _of_agent(step, results, place, shown)


def _of_user(step: Step, results: _Results, place: int, case: Case | None) -> Iterator[Piece]:
    if step.message:
        yield _piece(step, "reported" if _is_reported(step, case) else "user", step.message)
    yield from _acts(step, results, place, {})  # simulated users have tools of their own


def _is_reported(step: Step, case: Case | None) -> bool:
    """Whether the message is reported by the agent: the case's task is always the user's own message; any
    other one in a model request is the agent's.
    """
    is_task = case is not None and (step.message or "").strip() == case.task.strip()
    return step.evidence == "self_reported" and not is_task


def _of_agent(step: Step, results: _Results, place: int, shown: dict[tuple[str | None, str], str]) -> Iterator[Piece]:
    if step.thought:
        yield _piece(step, "thought", step.thought, ".t")
    if step.plan:
        yield _piece(step, "plan", "\n".join(step.plan), ".p")
    if step.message:
        yield _piece(step, "narration" if step.calls else "agent", step.message)
    yield from _acts(step, results, place, shown)


def _acts(step: Step, results: _Results, place: int, shown: dict[tuple[str | None, str], str]) -> Iterator[Piece]:
    tools: dict[str, str] = {}
    for number, call in enumerate(step.calls, 1):
        tools[call.id] = call.name
        yield _piece(step, "call", _call_text(call), f".c{number}", tool=call.name, evidence=call.evidence)
    for number, seen in enumerate(step.observations):
        text, lost, whole = results[place, number]
        tool = tools.get(seen.call_id, "?")
        ref = f"s{step.index}.r{number + 1}"
        earlier = shown.setdefault((tool, whole), ref)  # the earlier one shows everything that is shown here
        if earlier != ref and len(text) > _WORTH_A_REFERENCE:
            text, lost = f"[the same as {earlier}]", len(text) + lost
        piece = _piece(step, "result", text, f".r{number + 1}", tool=tool, evidence=seen.evidence)
        yield piece.model_copy(update={"trimmed": lost})


def _call_text(call: ToolCall) -> str:
    if call.arguments is None:
        return f"{call.name}: arguments that are no JSON object: {call.unparsed}"
    return f"{call.name}({shown(call.arguments)})"


def _piece(
    step: Step,
    kind: PieceKind,
    text: str,
    suffix: str = "",
    *,
    tool: str | None = None,
    evidence: EvidenceKind | None = None,
) -> Piece:
    return Piece.model_construct(  # its parts were validated when the step was read
        ref=f"s{step.index}{suffix}",
        step=step.index,
        span=step.span_id,
        kind=kind,
        agent=step.agent if step.source == "agent" else None,
        outermost=True,
        tool=tool,
        self_reported=evidence == "self_reported",
        text=text,
        trimmed=0,
    )


def _left(trial: Trial) -> Iterator[Piece]:
    final = trial.trajectory.final_output
    messages = {step.message for step in trial.trajectory.steps if step.source == "agent"}
    if final is not None and final not in messages:
        yield Piece(ref="answer", kind="answer", text=shown(final))
    for name, value in trial.states.items():
        if name == REWARD:
            continue  # the verdict of an imported run: a judge is compared with it, and must not see it
        yield Piece(ref=f"state.{name}", kind="state", text=f"{name}: {shown(compact(value))}")
    files = _files(trial)
    if files:
        yield Piece(ref="files", kind="state", text=shown({"files": files}))


def _files(trial: Trial) -> list[JsonValue]:
    changes = trial.end_state.changes if trial.end_state is not None else ()
    files: list[JsonValue] = [_file(change.path, change.change, change.size) for change in changes[:_FILES_SHOWN]]
    return files + ([f"[{len(changes) - _FILES_SHOWN} more]"] if len(changes) > _FILES_SHOWN else [])


def _file(path: str, change: str, size: int | None) -> JsonObject:
    return {"path": path, "change": change} | ({} if size is None else {"bytes": size})
