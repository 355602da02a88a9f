"""Experiments of Langfuse: one line, or one entry of a list, for each item that was run.

    {"item": {...}, "observations": [{...}, ...]}

`item` is an entry of `GET /api/public/experiment-items` with the field groups `io`, `itemMetadata` and `scores`;
`observations` are those of `GET /api/public/v2/observations` of its trace. Scores are evaluations on the trial's root
span; one of them is the reward.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, get_args

from pydantic import JsonValue

from harness.suite.cases import Case
from harness.suite.scenarios import case_id
from harness.traces import names
from harness.traces.foreign_json import Record, embedded_json
from harness.traces.formats.dialects import opened
from harness.traces.formats.found import Found, FoundRun, FoundTool, Importer, Source, wall_ns
from harness.traces.formats.inspect_log import sample_facts
from harness.traces.formats.otel import cleaned_span, is_ours, readable_conversation
from harness.traces.formats.span_files import exported_spans
from harness.traces.formats.transcript import ForeignStep
from harness.traces.outcomes import Outcome
from harness.traces.spans import Span
from harness.values import JsonObject, canonical_json

_TASKS: Final = ("task", "question", "query", "input", "prompt", "text")
_SUCCESS: Final = "success"
"""The score by which the export of this harness says whether a trial passed."""
_MOST_SCORES: Final = 50
"""Of one item in Langfuse's listing."""
_EVALUATION: Final = "gen_ai.evaluation.result"


def item_value(raw: JsonValue) -> JsonValue:
    """Langfuse gives inputs and outputs as texts: the object or list that one holds, else the text."""
    plain = embedded_json(raw) if isinstance(raw, str) else None
    return plain if isinstance(plain, dict | list) else raw


def item_text(raw: JsonValue) -> str:
    """What an input asks or an output says, in words."""
    value = item_value(raw)
    if isinstance(value, dict):
        value = next((value[name] for name in _TASKS if isinstance(value.get(name), str)), value)
    return value if isinstance(value, str) else "" if value is None else canonical_json(value)


def item_case(source: Source, record: str, item: Record) -> Case:
    """The case under the id of the dataset's item, or under the id of the case that this harness made the item of."""
    metadata = item_value(item.value("experimentItemMetadata"))
    told = dict(metadata) if isinstance(metadata, dict) else {}
    identifier = item.text("experimentItemId") or ""
    own = told.get("case")
    is_own = isinstance(own, str) and identifier.endswith(f":{own}")
    facts: JsonObject = {key: item_value(value) for key, value in told.items()}
    for name in ("case", "suite") if is_own else ():
        facts.pop(name, None)
    described = facts.pop("description", None) if is_own else None
    fields = sample_facts(facts)
    if isinstance(described, str):
        fields["description"] = "\n".join(str(part) for part in (described, fields.get("description")) if part)
    asked = item_value(item.value("input"))
    given = asked if isinstance(asked, dict) and is_own else {}
    fields |= {
        "id": case_id(str(own) if is_own else identifier),
        "task": item_text(asked),
        "expected_output": item_value(item.value("expectedOutput")),
        "origin": f"{source.path.name} {record}",
    }
    if isinstance(given.get("system"), str):
        fields["system"] = given["system"]
    if isinstance(given.get("user_profile"), dict):
        fields["user_profile"] = given["user_profile"]
    return source.case(record, fields)


def evaluations_of(source: Source, record: str, item: Record) -> tuple[JsonObject, ...]:
    """The scores as events of the conventions: recorded values of others, and no checks of this harness."""
    scores = item.records("scores")
    if len(scores) >= _MOST_SCORES:
        source.note(record, f"Langfuse lists at most {_MOST_SCORES} scores of an item; others may be missing")
    return tuple(source.cleaner.fields(_event(score)) for score in scores)


def reward_of(source: Source, record: str, item: Record) -> float | None:
    """The score that the options name, else the only one, else `success`; none of several others, which is noted."""
    numbers = {
        str(one.value("name")): number for one in item.records("scores") if (number := _numeric_score(one)) is not None
    }
    wanted = source.options.score
    if wanted is None:
        wanted = next(iter(numbers)) if len(numbers) == 1 else _SUCCESS
    if numbers and wanted not in numbers:
        source.note(
            record,
            "none of its scores is the reward",
            field="scores",
            remedy=f"name one with the option `score` (--score NAME): {', '.join(sorted(numbers)[:20])}",
        )
    return numbers.get(wanted)


def _event(score: Record) -> JsonObject:
    number, value = _numeric_score(score), score.value("value")
    facts: JsonObject = {
        names.EVALUATION_NAME: str(score.value("name")),
        names.EVALUATION_SCORE: number,
        names.EVALUATION_LABEL: None if number is not None and not isinstance(value, bool) else str(value),
        names.EVALUATION_EXPLANATION: score.text("comment"),
        names.EVALUATOR_SOURCE: score.text("source"),
    }
    return {
        "name": _EVALUATION,
        "time_ns": wall_ns(score.value("timestamp")) or 0,
        "attributes": {name: one for name, one in facts.items() if one is not None},
    }


def _numeric_score(score: Record) -> float | None:
    """The value of a numeric or boolean score."""
    value = score.value("value")
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else None


_ROOT_NAME: Final = "experiment item"


def read(source: Source) -> Iterator[Found]:
    """Every item of the file that was run, in its order."""
    for line in source.records():
        item = line.record("item")
        if item is None or item.text("experimentItemId") is None:
            raise line.refusal("item.experimentItemId", "is missing: no item of an experiment")
        yield _found_item(source, item, line.records("observations"))


IMPORTER = Importer(patterns=("*.jsonl", "*.ndjson", "*.json"), read=read)


def _found_item(source: Source, item: Record, observations: list[Record]) -> Found:
    name = f"item {item.text('experimentItemId')}"
    spans = [cleaned_span(source, span) for one in observations for span in _spans(one)]
    run, tools = _run(source, name, item, spans)
    spans = list(run.spans or ())
    root = _root_of(item, spans)
    facts = next((one for one in observations if one.text("id") == root.span_id), None)
    evaluations = evaluations_of(source, name, item)
    judged = root.model_copy(update={"events": (*root.events, *evaluations)})
    outcome, reason = _outcome(item, facts, is_known=is_ours(spans))
    return Found(
        case=item_case(source, name, item),
        record=name,
        tools=tools,
        run=replace(
            run,
            outcome=outcome,
            reason=reason,
            reward=reward_of(source, name, item),
            spans=tuple(judged if span is root else span for span in spans),
        ),
    )


def _spans(observation: Record) -> list[Span]:
    found = exported_spans(observation)
    if found is None:
        raise observation.refusal("type", "with `id` and `traceId`: expected an observation of Langfuse")
    return found


def _run(source: Source, name: str, item: Record, spans: list[Span]) -> tuple[FoundRun, tuple[FoundTool, ...] | None]:
    """The attempt and its tools, as the trace tells them; the item's input and output alone if it contains no agent,
    model or tool.
    """
    output = item_value(item.value("output"))
    conversation = readable_conversation(source, name, spans) if spans else None
    if conversation is not None and conversation.run is not None:
        run = conversation.run
        attempt = None if run.attempt is None else max(0, run.attempt - 1)
        final = output if run.final_output is None and not is_ours(spans) else run.final_output
        return replace(run, attempt=attempt, final_output=final), conversation.tools
    transcript = source.transcript(name)
    transcript.add(ForeignStep(source="user", message=item_text(item.value("input"))))
    if output is not None:
        transcript.add(ForeignStep(source="agent", message=item_text(output)))
    made = spans or [_span_of(item)]
    began, ended = min(one.start_ns for one in made), max(one.end_ns for one in made)
    run = FoundRun(
        steps=transcript.steps(),
        final_output=output,
        trace_id=made[0].trace_id,
        spans=tuple(made),
        duration_s=max(0, ended - began) / 1e9,
    )
    return run, None


def _root_of(item: Record, spans: list[Span]) -> Span:
    """The item's own span, else the first without a parent, else the first."""
    own = next((span for span in spans if span.span_id == item.text("id")), None)
    return own or next((span for span in spans if span.parent_id is None), spans[0])


def _span_of(item: Record) -> Span:
    """The item as a span, if its trace has no observation."""
    return Span(
        trace_id=item.text("traceId") or "",
        span_id=item.text("id") or "",
        name=_ROOT_NAME,
        start_ns=wall_ns(item.value("startTime")) or 0,
        end_ns=wall_ns(item.value("endTime")) or 0,
        status="error" if item.value("level") == "ERROR" else "unset",
    )


def _outcome(item: Record, root: Record | None, *, is_known: bool) -> tuple[Outcome, str | None]:
    """The outcome that a harness wrote down; of others `agent_failed` if the item's level is ERROR."""
    metadata = root.value("metadata") if root is not None else None
    told = opened(metadata.get("outcome")) if isinstance(metadata, dict) and is_known else None
    failed = item.value("level") == "ERROR"
    reason = root.value("statusMessage") if root is not None and failed else None
    said = str(reason) if reason else None
    for outcome in get_args(Outcome):
        if told == outcome:
            return outcome, said
    return ("agent_failed", said or "the level of the item is ERROR") if failed else ("finished", None)
