"""ATIF (v1.2 to 1.8): one trajectory a file, with its result beside it where Harbor wrote both.

Sub-agents' trajectories that are embedded stand as steps of their own after the step that started them. Harbor's
converter for coding agents writes one model reply as several steps (the text, then every call with the message
"Executed <tool> <id>"); those are put together again, since one reply is one step.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.case import Case
from harness.ingest.atif_own import OwnRun, overlaid, own_facts, own_result, own_run
from harness.ingest.content import has_other_parts, result_of, text_of
from harness.ingest.definitions import tools_of
from harness.ingest.foreign import ForeignCall, ForeignStep
from harness.ingest.formats.harbor import HarborResult, harbor_result
from harness.ingest.found import Found, FoundRun, Importer, Source
from harness.ingest.naming import case_id, task_id, wall_ns
from harness.ingest.reading import Record
from harness.ingest.transcript import TranscriptBuilder
from harness.trace import Usage
from harness.trace.trajectory import Source as StepSource
from harness.values import JsonObject


def read(source: Source) -> Iterator[Found]:
    """The trajectory of the file."""
    document = source.whole(source.document())
    if not (document.text("schema_version") or "").startswith("ATIF-v1."):
        raise document.refusal("schema_version", f"is {document.data.get('schema_version')!r}, not ATIF-v1.x")
    reading = _Reading(source=source, transcript=source.transcript("trajectory"))
    reading.add(document, None, None)
    yield _found(source, document, reading)


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
                self._note(step, "steps copied from an earlier trajectory are left out: they are counted there")
                continue
            if before is not None and _continues(before, step):
                self._note(step, "steps that one model reply was written as are put together")
                self.transcript.add_call(len(self.transcript) - 1, _calls(step)[0])
            else:
                self._add(step, ForeignStep(source=_source_of(step), agent=agent, parent=parent, model=model))
            started = self._results(step, embedded)
            before = step if step.text("source") == "agent" and not started else None
        for sub in embedded.values():
            self._note(sub, "an embedded trajectory is named by no step; it stands at the end")
            self.add(sub, agent_of(sub).text("name"), None)

    def _results(self, step: Record, embedded: dict[str, Record]) -> bool:
        """Joins the step's results; True where one of them is a sub-agent's trajectory that now stands behind it."""
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
            self._note(step, "a message holds parts that are not text; each is named in brackets")
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
                started_ns=None if now is None or self.began is None else max(0, now - self.began),
            )
        )

    def _note(self, at: Record, problem: str) -> None:
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
    return tuple(_call(call) for call in step.records("tool_calls"))


def _call(call: Record) -> ForeignCall:
    name = call.text("function_name")
    if name is None:
        raise call.refusal("function_name", "is missing: every call names a tool")
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
    return Usage(
        input_tokens=metrics.count("prompt_tokens"),
        output_tokens=metrics.count("completion_tokens"),
        cost_usd=metrics.number("cost_usd"),
    )


def _continues(before: Record, step: Record) -> bool:
    """Whether a step is a call that the converter cut from the reply that the step before began."""
    calls = step.records("tool_calls")
    if len(calls) != 1 or step.value("metrics") is not None or before.value("timestamp") is None:
        return False
    call = calls[0]
    cut_off = step.value("message") == f"Executed {call.value('function_name')} {call.value('tool_call_id')}"
    same = ("timestamp", "reasoning_content", "model_name")
    return cut_off and all(before.value(name) == step.value(name) for name in same)


def _found(source: Source, document: Record, reading: _Reading) -> Found:
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

    task, system = first("user"), first("system")
    name = own.case_id if own else harbor.task_name
    fields: JsonObject = {
        "id": task_id(task, system) if name is None else case_id(name),
        "task": task,
        "system": system,
        "origin": harbor.trial_name or source.path.name,
    }
    return source.case("trajectory", fields)
