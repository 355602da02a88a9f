"""tau2-bench's result files: tasks, and simulations in which the user calls tools too."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from harness.suite.cases import Case
from harness.suite.scenarios import case_id
from harness.traces.foreign_json import Record, kind_of, result_of, text_of
from harness.traces.formats.found import Found, FoundRun, FoundTool, Importer, Source, since, tools_of, wall_ns
from harness.traces.formats.transcript import ForeignCall, ForeignResult, ForeignStep, TranscriptBuilder
from harness.traces.outcomes import Outcome
from harness.traces.trajectory import ToolErrorType, ToolFailure
from harness.traces.usage import usage_in
from harness.values import JsonObject, canonical_json

# Files exist whose task ids are permuted: `task_id` points at another task than the one that was played, and what the
# run's own checks searched for (`reward_info.action_checks`) tells it. The checks decide then: the task of the file
# with just their actions is the one that was played; if there is none, the checks' actions are used alone. A run of
# such a file without checks has no gold that could be trusted.

_REMEDY: Final = "correct `task_id`, so that it names the task with these actions"


@dataclass(frozen=True, kw_only=True)
class Gold:
    """The reference of a run: a task of the file, or (task None) the actions in its checks, if any."""

    task: str | None
    actions: tuple[Record, ...] | None = None
    problem: str | None = None
    remedy: str | None = None


class GoldByChecks:
    """The gold of every run of a file."""

    def __init__(self, tasks: Mapping[str, Record], simulations: Sequence[Record]) -> None:
        self._keys = {name: _key(_actions_of(task)) for name, task in tasks.items()}
        self._named = {key: name for name, key in reversed(self._keys.items()) if key}
        self._permuted = any(
            (checked := _checked_actions(run)) and _key(checked) != self._keys.get(run.identifier("task_id") or "")
            for run in simulations
        )

    def of(self, task: str, simulation: Record) -> Gold:
        """The gold of one run that names `task`."""
        checked = _checked_actions(simulation)
        key = _key(checked)
        if key == self._keys[task] and (checked or not self._permuted):
            return Gold(task=task)
        if not checked:
            if not self._permuted:
                return Gold(task=task)
            problem = "the file's task ids contradict its runs' checks, and this run has none: its gold is not used"
            return Gold(task=None, problem=problem, remedy=_REMEDY)
        problem = "the run's checks look for other actions than its task's gold, which is not used"
        found = self._named.get(key)
        return Gold(task=found, actions=None if found else tuple(checked), problem=problem, remedy=_REMEDY)


def _checked_actions(simulation: Record) -> list[Record]:
    rewards = simulation.record("reward_info")
    checks = rewards.records("action_checks") if rewards else []
    return [action for check in checks if (action := check.record("action")) is not None]


def _actions_of(task: Record) -> list[Record]:
    criteria = task.record("evaluation_criteria")
    return criteria.records("actions") if criteria else []


def _key(actions: Sequence[Record]) -> str:
    return "\n".join(canonical_json([action.value("name"), action.value("arguments")]) for action in actions)


_ERROR: Final = "Error: "
_NO_TOOL: Final = re.compile(r"Error: Tool '[^']*' not found\.?")
_ENDINGS: Mapping[str, Outcome] = MappingProxyType(
    {
        "agent_stop": "finished",
        "user_stop": "finished",
        "max_steps": "limit_reached",
        "too_many_errors": "limit_reached",
        "timeout": "limit_reached",
        "agent_error": "agent_failed",
        "invalid_agent_message": "agent_failed",
        "context_window_exceeded": "agent_failed",
        "user_error": "harness_failed",
        "infrastructure_error": "harness_failed",
        "unexpected_error": "harness_failed",
    }
)


def read(source: Source) -> Iterator[Found]:
    """Every simulation of the file, then the tasks that none was made of."""
    document = source.whole(source.document())
    if document.value("simulations") is None:
        raise document.refusal("simulations", f"is {kind_of(None)}: a result file of tau2 has them")
    shared = _Shared(source, document)
    for simulation in document.records("simulations"):
        yield shared.found(simulation)
    yield from shared.unused()


IMPORTER = Importer(patterns=("*.json",), read=read)


class _Shared:
    """What the simulations of a file share: the tasks, the domain's policy and tools, the agent's model."""

    def __init__(self, source: Source, document: Record) -> None:
        self._source = source
        info = document.record("info") or source.whole({}, "info")
        environment = info.record("environment_info") or source.whole({}, "info")
        agent = info.record("agent_info") or source.whole({}, "info")
        self._domain = environment.text("domain_name") or "tau2"
        user = info.record("user_info") or source.whole({}, "info")
        # Without a user the agent works on a ticket alone, and the tools of the user's device are its own.
        self._solo = user.text("implementation") == "dummy_user"
        self._policy = environment.text("policy")
        self._tools = _tools(environment)
        self._agent = agent.text("implementation") or "agent"
        self._model = agent.text("llm")
        self._tasks = {self._id(task): task for task in document.records("tasks")}
        self._cases: dict[str, Case] = {}
        self._reference_call = GoldByChecks(self._tasks, document.records("simulations"))

    def found(self, simulation: Record) -> Found:
        task = simulation.identifier("task_id")
        if task is None:
            raise simulation.refusal("task_id", "is missing")
        if task not in self._tasks:
            raise simulation.refusal("task_id", f"{task!r} is none of the file's tasks")
        name = f"{simulation.at} (task {task})"
        ending = simulation.text("termination_reason")
        if ending is not None and ending not in _ENDINGS:
            raise simulation.refusal("termination_reason", f"is {ending!r}, none of tau2's")
        outcome = "finished" if ending is None else _ENDINGS[ending]
        began = wall_ns(simulation.value("start_time"))
        transcript = self._source.transcript(name)
        for message in simulation.records("messages"):
            self._add(transcript, message, began)
        rewards = simulation.record("reward_info")
        return Found(
            case=self._played_case(name, task, simulation),
            record=name,
            tools=self._tools,
            run=FoundRun(
                steps=transcript.steps(),
                agent=self._agent,
                version=self._model,
                attempt=simulation.count("trial"),
                outcome=outcome,
                reason=None if outcome == "finished" else ending,
                reward=rewards.number("reward") if rewards else None,
                started_ns=began,
                duration_s=simulation.number("duration"),
            ),
        )

    def _played_case(self, name: str, task: str, simulation: Record) -> Case:
        """The case that was played: what the run's own checks look for, if they contradict the task's gold."""
        gold = self._reference_call.of(task, simulation)
        if gold.problem is not None:
            self._source.note(name, gold.problem, field="task_id", remedy=gold.remedy)
        if gold.task is not None:
            return self._case(gold.task)
        fields: JsonObject = {
            "id": case_id(f"{self._domain}-{task}-as-checked"),
            "category": self._domain,
            "system": self._policy,
            "origin": f"{self._source.path.name} task {task}, by its checks",
        }
        if gold.actions is not None:
            fields["reference"] = [_reference_call(index, action) for index, action in enumerate(gold.actions)]
        return self._source.case(name, fields)

    def unused(self) -> Iterator[Found]:
        for task in [task for task in self._tasks if task not in self._cases]:
            yield Found(case=self._case(task), record=f"task {task}", tools=self._tools)

    def _add(self, transcript: TranscriptBuilder, message: Record, began: int | None) -> None:
        content = message.value("content")
        match message.text("role"):
            case "tool":
                transcript.result(_foreign_result(message))
            case "multi_tool" | "multitool":
                for inner in message.records("tool_messages"):
                    transcript.result(_foreign_result(inner))
            case "system":
                transcript.add(ForeignStep(source="system", message=text_of(content)))
            case "user" | "assistant" as role:
                transcript.add(self._foreign_step(role == "assistant", message, began))
            case None:
                raise message.refusal("role", "is missing")
            case other:
                raise message.refusal("role", f"is {other!r}, no role of tau2")

    def _foreign_step(self, by_agent: bool, message: Record, began: int | None) -> ForeignStep:
        usage = message.record("usage")
        now = wall_ns(message.value("timestamp"))
        return ForeignStep(
            source="agent" if by_agent else "user",
            message=text_of(message.value("content")),
            thought=text_of(message.value("reasoning")) if by_agent else None,
            calls=tuple(_foreign_call(call) for call in message.records("tool_calls")),
            model=self._model if by_agent and usage else None,
            usage=usage_in(usage.data).of_step(message.number("cost")) if usage else None,
            started_ns=since(began, now),
        )

    def _id(self, task: Record) -> str:
        identifier = task.identifier("id")
        if identifier is None:
            raise task.refusal("id", "is missing")
        return identifier

    def _case(self, task_id: str) -> Case:
        if task_id not in self._cases:
            name = f"task {task_id}"
            self._cases[task_id] = self._source.case(name, self._case_fields(task_id, self._tasks[task_id]))
        return self._cases[task_id]

    def _case_fields(self, task_id: str, task: Record) -> JsonObject:
        criteria = task.record("evaluation_criteria")
        fields: JsonObject = {
            "id": case_id(f"{self._domain}-{task_id}"),
            "category": self._domain,
            "task": (task.text("ticket") if self._solo else None) or _user_instructions(task),
            "system": self._policy,
            "origin": f"{self._source.path.name} task {task_id}",
        }
        if criteria is None:
            return fields
        actions = criteria.records("actions")
        by_agent = [action for action in actions if self._solo or action.text("requestor") in (None, "assistant")]
        if criteria.value("actions") is not None:
            fields["reference"] = [_reference_call(index, action) for index, action in enumerate(by_agent)]
        return {**fields, "expected": criteria.data}


def _user_instructions(task: Record) -> str | None:
    """The user's instructions, in tau2's order; a support ticket if no user exists."""
    scenario = task.record("user_scenario")
    instructions = scenario.value("instructions") if scenario else None
    if isinstance(instructions, dict):
        order = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
        parts = [part for part in (instructions.get(name) for name in order) if isinstance(part, str)]
        return "\n".join(parts) or task.text("ticket")
    return text_of(instructions) or task.text("ticket")


def _tools(environment: Record) -> tuple[FoundTool, ...] | None:
    definitions: JsonValue = environment.value("tool_defs")
    return tools_of(environment.records("tool_defs")) if isinstance(definitions, list) else None


def _foreign_call(call: Record) -> ForeignCall:
    return ForeignCall(id=call.identifier("id"), name=call.tool(), arguments=call.value("arguments"))


def _foreign_result(message: Record) -> ForeignResult:
    content = result_of(message.value("content"))
    text = text_of(content) or ""
    flag = message.flag("error")
    # Older recordings have no flag: there the mark that tau2's environment writes before an error tells it.
    failed = text.startswith(_ERROR) if flag is None else flag
    kind: ToolErrorType = "unknown_tool" if _NO_TOOL.fullmatch(text) else "tool_error"
    error = ToolFailure(type=kind, message=text[:500]) if failed else None
    return ForeignResult(call_id=message.identifier("id"), content=content, error=error)


def _reference_call(index: int, action: Record) -> JsonObject:
    return {"id": f"g{index}", "tool": action.tool(), "arguments": action.fields("arguments")}
