"""Builds a transcript from a trial's trajectory.

Imported traces are built in the same way: the importer has joined their turns and dropped the histories that every
model span repeats; remaining repetitions (system messages, equal results of equal calls) are shown once.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

from pydantic import JsonValue

from harness.suite.cases import Case
from harness.suite.conversations import Conversation, Persona
from harness.text import shortened
from harness.traces.trajectory import EvidenceKind, Observation, Step, ToolCall, Trajectory
from harness.traces.trial import REWARD, Trial
from harness.values import Frozen, parse_json

CHARS_PER_TOKEN = 4
"""A rough rule, applied equally to both sides of every displayed saving."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.:/?-]{1,64}")
_LONGEST_NAME: Final = 64

PieceKind = Literal[
    "system",
    "user",
    "reported",
    "agent",
    "narration",
    "thought",
    "plan",
    "call",
    "result",
    "profile",
    "scenario",
    "turns",
    "state",
    "answer",
    "log",
]
"""`log`: a finding, in the numbered log that a criterion of kind `step` is shown; `reported`: a message that the agent
attributes to another speaker; `agent`: a separate message; `narration`: the agent's text beside its calls; `answer`: a
final output that was not a message; `state`: the state that the trial left;
`scenario`: the plan and the persona of a simulated user, what it keeps back, and how it ended; `turns`: a turn of the
agent, or of the log of its user, that the model of `entailment:` was asked about.
"""


class Piece(Frozen):
    """One message, action or observation."""

    ref: str
    """`s<step>`, its calls `s<step>.c<n>` and their results `s<step>.r<n>`; a piece without a step has a name
    of its own.
    """
    step: int | None = None
    span: str | None = None
    kind: PieceKind
    agent: str | None = None
    """The name of the (sub-)agent; None if the piece is not an agent's, or if the name is not known."""
    outermost: bool = True
    """Whether `agent` is the agent under test, whose name the suite gives; other names are the agent's own words."""
    tool: str | None = None
    self_reported: bool = False
    """Whether only the agent reports it: the gateway did not observe it."""
    text: str
    trimmed: int = 0
    """The number of omitted characters, which no later step used."""

    @property
    def who(self) -> str:
        """The speaker, for the judge and for people.

        Only the role and the name of the agent under test come from the harness. Every other name is data of the agent:
        it is quoted after its role, so that it cannot be mistaken for another speaker.
        """
        mark = " (self-reported)" if self.self_reported else ""
        if self.tool is not None:
            tool = _tool(self.tool)
            return (f"tool {tool}" if self.kind == "result" else f"{self._agent} calls {tool}") + mark
        if self.kind in ("agent", "narration", "answer"):
            return self._agent
        if self.kind in ("thought", "plan"):
            return f"{self._agent} ({self.kind})"
        named = {
            "profile": "user profile",
            "scenario": "scenario of the user",
            "turns": "turn of an assistant",
            "state": "end state",
            "reported": "message reported by the agent",
        }
        return named.get(self.kind, self.kind)

    @property
    def _agent(self) -> str:
        if self.agent is None:
            return "agent"
        return self.agent if self.outermost else f"agent {_quoted_name(self.agent)}"


def _tool(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted_name(name)


def _quoted_name(name: str) -> str:
    """At most 64 characters as a JSON string, on one line, in printable ASCII."""
    return json.dumps(shortened(name, _LONGEST_NAME, "…")).replace("\x7f", "\\u007f")


class Transcript(Frozen):
    """One trial in the form that a judge receives: numbered pieces."""

    trace_id: str
    agent: str
    """The outermost agent."""
    pieces: tuple[Piece, ...]
    raw_chars: int
    """Length of the trajectory as JSON, which a judge would read otherwise."""

    @property
    def chars(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)

    def span_of(self, ref: str) -> str | None:
        """The span of a piece, `step:<n>` if the step has none; None if there is no such piece."""
        found = next((piece for piece in self.pieces if piece.ref == ref), None)
        if found is None:
            return None
        return found.span or (ref if found.step is None else f"step:{found.step}")


# Shortens large payloads to their relevant parts: the records and lines that the user or a later step mentions.
#
# A payload is made of records: the items of a long list, the members of a large object of objects, the lines of a long
# text. A record is kept if it contains a word that the user or a later step used and that only few records contain; the
# first two are always kept, to show the shape. Objects keep all their other fields. The number of omitted parts is
# shown in their place.

T = TypeVar("T")

SMALL: Final = 1200
"""Payloads up to this length are shown whole."""
_LONG: Final = 400
_SHOWN_ALWAYS: Final = 2
_MANY: Final = 4
_LINE: Final = 200
_WORD: Final = re.compile(r"[^\W_](?:[\w.\-]*\w)?")
_SCHEMA_KEYS: Final = frozenset({"$schema", "$defs", "additionalProperties"})


def words(text: str) -> set[str]:
    """Words, numbers and ids, in lower case; `12.50` and `#W123` are one word each."""
    return set(_WORD.findall(text.lower()))


def compact(content: JsonValue) -> JsonValue:
    """Removes null fields and JSON Schemas, and parses JSON inside texts. Empty lists are kept: they mean "nothing"."""
    if isinstance(content, str):
        return _parsed_json(content)
    return _without_schemas(content)


def shown(value: JsonValue) -> str:
    """Texts unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def trimmed(value: JsonValue, used: set[str]) -> JsonValue:
    """`value` with only the records that contain distinctive words of `used`."""
    match value:
        case dict() if len(value) > 2 * _MANY and all(isinstance(item, dict) for item in value.values()):
            kept, left = _kept_and_omitted(list(value.items()), lambda item: f"{item[0]} {shown(item[1])}", used)
            found: dict[str, JsonValue] = {key: trimmed(item, used) for key, item in kept}
            return found | ({"…": _left_out(left, len(value))} if left else {})
        case dict():
            return {key: trimmed(item, used) for key, item in value.items()}
        case list() if len(value) > _MANY and len(shown(value)) > _LONG:
            items, left = _kept_and_omitted(value, shown, used)
            rest: list[JsonValue] = [_left_out(left, len(value))] if left else []
            return [trimmed(item, used) for item in items] + rest
        case list():
            return [trimmed(item, used) for item in value]
        case str() if len(value) > 2 * _LONG:
            lines = _lines(value)
            kept_lines, left = _kept_and_omitted(lines, str, used)
            return "\n".join(kept_lines) + (f"\n{_left_out(left, len(lines))}" if left else "")
        case _:
            return value


def _kept_and_omitted(records: Sequence[T], text: Callable[[T], str], used: set[str]) -> tuple[list[T], int]:
    """The kept records, in order, and the number of omitted ones."""
    words_by_record = [words(text(record)) & used for record in records]
    spread = Counter(word for record_words in words_by_record for word in record_words)
    few = max(2, len(records) // 5)
    telling = {word for word, count in spread.items() if count <= few and len(word) > 1}
    kept = [
        record
        for place, record in enumerate(records)
        if place < _SHOWN_ALWAYS or not telling.isdisjoint(words_by_record[place])
    ]
    return kept, len(records) - len(kept)


def _left_out(left: int, of: int) -> str:
    return f"[{left} of {of} left out: nothing later used them]"


def _lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > _MANY:
        return lines
    return re.findall(rf".{{1,{_LINE}}}(?:\s|$)|\S{{{_LINE},}}", text, flags=re.DOTALL) or [text]


def _parsed_json(text: str) -> JsonValue:
    if text[:1] not in ("{", "["):
        return text
    try:
        value = parse_json(text.encode("utf-8"))
    except ValueError:  # NotJson, or half of a surrogate pair
        return text
    return _without_schemas(value)


def _without_schemas(value: JsonValue) -> JsonValue:
    match value:
        case dict() if isinstance(value.get("properties"), dict) and (
            "$schema" in value or value.get("type") == "object"
        ):
            return "[a JSON Schema]"
        case dict():
            return {
                key: _without_schemas(item)
                for key, item in value.items()
                if item is not None and key not in _SCHEMA_KEYS
            }
        case list():
            return [_without_schemas(item) for item in value]
        case _:
            return value


_WORTH_A_REFERENCE = 120
_FILES_SHOWN = 100


def build_transcript(trial: Trial, case: Case | None = None) -> Transcript:
    """The transcript of one trial; `case` adds the user's profile and system texts that the trace does not contain."""
    trajectory = trial.trajectory
    results = _results(trajectory.steps)
    pieces = [*_opening_pieces(trial, case), *_pieces(trajectory.steps, results, case), *_end_pieces(trial)]
    pieces = [_with_outermost(piece, trajectory.agent) for piece in pieces]
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
            found[place, number] = _tool_result(seen, used)
        if step.source == "agent":
            used |= _words_of(step)
    return found


def _words_of(step: Step) -> set[str]:
    texts = [step.message or "", *(shown(call.arguments) for call in step.calls)]
    return words(" ".join(texts))


def _tool_result(seen: Observation, used: set[str]) -> _Result:
    content = compact(seen.content)
    whole = shown(content)
    if seen.error is not None:
        text = f"error {seen.error.type}: {seen.error.message or whole}"
        return _Result(text, 0, text)
    if len(whole) <= SMALL:
        return _Result(whole, 0, whole)
    short = shown(trimmed(content, used))
    return _Result(short, len(whole) - len(short), whole) if len(short) < len(whole) else _Result(whole, 0, whole)


def _opening_pieces(trial: Trial, case: Case | None) -> Iterator[Piece]:
    if case is not None and case.user_profile is not None:
        yield Piece(ref="profile", kind="profile", text=shown(compact(dict(case.user_profile))))
    if case is not None and case.conversation is not None and (scenario := _scenario(case.conversation)):
        scenario += (
            [] if case.user is None else [f"Not said before it is asked for: {one}" for one in case.user.withhold]
        )
        scenario += [] if trial.user is None else [f"End: {trial.user.ended}, after {trial.user.turns} messages"]
        yield Piece(ref="scenario", kind="scenario", text="\n".join(scenario))
    for number, asked in enumerate(() if trial.user is None else trial.user.entailments, start=1):
        yield Piece(ref=f"first.{number}", kind="turns", text=shown(asked.log))
        yield Piece(ref=f"second.{number}", kind="turns", text=shown(asked.agent))


def _scenario(talk: Conversation) -> list[str]:
    """What a simulated user was to do: no part of what was said, and shown only to who judges the user."""
    lines = [] if talk.plan is None else [f"Plan: {talk.plan}"]
    if isinstance(talk.persona, Persona):
        lines.append(f"Persona {talk.persona.id}: {talk.persona.description}")
        lines += [f"- {line}" for line in talk.persona.instructions]
    return lines


def _with_outermost(piece: Piece, outermost: str) -> Piece:
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


def _end_pieces(trial: Trial) -> Iterator[Piece]:
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
    files: list[JsonValue] = [
        {"path": one.path, "change": one.change} | ({} if one.size is None else {"bytes": one.size})
        for one in changes[:_FILES_SHOWN]
    ]
    return files + ([f"[{len(changes) - _FILES_SHOWN} more]"] if len(changes) > _FILES_SHOWN else [])
