"""Readers of trajectories that others wrote, one a format, and of the spans that agents send."""

import json
import zipfile
from functools import partial
from io import BytesIO
from pathlib import Path

from harness.runs.foreign_runs import import_file
from harness.traces.otlp import NotOtlp, decode
from harness.traces.trial import Trial
from qa.fuzz.projects import ROOT, files, write
from qa.fuzz.reader import Reader, Syntax

_FIXTURES = "tests/traces/importing/fixtures"
_FORMATS: tuple[tuple[str, Syntax, tuple[str, ...]], ...] = (
    ("openai-chat", "lines", ("openai_chat.jsonl",)),
    ("anthropic", "json", ("anthropic.json",)),
    ("tau2", "json", ("tau2.json",)),
    ("atif", "json", ("atif.json",)),
    ("inspect", "json", ("inspect.json",)),
    ("adk", "json", ("adk.evalset.json", "adk_old.test.json", "adk.session.json")),
    ("otel", "json", ("otel_structured.json", "otel_events.json", "openinference.json", "otel_text.json")),
    ("otel", "lines", ("otel_logs.jsonl",)),
)


def readers() -> list[Reader]:
    found = [_reader(format, syntax, name) for format, syntax, names in _FORMATS for name in names]
    return [
        *found,
        Reader(
            name="inspect, archive",
            syntax="bytes",
            seeds=lambda: [_archive()],
            read=partial(_imported, "inspect", "a.eval"),
            cost=4,
        ),
        Reader(
            name="OTLP of agents, JSON",
            syntax="json",
            seeds=files(f"{_FIXTURES}/otel_structured.json"),
            read=_json_spans,
            refuses=(NotOtlp,),
            cost=2,
        ),
        Reader(
            name="OTLP of agents, protobuf",
            syntax="bytes",
            seeds=lambda: [_PROTOBUF],
            read=_protobuf_spans,
            refuses=(NotOtlp,),
        ),
    ]


def _reader(format: str, syntax: Syntax, name: str) -> Reader:
    return Reader(
        name=f"import {format}: {name}",
        syntax=syntax,
        seeds=files(f"{_FIXTURES}/{name}"),
        read=partial(_imported, format, name),
        cost=10,
    )


def _imported(format: str, name: str, content: bytes, folder: Path) -> None:
    """What was imported can be stored, digested and read back."""
    run = import_file(format, write(folder / name, content))
    for trial, spans in run.trials:
        assert trial == Trial.model_validate_json(trial.model_dump_json())
        assert len(trial.trajectory.digest) == 64
        assert all(span.model_dump_json() for span in spans)
    assert run.suite.model_dump_json(by_alias=True)


def _archive() -> bytes:
    packed = BytesIO()
    log = json.loads((ROOT / _FIXTURES / "inspect.json").read_bytes())
    samples = log.pop("samples")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return packed.getvalue()


def _json_spans(content: bytes, folder: Path) -> None:
    del folder
    assert all(one.span().model_dump_json() for one in decode("traces", content, as_json=True).records)


def _protobuf_spans(content: bytes, folder: Path) -> None:
    del folder
    assert all(one.span().model_dump_json() for one in decode("traces", content, as_json=False).records)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _pair(name: bytes, value: bytes) -> bytes:
    return _field(1, name) + _field(2, value)


_PROTOBUF = _field(
    1,
    _field(
        2,
        _field(
            2,
            _field(1, b"t" * 16)
            + _field(2, b"s" * 8)
            + _field(5, b"chat")
            + b"\x39"
            + (5).to_bytes(8, "little")
            + b"\x41"
            + (9).to_bytes(8, "little")
            + _field(9, _pair(b"a", _field(1, b"text")))
            + _field(9, _pair(b"b", b"\x18\x05"))
            + _field(9, _pair(b"c", _field(5, _field(1, _field(1, b"x")))))
            + _field(9, _pair(b"d", _field(6, _field(1, _pair(b"e", b"\x21" + bytes(8))))))
            + _field(11, b"\x09" + bytes(8) + _field(2, b"event"))
            + _field(15, b"\x18\x02"),
        ),
    ),
)
