"""Inspect logs: `.eval` archives read sample by sample, and the same log as one JSON file.

A sample without messages is read from its events; a file that contains only events is read as one sample.
"""

import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Self

from pydantic import JsonValue

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError
else:
    from backports.zstd import ZstdDecompressor, ZstdError

from harness.errors import InvalidDocument
from harness.suite.cases import Case
from harness.suite.scenarios import case_id
from harness.traces.foreign_json import (
    MAX_BYTES,
    Record,
    decoded,
    has_other_parts,
    kind_of,
    parse_json,
    result_of,
    text_of,
)
from harness.traces.formats.found import Found, FoundRun, FoundTool, Importer, Source, since, task_id, tools_of, wall_ns
from harness.traces.formats.transcript import ForeignCall, ForeignResult, ForeignStep
from harness.traces.outcomes import Outcome
from harness.traces.trajectory import Step, ToolErrorType, ToolFailure
from harness.traces.usage import usage_in
from harness.values import JsonObject, canonical_json

MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024
"""The maximum unpacked size of all members together."""
MAX_RATIO = 250
"""Of a member's size to what it takes in the archive; logs of models' requests, which repeat themselves, reach 100."""
_SMALL = 1024 * 1024
"""Members up to this size are unpacked with any ratio."""

_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The methods of which `zipfile` unpacks no more than it is asked for, whatever sizes the archive tells."""
_ZSTD = 93
"""The number of the method in an archive."""
_LOCAL_HEADER = 30
"""Bytes before a member's name, whose length and that of the extra field are the last four."""
_PART = 1024 * 1024
_CONVERT = "inspect log convert --to json writes one that can be read"


class LogArchive:
    """An open `.eval` file. Raises InvalidDocument for unreadable content."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise InvalidDocument(
                path,
                f"is not a whole .eval archive: {error}",
                remedy="an evaluation that was cut off leaves one without an end",
            ) from None
        except OSError as error:
            raise InvalidDocument(path, f"cannot be read: {error.strerror or error}") from None
        unpacked = sum(member.file_size for member in self._zip.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            self._zip.close()
            raise InvalidDocument(path, f"holds {unpacked} bytes when unpacked; at most {MAX_UNPACKED_BYTES} are read")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def header(self) -> Record:
        """The log without its samples; for an unfinished log, the data written at its start."""
        names = set(self._zip.namelist())
        for name in ("header.json", "_journal/start.json"):
            if name in names:
                return self._record(name)
        raise InvalidDocument(self._path, "holds no header.json", remedy="is it an archive of Inspect?")

    def samples(self) -> Iterator[Record]:
        """The samples one by one, in the order of their names; each is released before the next is read."""
        names = dict.fromkeys(self._zip.namelist())
        for name in sorted(name for name in names if name.startswith("samples/") and name.endswith(".json")):
            yield self._record(name)

    def _record(self, name: str) -> Record:
        inside = self._path / name
        try:
            member = self._zip.getinfo(name)
            if member.file_size > MAX_BYTES:
                raise InvalidDocument(inside, f"is larger than {MAX_BYTES} bytes")
            ratio = MAX_RATIO * (8 if member.compress_type == _ZSTD else 1)  # zstd finds repetitions that are far apart
            if member.file_size > max(_SMALL, ratio * member.compress_size):
                raise InvalidDocument(inside, f"unpacks to more than {ratio} times its size in the archive")
            if member.compress_type not in (*_BOUNDED, _ZSTD):
                raise InvalidDocument(inside, "is packed by a method that unpacks without a limit", remedy=_CONVERT)
            if member.compress_type == _ZSTD:
                content = self._unpacked_zstd(member)
            else:
                with self._zip.open(member) as packed:
                    content = b"".join(iter(lambda: packed.read(_PART), b""))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            # NotImplementedError (a RuntimeError) is a compression that this Python does not know.
            raise InvalidDocument(inside, f"cannot be unpacked: {error}", remedy=_CONVERT) from None
        value = parse_json(inside, decoded(inside, content))
        if not isinstance(value, dict):
            raise InvalidDocument(inside, f"the document is {kind_of(value)}, not an object")
        return Record(path=inside, data=value)

    def _unpacked_zstd(self, member: zipfile.ZipInfo) -> bytes:
        """Inspect packs with zstd, which `zipfile` reads from Python 3.14 on; the sizes that the archive tells hold."""
        with self._path.open("rb") as stream:
            stream.seek(member.header_offset)
            head = stream.read(_LOCAL_HEADER).ljust(_LOCAL_HEADER)
            stream.seek(sum(struct.unpack("<HH", head[-4:])), os.SEEK_CUR)
            packed = stream.read(member.compress_size)
        try:
            content = ZstdDecompressor().decompress(packed, member.file_size + 1)
        except ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None
        if head[:4] != b"PK\x03\x04" or len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile("its content is not what the archive tells")
        return content


_ATTACHMENT = "attachment://"
_FAILURES: Mapping[str, ToolErrorType] = MappingProxyType(
    {
        "parsing": "invalid_arguments",
        "timeout": "timeout",
        "approval": "not_allowed",
        "limit": "limit_reached",
    }
)
"""What is not here is the tool's own failure: permission, file_not_found, is_a_directory, unicode_decode, unknown."""


def tools_in(sample: Record) -> tuple[FoundTool, ...] | None:
    """The tools offered to the sample's model calls; None if none is recorded."""
    by_name: dict[str, FoundTool] = {}
    events = [event for event in _events(sample) if event.value("event") == "model"]
    for event in events:
        by_name |= {tool.name: tool for tool in tools_of(event.records("tools"))}
    return tuple(by_name.values()) or None


def _events(sample: Record) -> list[Record]:
    older = sample.record("transcript")
    return sample.records("events") if older is None else older.records("events")


class SampleReading:
    """Reads one sample."""

    def __init__(self, source: Source, name: str, sample: Record) -> None:
        self._source = source
        self._name = name
        self._transcript = source.transcript(name)
        self._attachments = self._pool(sample)
        self.began: int | None = None
        events = _events(sample)
        for event in events:
            self.began = self.began or wall_ns(event.value("timestamp"))
        messages = sample.records("messages")
        if messages:
            self._replies = _replies(events)
            self._durations = {event.identifier("id"): event for event in events if event.value("event") == "tool"}
            for message in messages:
                self._message(message)
        else:
            for event in events:
                self._event(event)

    def steps(self) -> tuple[Step, ...]:
        return self._transcript.steps()

    def _pool(self, sample: Record) -> dict[str, JsonValue]:
        older = sample.record("transcript")
        pools = [sample.record("attachments"), older.record("content") if older else None]
        return {name: value for pool in pools if pool for name, value in pool.data.items()}

    def _message(self, message: Record) -> None:
        content = self._resolved(message.value("content"))
        if has_other_parts(content, ("text", "reasoning")):
            self._source.note(
                self._name, "a message holds parts that are not text; each is named in brackets", field="content"
            )
        match message.text("role"):
            case "tool":
                self._transcript.result(self._foreign_result(message, content))
            case "assistant":
                self._transcript.add(self._reply(message, content))
            case "user":
                self._transcript.add(ForeignStep(source="user", message=_text_without_reasoning(content)))
            case "system":
                self._transcript.add(ForeignStep(source="system", message=_text_without_reasoning(content)))
            case None:
                raise message.refusal("role", "is missing")
            case other:
                raise message.refusal("role", f"is {other!r}, no role of Inspect")

    def _reply(self, message: Record, content: JsonValue, event: Record | None = None) -> ForeignStep:
        event = event or self._replies.get(message.identifier("id") or "")
        output = event.record("output") if event else None
        began = wall_ns(event.value("timestamp")) if event else None
        ended = wall_ns(event.value("completed")) if event else None
        return ForeignStep(
            source="agent",
            message=_text_without_reasoning(content),
            thought=_thought(content) or message.text("reasoning"),
            calls=tuple(_foreign_call(call) for call in message.records("tool_calls")),
            model=message.text("model") or (event.text("model") if event else None),
            usage=usage_in(output.fields("usage")).of_step() if output else None,
            started_ns=self._ns_since_beginning(began),
            ended_ns=self._ns_since_beginning(ended),
        )

    def _event(self, event: Record) -> None:
        match event.value("event"):
            case "model":
                output = event.record("output")
                choices = output.records("choices") if output else []
                message = choices[0].record("message") if choices else None
                if message is None:
                    model = event.text("model")
                    self._transcript.add(
                        ForeignStep(
                            source="agent",
                            model=model,
                            started_ns=self._ns_since_beginning(wall_ns(event.value("timestamp"))),
                        )
                    )
                else:
                    self._transcript.add(self._reply(message, self._resolved(message.value("content")), event))
            case "tool":
                self._tool_event(event)
            case _:
                pass

    def _tool_event(self, event: Record) -> None:
        call = _foreign_call(event)
        known = self._transcript.waiting(call.id, None)
        if known is None:
            known = self._transcript.add(
                ForeignStep(
                    source="agent",
                    calls=(call,),
                    started_ns=self._ns_since_beginning(wall_ns(event.value("timestamp"))),
                )
            )[0]
        if "result" in event.data or event.value("error") is not None:
            content = result_of(self._resolved(event.value("result")))
            self._transcript.answer(
                known,
                ForeignResult(call_id=call.id, content=content, error=_failure(event), duration_ms=_duration_ms(event)),
            )

    def _foreign_result(self, message: Record, content: JsonValue) -> ForeignResult:
        call_id = message.identifier("tool_call_id")
        event = self._durations.get(call_id)
        return ForeignResult(
            call_id=call_id,
            name=message.text("function"),
            content=result_of(content),
            error=_failure(message),
            duration_ms=None if event is None else _duration_ms(event),
        )

    def _resolved(self, content: JsonValue) -> JsonValue:
        """Content with its attachments in place; one that is not in the log stays as its name."""
        match content:
            case str() if content.startswith(_ATTACHMENT):
                found = self._attachments.get(content.removeprefix(_ATTACHMENT))
                if found is None:
                    self._source.note(self._name, "an attachment is not in the log; its name stands in its place")
                return content if found is None else found
            case list():
                return [self._resolved(item) for item in content]
            case dict():
                return {name: self._resolved(item) if name in _TEXTS else item for name, item in content.items()}
            case _:
                return content

    def _ns_since_beginning(self, now: int | None) -> int | None:
        return since(self.began, now)


_TEXTS = ("text", "reasoning")


def _replies(events: list[Record]) -> dict[str, Record]:
    """Model events by the id of the message that they produced."""
    found: dict[str, Record] = {}
    for event in events:
        output = event.record("output") if event.value("event") == "model" else None
        for choice in output.records("choices")[:1] if output else []:
            message = choice.record("message")
            identity = message.identifier("id") if message else None
            if identity is not None:
                found[identity] = event
    return found


def _text_without_reasoning(content: JsonValue) -> str | None:
    """The text of a message without the reasoning among its parts."""
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, dict) and part.get("type") == "reasoning")]
    return text_of(content)


def _thought(content: JsonValue) -> str | None:
    if not isinstance(content, list):
        return None
    parts = [part.get("reasoning") for part in content if isinstance(part, dict) and part.get("type") == "reasoning"]
    return "\n".join(part for part in parts if isinstance(part, str)) or None


def _foreign_call(call: Record) -> ForeignCall:
    broken = call.text("parse_error")
    arguments = call.value("arguments")
    return ForeignCall(
        id=call.identifier("id"),
        name=call.tool("function"),
        arguments=arguments,
        unparsed=None if broken is None else text_of(arguments) if isinstance(arguments, str) else broken,
    )


def _failure(event: Record) -> ToolFailure | None:
    error = event.value("error")
    if error is None:
        return None
    kind, message = (error.get("type"), error.get("message")) if isinstance(error, dict) else (None, error)
    return ToolFailure(type=_FAILURES.get(str(kind), "tool_error"), message=(text_of(message) or str(kind))[:500])


def _duration_ms(event: Record) -> float | None:
    seconds = event.number("working_time")
    return None if seconds is None else round(seconds * 1000, 3)


_MAX_CHARS = 100
"""The longest tag; what is longer is a line of the description."""


def sample_facts(metadata: JsonValue, tags: Iterable[JsonValue] = ()) -> JsonObject:
    """The fields of a case that keep all of it.

    `category` is the case's own if it is valid there; `tags` are tags, and every other value is the tag `name=value`,
    an object or list in JSON, or a line of the description if it is too long for a tag.
    """
    given = dict(metadata) if isinstance(metadata, dict) else {}
    fields: JsonObject = {}
    category = given.get("category")
    if isinstance(category, str) and 0 < len(category.strip()) <= _MAX_CHARS:
        fields["category"] = category.strip()
        del given["category"]
    own = given.pop("tags") if isinstance(given.get("tags"), list) else []
    assert isinstance(own, list)
    texts = {name: _as_text(value) for name, value in given.items() if value is not None}
    short = [f"{name}={text}" for name, text in texts.items() if len(f"{name}={text}") <= _MAX_CHARS]
    long = [f"{name}: {text}" for name, text in texts.items() if len(f"{name}={text}") > _MAX_CHARS]
    named = [*dict.fromkeys([*map(_as_text, tags), *map(_as_text, own), *short])]
    return {**fields, **({"tags": [*named]} if named else {}), **({"description": "\n".join(long)} if long else {})}


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)


_GRADES: Mapping[str, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def read(source: Source) -> Iterator[Found]:
    """Every sample of the log, then planned samples that are missing in it."""
    if source.path.suffix == ".eval":
        with LogArchive(source.path) as archive:
            yield from _samples(source, archive.header(), archive.samples())
        return
    log = source.whole(source.document())
    if log.value("eval") is None and isinstance(log.value("events"), list):
        asked = next((event.items("input") for event in log.records("events") if event.value("event") == "model"), [])
        facts: JsonObject = {"input": log.value("description"), "events": log.items("events")}
        yield _found_sample(source, source.whole({}), source.whole({"id": task_id(facts["input"], *asked), **facts}))
        return
    if log.value("eval") is None:
        raise log.refusal("eval", f"is {kind_of(None)}: a log of Inspect says there what was evaluated")
    yield from _samples(source, log, iter(log.records("samples")))


IMPORTER = Importer(patterns=("*.eval", "*.json"), read=read)


def _samples(source: Source, log: Record, samples: Iterator[Record]) -> Iterator[Found]:
    kept: set[str] = set()
    for sample in samples:
        kept.add(sample.identifier("id") or "")
        yield _found_sample(source, log, sample)
    evaluated = log.record("eval") or source.whole({})
    dataset = evaluated.record("dataset")
    for planned in dataset.items("sample_ids") if dataset else []:
        if str(planned) not in kept:
            source.note(f"sample {planned}", "a planned sample is not in the log; its case has no trial")
            facts: JsonObject = {"id": str(planned)}
            yield Found(case=_case(source, log, source.whole(facts)), record=f"sample {planned}")


def _found_sample(source: Source, log: Record, sample: Record) -> Found:
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
