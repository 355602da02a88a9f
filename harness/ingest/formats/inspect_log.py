"""Inspect logs: `.eval` archives read sample by sample, and the same log as one JSON file.

A sample without messages is read from its events; a file that contains only events is read as one sample.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from harness.case import Case
from harness.ingest.content import text_of
from harness.ingest.formats.inspect_archive import LogArchive
from harness.ingest.formats.inspect_sample import SampleReading, tools_in
from harness.ingest.found import Found, FoundRun, Importer, Source
from harness.ingest.inspect_facts import sample_facts
from harness.ingest.naming import case_id, wall_ns
from harness.ingest.reading import Record, kind_of
from harness.trace import Outcome
from harness.values import JsonObject, JsonValue

_GRADES: Mapping[str, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def read(source: Source) -> Iterator[Found]:
    """Every sample of the log, then planned samples that are missing in it."""
    if source.path.suffix == ".eval":
        with LogArchive(source.path) as archive:
            yield from _samples(source, archive.header(), archive.samples())
        return
    log = source.whole(source.document())
    if log.value("eval") is None and isinstance(log.value("events"), list):
        facts: JsonObject = {"id": source.path.stem, "input": log.value("description"), "events": log.items("events")}
        yield _found(source, source.whole({}), source.whole(facts))
        return
    if log.value("eval") is None:
        raise log.refusal("eval", f"is {kind_of(None)}: a log of Inspect says there what was evaluated")
    yield from _samples(source, log, iter(log.records("samples")))


IMPORTER = Importer(patterns=("*.eval", "*.json"), read=read)


def _samples(source: Source, log: Record, samples: Iterator[Record]) -> Iterator[Found]:
    kept: set[str] = set()
    for sample in samples:
        kept.add(sample.identifier("id") or "")
        yield _found(source, log, sample)
    evaluated = log.record("eval") or source.whole({})
    dataset = evaluated.record("dataset")
    for planned in dataset.items("sample_ids") if dataset else []:
        if str(planned) not in kept:
            source.note(f"sample {planned}", "a planned sample is not in the log; its case has no trial")
            facts: JsonObject = {"id": str(planned)}
            yield Found(case=_case(source, log, source.whole(facts)), record=f"sample {planned}")


def _found(source: Source, log: Record, sample: Record) -> Found:
    name = f"sample {sample.identifier('id')} epoch {sample.count('epoch') or 1}"
    evaluated = log.record("eval") or source.whole({})
    reading = SampleReading(source, name, sample)
    outcome, reason = _outcome(sample)
    epoch = sample.count("epoch")
    return Found(
        case=_case(source, log, sample),
        record=name,
        tools=tools_in(sample),
        run=FoundRun(
            steps=reading.steps(),
            agent=evaluated.text("task", "task_display_name") or "agent",
            version=evaluated.text("model"),
            attempt=None if epoch is None else max(0, epoch - 1),
            outcome=outcome,
            reason=reason,
            reward=_reward(source, name, sample),
            started_ns=reading.began or wall_ns(sample.value("started_at")),
            duration_s=sample.number("total_time"),
        ),
    )


def _outcome(sample: Record) -> tuple[Outcome, str | None]:
    error, limit = sample.value("error"), sample.value("limit")
    if error is not None:
        reason = error.get("message") if isinstance(error, dict) else error
        return "harness_failed", text_of(reason) or "the sample failed"
    if limit is not None:
        reason = limit.get("type") if isinstance(limit, dict) else limit
        return "limit_reached", f"the limit of {text_of(reason) or 'something'}"
    return "finished", None


def _reward(source: Source, name: str, sample: Record) -> float | None:
    scores = sample.record("scores") or sample.within("scores", {})
    older = sample.value("score")
    chosen = source.options.score or next(iter(scores.data), None)
    if len(scores.data) > 1 and source.options.score is None:
        source.note(
            name, f"of several scores the first, {chosen!r}, is the reward", remedy="choose with option `score`"
        )
    reward: JsonValue = scores.data.get(chosen) if chosen is not None else older
    value = reward.get("value") if isinstance(reward, dict) else reward
    match value:
        case bool() | int() | float():
            return float(value)
        case str() if value in _GRADES:
            return _GRADES[value]
        case None:
            return None
        case _:
            source.note(
                name, "a score is no number and no grade of C, I, P, N; the sample has no reward", field="scores"
            )
            return None


def _case(source: Source, log: Record, sample: Record) -> Case:
    evaluated = log.record("eval") or source.whole({})
    given = sample.value("input")
    messages = sample.records("input") if isinstance(given, list) else []
    asked = [m for m in messages if m.value("role") == "user"]
    system = [m for m in messages if m.value("role") == "system"]
    task = text_of(given) if isinstance(given, str) else text_of(asked[-1].value("content")) if asked else None
    name = PurePosixPath(evaluated.text("task", "task_display_name") or "").name.strip(".")
    identity = f"{name}-{sample.identifier('id')}" if name else str(sample.identifier("id"))
    record = f"sample {sample.identifier('id')}"
    fields: JsonObject = {
        **sample_facts(sample.value("metadata"), evaluated.items("tags")),
        "id": case_id(identity),
        "task": _with_choices(task, sample.items("choices")),
        "system": text_of(system[0].value("content")) if system else None,
        "expected_output": sample.value("target"),
        "origin": f"{source.path.name} {record}",
    }
    return source.case(record, fields)


def _with_choices(task: str | None, choices: list[JsonValue]) -> str | None:
    if not choices or task is None:
        return task
    return "\n".join([task, *(f"{chr(ord('A') + index)}) {text_of(item)}" for index, item in enumerate(choices[:26]))])
