"""tau-bench's result files: a list of runs, each with its task, gold actions and OpenAI messages."""

import re
from collections.abc import Iterator

from harness.case import Case
from harness.ingest.formats.openai_chat import add_messages, first_text
from harness.ingest.found import Found, FoundRun, Importer, Source
from harness.ingest.naming import case_id
from harness.ingest.reading import Record, kind_of
from harness.trace import Observation, Step, ToolFailure
from harness.values import JsonObject, JsonValue

_TYPE_ERROR = re.compile(r"Error: .*(unexpected keyword argument|missing \d+ required (positional|keyword-only))")


def read(source: Source) -> Iterator[Found]:
    """Every run of the file."""
    document = source.document()
    runs = Record(path=source.path, data={"": document})
    if not isinstance(document, list):
        raise runs.refusal("", f"the document is {kind_of(document)}, not a list of runs")
    for index, value in enumerate(document):
        yield _found(source, runs.within(str(index), value))


IMPORTER = Importer(patterns=("*.json",), read=read)


def failure_of(content: JsonValue) -> ToolFailure | None:
    """The failure in a result's text, because tau-bench has no flag for errors."""
    if not isinstance(content, str):
        return None
    if content.startswith("Unknown action "):
        return ToolFailure(type="unknown_tool", message=content[:500])
    if not content.startswith("Error: "):
        return None
    return ToolFailure(type="invalid_arguments" if _TYPE_ERROR.match(content) else "tool_error", message=content[:500])


def _found(source: Source, run: Record) -> Found:
    task = run.identifier("task_id")
    if task is None:
        raise run.refusal("task_id", "is missing")
    if run.value("traj") is None:
        raise run.refusal("traj", "is missing: a run has its messages there")
    name = f"run {run.at}"
    transcript = source.transcript(name)
    messages = run.records("traj")
    add_messages(source, name, transcript, messages)
    info = run.record("info")
    error = info.text("error") if info else None
    unfinished = info is not None and error is None and "reward_info" in info.data and info.value("reward_info") is None
    return Found(
        case=_case(source, name, task, info, first_text(messages, "system")),
        record=name,
        run=FoundRun(
            steps=tuple(_judged(step) for step in transcript.steps()),
            attempt=run.count("trial"),
            reward=run.number("reward"),
            outcome="harness_failed" if error else "limit_reached" if unfinished else "finished",
            reason=error or ("the limit of steps, before the conversation ended" if unfinished else None),
        ),
    )


def _judged(step: Step) -> Step:
    if not step.observations:
        return step
    seen: tuple[Observation, ...] = tuple(
        item.model_copy(update={"error": failure_of(item.content)}) for item in step.observations
    )
    return step.model_copy(update={"observations": seen})


def _case(source: Source, name: str, task_id: str, info: Record | None, system: str | None) -> Case:
    task = info.record("task") if info else None
    actions = task.records("actions") if task else []
    outputs = task.items("outputs") if task else []
    fields: JsonObject = {
        "id": case_id(f"task-{task_id}"),
        "task": task.text("instruction") if task else None,
        "system": system,
        "expected": {"outputs": outputs},
        "origin": f"{source.path.name} task {task_id}",
    }
    if task is not None and task.value("actions") is not None:
        fields["reference"] = [_gold(index, action) for index, action in enumerate(actions)]
    return source.case(name, fields)


def _gold(index: int, action: Record) -> JsonObject:
    name = action.text("name")
    if name is None:
        raise action.refusal("name", "is missing")
    arguments = action.record("kwargs", "arguments")
    return {"id": f"g{index}", "tool": name, "arguments": arguments.data if arguments else {}}
