"""ATIF (v1.2 to 1.8), read and written: one trajectory a file, with Harbor's result beside it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from harness.suite.cases import Case
from harness.traces.foreign_json import Record, embedded_json, has_other_parts, kind_of, read_json, result_of, text_of
from harness.traces.formats.found import Found, FoundRun, Importer, Source, since, tools_of, wall_ns
from harness.traces.formats.transcript import ForeignCall, ForeignResult, ForeignStep, TranscriptBuilder
from harness.traces.outcomes import Outcome
from harness.traces.spans import Span
from harness.traces.trajectory import Observation, ReplayTier, Step, ToolFailure, Usage
from harness.traces.trajectory import Source as StepSource
from harness.traces.trial import Trial
from harness.traces.usage import usage_in
from harness.values import Frozen, JsonObject

# A step's `extra.harness` holds those fields of `Step` that the format cannot hold; a result's holds the observation's
# error, replay tier and duration, and whether its text is JSON; the trajectory's holds the trial.

OWN = "harness"


class OwnRun(Frozen):
    """The trial around an exported trajectory."""

    case_id: str
    attempt: int
    outcome: Outcome
    reason: str | None = None
    duration_s: float | None = None
    trace_id: str
    version: str | None = None
    final_output: JsonValue = None
    case: Case | None = None
    """The case as a converter knows it; None: it is made of the trajectory."""


class OwnResult(Frozen):
    """The fields of an observation besides its text."""

    error: ToolFailure | None = None
    replayed: ReplayTier | None = None
    duration_ms: float | None = None
    json_text: bool = False


def own_facts(record: Record) -> Record | None:
    """The data that this harness wrote into a record's `extra`."""
    extra = record.value("extra")
    if not isinstance(extra, dict) or not isinstance(extra.get(OWN), dict):
        return None
    return record.within("extra", extra).record(OWN)


def own_run(document: Record) -> OwnRun | None:
    own = own_facts(document)
    return None if own is None else own.shaped(OwnRun)


def own_result(step: Record, result: Record, content: JsonValue) -> ForeignResult:
    """A result with its extra data: this harness's, or the mark of other tools for a failed call."""
    facts = own_facts(result)
    own = OwnResult() if facts is None else facts.shaped(OwnResult)
    call_id = result.identifier("source_call_id")
    return ForeignResult(
        call_id=call_id,
        content=embedded_json(content) if own.json_text and isinstance(content, str) else content,
        error=own.error or _marked_failure(step, result, call_id, content),
        replayed=own.replayed,
        duration_ms=own.duration_ms,
    )


def overlaid(steps: tuple[Step, ...], own: Mapping[int, Record]) -> tuple[Step, ...]:
    """The steps with the fields that this harness stored in `extra`."""
    return tuple(_overlaid(step, own.get(step.index)) for step in steps)


def _overlaid(step: Step, own: Record | None) -> Step:
    if own is None:
        return step
    return Record(path=own.path, data={**step.model_dump(mode="json"), **own.data}, at=own.at).shaped(Step)


def _marked_failure(step: Record, result: Record, call_id: str | None, content: JsonValue) -> ToolFailure | None:
    """ATIF has no field for a failed call; converters mark it in `extra` of the result or of the step."""
    places = [result.value("extra")]
    extra = step.value("extra")
    if isinstance(extra, dict):
        metadata = extra.get("tool_result_metadata")
        raw = metadata.get("raw_tool_result") if isinstance(metadata, dict) else None
        mine = isinstance(raw, dict) and raw.get("tool_use_id") in (None, call_id)
        places += [raw if mine else None, {"is_error": extra.get("tool_result_is_error")}]
    if not any(isinstance(place, dict) and place.get("is_error") is True for place in places):
        return None
    return ToolFailure(type="tool_error", message=(text_of(content) or "")[:500])


# Harbor's `result.json`, which is stored beside a trajectory: the task's name, the reward, and how the trial ended.


@dataclass(frozen=True, kw_only=True)
class HarborResult:
    """The content of the result; empty if no result exists."""

    task_name: str | None = None
    trial_name: str | None = None
    reward: float | None = None
    outcome: Outcome = "finished"
    reason: str | None = None
    duration_s: float | None = None


def harbor_result(trajectory: Path) -> HarborResult:
    """The result next to the trajectory, or one folder up if the trajectory is in `agent/`."""
    folders = (
        (trajectory.parent, trajectory.parent.parent) if trajectory.parent.name == "agent" else (trajectory.parent,)
    )
    for folder in folders:
        path = folder / "result.json"
        if path.is_file() and path != trajectory:
            return _harbor_result(path)
    return HarborResult()


def _harbor_result(path: Path) -> HarborResult:
    document = read_json(path)
    if not isinstance(document, dict):
        raise Record(path=path, data={}).refusal("", f"the document is {kind_of(document)}, not a result")
    result = Record(path=path, data=document)
    verifier = result.record("verifier_result")
    rewards = verifier.record("rewards") if verifier else None
    exception = result.record("exception_info")
    kind = (exception.text("exception_type") or "an exception") if exception else None
    times = result.record("agent_execution")
    began, ended = (wall_ns(times.value(name)) if times else None for name in ("started_at", "finished_at"))
    return HarborResult(
        task_name=result.text("task_name"),
        trial_name=result.text("trial_name"),
        reward=rewards.number("reward", *rewards.data) if rewards else None,
        outcome=_outcome(kind),
        reason=kind,
        duration_s=None if began is None or ended is None else (ended - began) / 1e9,
    )


def _outcome(exception: str | None) -> Outcome:
    if exception is None:
        return "finished"
    if "Timeout" in exception:
        return "limit_reached"
    return "agent_failed" if "Agent" in exception else "harness_failed"


# Sub-agents' trajectories that are embedded become steps of their own after the step that started them. Harbor's
# converter for coding agents writes one model reply as several steps (the text, then every call with the message
# "Executed <tool> <id>"); those are put together again, since one reply is one step.


def read(source: Source) -> Iterator[Found]:
    """The trajectory of the file."""
    document = source.whole(source.document())
    if not (document.text("schema_version") or "").startswith("ATIF-v1."):
        raise document.refusal("schema_version", f"is {document.data.get('schema_version')!r}, not ATIF-v1.x")
    reading = _Reading(source=source, transcript=source.transcript("trajectory"))
    reading.add(document, None, None)
    yield _found_trajectory(source, document, reading)


IMPORTER = Importer(patterns=("trajectory*.json", "*.json"), read=read)


@dataclass(kw_only=True)
class _Reading:
    """Steps as they are read; `own` is what this harness wrote beside a step, by its index."""

    source: Source
    transcript: TranscriptBuilder
    began: int | None = None
    own: dict[int, Record] = field(default_factory=dict)

    def add(self, document: Record, agent: str | None, parent: int | None) -> None:
        """All steps of a document; `agent` is None for the main trajectory."""
        embedded = {sub.text("trajectory_id") or sub.at: sub for sub in document.records("subagent_trajectories")}
        model = agent_of(document).text("model_name")
        before: Record | None = None
        for step in document.records("steps"):
            if step.flag("is_copied_context"):
                self._note_problem(step, "steps copied from an earlier trajectory are left out: they are counted there")
                continue
            if before is not None and _continues_reply(before, step):
                self._note_problem(step, "steps that one model reply was written as are put together")
                self.transcript.add_call(len(self.transcript) - 1, _calls(step)[0])
            else:
                self._add(step, ForeignStep(source=_source_of(step), agent=agent, parent=parent, model=model))
            started = self._results(step, embedded)
            before = step if step.text("source") == "agent" and not started else None
        for sub in embedded.values():
            self._note_problem(sub, "an embedded trajectory is named by no step; it stands at the end")
            self.add(sub, agent_of(sub).text("name"), None)

    def _results(self, step: Record, embedded: dict[str, Record]) -> bool:
        """Joins the step's results; True if one of them is a sub-agent's trajectory that now is behind it."""
        index = len(self.transcript) - 1
        results = _results(step)
        for result in results:
            self.transcript.result(own_result(step, result, result_of(result.value("content"))))
        names = [ref.text("trajectory_id") or "" for result in results for ref in _references(result)]
        subs = [embedded.pop(name) for name in dict.fromkeys(names) if name in embedded]
        for sub in subs:
            self.add(sub, agent_of(sub).text("name"), index)
        return bool(subs)

    def _add(self, step: Record, place: ForeignStep) -> None:
        message = step.value("message")
        if has_other_parts(message):
            self._note_problem(step, "a message holds parts that are not text; each is named in brackets")
        now = wall_ns(step.value("timestamp"))
        self.began = now if self.began is None else self.began
        own = own_facts(step)
        if own is not None:
            self.own[len(self.transcript)] = own
        by_agent = place.source == "agent"
        self.transcript.add(
            ForeignStep(
                source=place.source,
                message=text_of(message),
                calls=_calls(step),
                agent=place.agent,
                parent=place.parent,
                thought=step.text("reasoning_content"),
                model=(step.text("model_name") or place.model) if by_agent else None,
                usage=_usage(step.record("metrics")),
                started_ns=since(self.began, now),
            )
        )

    def _note_problem(self, at: Record, problem: str) -> None:
        self.source.note(at.at, problem)


def agent_of(document: Record) -> Record:
    agent = document.record("agent")
    if agent is None:
        raise document.refusal("agent", "is missing: a trajectory names its agent")
    return agent


def _source_of(step: Record) -> StepSource:
    match step.text("source"):
        case "agent":
            return "agent"
        case "user":
            return "user"
        case "system":
            return "system"
        case other:
            raise step.refusal("source", f"is {other!r}, none of agent, user and system")


def _calls(step: Record) -> tuple[ForeignCall, ...]:
    return tuple(_foreign_call(call) for call in step.records("tool_calls"))


def _foreign_call(call: Record) -> ForeignCall:
    name = call.tool("function_name")
    return ForeignCall(id=call.identifier("tool_call_id"), name=name, arguments=call.value("arguments"))


def _results(step: Record) -> list[Record]:
    observation = step.record("observation")
    return observation.records("results") if observation else []


def _references(result: Record) -> list[Record]:
    references = result.value("subagent_trajectory_ref")
    if isinstance(references, dict):
        return [result.within("subagent_trajectory_ref", references)]
    return result.records("subagent_trajectory_ref")


def _usage(metrics: Record | None) -> Usage | None:
    if metrics is None:
        return None
    return usage_in(metrics.data, cache_beside=False).of_step(metrics.number("cost_usd"))


def _continues_reply(before: Record, step: Record) -> bool:
    """Whether a step is a call that the converter cut from the reply that the step before began."""
    calls = step.records("tool_calls")
    if len(calls) != 1 or step.value("metrics") is not None or before.value("timestamp") is None:
        return False
    call = calls[0]
    cut_off = step.value("message") == f"Executed {call.value('function_name')} {call.value('tool_call_id')}"
    same = ("timestamp", "reasoning_content", "model_name")
    return cut_off and all(before.value(name) == step.value(name) for name in same)


def _found_trajectory(source: Source, document: Record, reading: _Reading) -> Found:
    agent = agent_of(document)
    harbor = harbor_result(source.path)
    own = own_run(document)
    steps = overlaid(reading.transcript.steps(), reading.own)
    definitions = agent.value("tool_definitions")
    return Found(
        case=_case(source, document, own, harbor),
        record="trajectory",
        tools=None if definitions is None else tools_of(agent.records("tool_definitions")),
        run=FoundRun(
            steps=steps,
            agent=agent.text("name") or "agent",
            version=own.version if own else agent.text("version"),
            attempt=own.attempt if own else None,
            outcome=own.outcome if own else harbor.outcome,
            reason=own.reason if own else harbor.reason,
            reward=harbor.reward,
            final_output=own.final_output if own else None,
            trace_id=own.trace_id if own else None,
            started_ns=reading.began,
            duration_s=own.duration_s if own else harbor.duration_s,
        ),
    )


def _case(source: Source, document: Record, own: OwnRun | None, harbor: HarborResult) -> Case:
    if own is not None and own.case is not None:
        return own.case

    def first(role: str) -> str | None:
        asked = (step for step in document.records("steps") if step.value("source") == role)
        return next((text_of(step.value("message")) for step in asked), None)

    name = own.case_id if own else harbor.task_name
    origin = harbor.trial_name or source.path.name
    return source.conversation_case("trajectory", name, first("user"), first("system"), origin)


VERSION = "ATIF-v1.7"
_NOT_IN_ATIF = ("agent", "parent", "asked_in", "plan", "started_ns", "ended_ns", "span_id")


def export_atif(trial: Trial, *, spans: Sequence[Span] = ()) -> JsonObject:
    """The document. With `spans` the steps have their wall times."""
    trajectory = trial.trajectory
    own = OwnRun(
        case_id=trial.case_id,
        attempt=trial.attempt,
        outcome=trial.outcome,
        reason=trial.reason,
        duration_s=trial.duration_s,
        trace_id=trajectory.trace_id,
        version=trajectory.version,
        final_output=trajectory.final_output,
    )
    began_ns = spans[0].start_ns if spans and spans[0].start_ns else None
    return {
        "schema_version": VERSION,
        "session_id": trajectory.trace_id or f"{trial.case_id}.{trial.attempt}",
        "agent": {"name": trajectory.agent, "version": trajectory.version or "unknown"},
        "steps": [_step_with_own_fields(step, began_ns) for step in trajectory.steps],
        "final_metrics": {"total_steps": len(trajectory.steps)},
        "extra": {OWN: own.model_dump(mode="json", by_alias=True, exclude_none=True)},
    }


def _step_with_own_fields(step: Step, began_ns: int | None) -> JsonObject:
    plain: JsonObject = {"step_id": step.index + 1, "source": step.source, "message": step.message or ""}
    if began_ns is not None and step.started_ns is not None:
        moment = datetime.fromtimestamp((began_ns + step.started_ns) / 1e9, UTC)
        plain["timestamp"] = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    own = _fields_beyond_atif(step)
    if step.source == "agent":
        plain |= _agents_own(step)
    if step.observations and "observations" not in own:
        plain["observation"] = {"results": [_content_of_result(seen) for seen in step.observations]}
    return {**plain, "extra": {OWN: own}} if own else plain


def _agents_own(step: Step) -> JsonObject:
    """Fields that only steps of the agent may have."""
    facts: JsonObject = {}
    if step.model is not None:
        facts["model_name"] = step.model
    if step.thought is not None:
        facts["reasoning_content"] = step.thought
    if step.calls:
        facts["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments or {}}
            for call in step.calls
        ]
    if step.usage is not None:
        fields = {
            "prompt_tokens": step.usage.input_tokens,
            "completion_tokens": step.usage.output_tokens,
            "cost_usd": step.usage.cost_usd,
        }
        facts["metrics"] = {name: value for name, value in fields.items() if value is not None}
    return facts


def _fields_beyond_atif(step: Step) -> JsonObject:
    """The fields of the step that ATIF cannot represent, or would not preserve."""
    plain = step.model_dump(mode="json")
    names = [name for name in _NOT_IN_ATIF if plain[name] is not None]
    calls = {call.id for call in step.calls}
    if step.source != "agent":
        names += [name for name in ("model", "thought", "usage", "calls", "observations") if plain[name]]
    else:
        names += ["calls"] if any(call.arguments is None for call in step.calls) else []
        fits = all(seen.call_id in calls for seen in step.observations)
        names += [] if fits else ["observations"]
    return {name: plain[name] for name in dict.fromkeys(names)}


def _content_of_result(seen: Observation) -> JsonObject:
    is_text = seen.content is None or isinstance(seen.content, str)
    result: JsonObject = {"source_call_id": seen.call_id}
    if seen.content is not None:
        result["content"] = seen.content if is_text else json.dumps(seen.content, ensure_ascii=False)
    own = OwnResult(error=seen.error, replayed=seen.replayed, duration_ms=seen.duration_ms, json_text=not is_text)
    extra = own.model_dump(mode="json", exclude_defaults=True)
    return {**result, "extra": {OWN: extra}} if extra else result
