"""Broken and hostile files: an error that names file and field, or a whole import; never anything else."""

import copy
import json
import random
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from backports.zstd import zipfile as zstd_zipfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import InvalidDocument
from harness.runs.foreign_runs import import_file, importers
from harness.traces.trial import Trial

FIXTURES = Path(__file__).parent / "fixtures"
FILES = {
    "openai-chat": ["openai_chat.jsonl"],
    "anthropic": ["anthropic.json"],
    "tau2": ["tau2.json"],
    "atif": ["atif.json"],
    "inspect": ["inspect.json"],
    "adk": ["adk.evalset.json", "adk_old.test.json", "adk.session.json"],
    "otel": ["otel_structured.json", "otel_events.json", "otel_logs.jsonl", "openinference.json"],
}
CASES = [(format, name) for format, names in FILES.items() for name in names]
ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**70, "", "x", "NaN", "\x00", "\ud800", "1e999", "0" * 50, [], {}, [[]], [None],
    [1], {"a": {}}, {"role": "tool"}, "2025-01-01T00:00:00Z", "9999999-99-99", [{"type": "text"}], '{"a": NaN}',
]  # fmt: skip
MANY = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def _import(format: str, path: Path) -> list[Trial] | None:
    """All trials, each proved to be storable; None where the file was refused as it should be."""
    refusal: str | None = None
    try:
        run = import_file(format, path)
        trials = list(run.trials)
    except InvalidDocument as error:
        refusal = str(error)
    if refusal is not None:
        assert str(path) in refusal
        return None
    for trial, spans in trials:
        assert trial == Trial.model_validate_json(trial.model_dump_json())
        assert 64 == len(trial.trajectory.digest)
        assert all(span.model_dump_json() for span in spans)
        for note in run.notes:
            assert note.count > 0
    assert run.suite.model_dump_json(by_alias=True)
    return [trial for trial, _ in trials]


def _as_file(folder: str, name: str, content: bytes) -> Path:
    path = Path(folder) / name
    path.write_bytes(content)
    return path


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _places(item, (*at, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*at, index))


def _mutated(document: Any, chance: random.Random) -> Any:
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        place = chance.choice(list(_places(document)))
        if not place:
            continue
        holder = document
        for step in place[:-1]:
            holder = holder[step]
        match chance.randint(0, 3):
            case 0:
                del holder[place[-1]]
            case 1 if isinstance(holder, list):
                holder.insert(place[-1], copy.deepcopy(chance.choice(holder)))
            case 2:
                holder[place[-1]] = copy.deepcopy(document)
            case _:
                holder[place[-1]] = copy.deepcopy(chance.choice(ODD))
    return document


def _lines(name: str) -> list[Any]:
    text = (FIXTURES / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else [json.loads(text)]


def _dumped(name: str, documents: list[Any]) -> bytes:
    separator = "\n" if name.endswith("l") else ""
    return separator.join(json.dumps(document) for document in documents).encode()


@pytest.mark.parametrize(("format", "name"), CASES)
def test_mutated_files_are_imported_or_refused(format: str, name: str) -> None:
    documents = _lines(name)

    @MANY
    @given(st.randoms(use_true_random=False))
    def check(chance: random.Random) -> None:
        changed = [_mutated(document, chance) for document in documents]
        with tempfile.TemporaryDirectory() as folder:
            _import(format, _as_file(folder, name, _dumped(name, changed)))

    check()


@pytest.mark.parametrize(("format", "name"), CASES)
def test_truncated_files_are_refused(format: str, name: str, tmp_path: Path) -> None:
    content = (FIXTURES / name).read_bytes().rstrip()
    for share in range(1, 20):
        cut = content[: len(content) * share // 20].rstrip(b"\n")
        if name.endswith("l") and cut.count(b"\n") and cut.splitlines()[-1] == content.splitlines()[cut.count(b"\n")]:
            continue  # cut between two lines: what is left is a whole file
        assert _import(format, _as_file(str(tmp_path), name, cut)) is None


@MANY
@given(st.sampled_from(importers()), st.sampled_from(["file.json", "file.jsonl", "file.eval"]), st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_or_imported(format: str, name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _import(format, _as_file(folder, name, content))


JSON = st.recursive(st.sampled_from(ODD), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@MANY
@given(st.sampled_from(importers()), JSON)
def test_arbitrary_json_is_refused_or_imported(format: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _import(format, _as_file(folder, "file.json", json.dumps(value).encode()))


@pytest.mark.parametrize("format", importers())
def test_deep_nesting_is_refused(format: str, tmp_path: Path) -> None:
    for depth in (200, 100_000):
        path = _as_file(str(tmp_path), "file.json", b'{"messages":' + b"[" * depth + b"]" * depth + b"}")
        with pytest.raises(InvalidDocument, match="nested"):
            import_file(format, path)


@pytest.mark.parametrize("format", importers())
def test_what_is_no_file_of_the_format_is_refused_by_name(format: str, tmp_path: Path) -> None:
    for content in (b"", b"{}", b"[1]", b"null", b'"text"', b"\xff\xfe", b"9" * 5000):
        path = _as_file(str(tmp_path), "file.json", content)
        with pytest.raises(InvalidDocument, match=r"file\.json"):
            import_file(format, path)


def test_an_error_names_record_and_field(importing: Any) -> None:
    records = [{"messages": [{"role": "user", "content": "x"}]}, {"messages": [{"role": "user"}, {"role": 7}]}]

    with pytest.raises(InvalidDocument) as caught:
        importing("openai-chat", records)
    assert "1.messages.1.role" == caught.value.field

    with pytest.raises(InvalidDocument) as caught:
        importing("openai-chat", records, name="file.jsonl")
    assert (2, "messages.1.role") == (caught.value.line, caught.value.field)


def test_deep_arguments_are_kept_as_text(importing: Any) -> None:
    deep = '{"a":' * 500 + "1" + "}" * 500
    call = {"id": "a", "function": {"name": "f", "arguments": deep}}

    [(trial, _)] = importing("openai-chat", [{"role": "assistant", "tool_calls": [call]}]).trials

    assert (None, deep) == (trial.trajectory.calls[0].arguments, trial.trajectory.calls[0].unparsed)


@pytest.mark.parametrize(
    "arguments", ['{"a": NaN}', '{"a": 1e999}', "[1]", "null", '"x"', "{'a': 1}", '{"a":1}{}', "{"]
)
def test_arguments_that_are_no_json_object_are_no_arguments(importing: Any, arguments: str) -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": arguments}}

    [(trial, _)] = importing("openai-chat", [{"role": "assistant", "tool_calls": [call]}]).trials

    assert (None, arguments) == (trial.trajectory.calls[0].arguments, trial.trajectory.calls[0].unparsed)


def test_no_call_is_lost_or_made_whatever_the_ids_are(tmp_path: Path) -> None:
    ids = st.sampled_from([None, "", "a", "b", "a#2"])

    @MANY
    @given(st.lists(st.tuples(st.lists(ids, max_size=3), st.lists(ids, max_size=4)), max_size=5))
    def check(turns: list[tuple[list[str | None], list[str | None]]]) -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "x"}]
        for calls, results in turns:
            told = [{"id": name, "function": {"name": "f", "arguments": "{}"}} for name in calls]
            messages.append({"role": "assistant", "content": "y", "tool_calls": told})
            messages += [{"role": "tool", "tool_call_id": name, "content": "r"} for name in results]
        trials = _import(
            "openai-chat", _as_file(str(tmp_path), "file.json", json.dumps({"messages": messages}).encode())
        )
        assert trials is not None
        [trial] = trials
        ids_here = [call.id for call in trial.trajectory.calls]
        seen = [item.call_id for step in trial.trajectory.steps for item in step.observations]
        assert sum(len(calls) for calls, _ in turns) == len(ids_here) == len(set(ids_here))
        assert sum(len(results) for _, results in turns) == len(seen) == len(set(seen))

    check()


@pytest.mark.slow
def test_thousands_of_calls_with_one_id_are_joined_in_time(importing: Any) -> None:
    messages: list[dict[str, Any]] = []
    for _ in range(5000):
        messages.append(
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}
        )
        messages.append({"role": "tool", "tool_call_id": "a", "content": "r"})

    [(trial, _)] = importing("openai-chat", messages).trials

    assert 5000 == len(trial.trajectory.observations)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zstd_zipfile.ZIP_ZSTANDARD])
def test_a_damaged_archive_is_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "log.eval"
    with zstd_zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t"}, "filler": list(range(2000))}))
        archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "epoch": 1, "messages": []}))
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-30], whole[:60] + bytes(200) + whole[260:], b"PK"):
        assert _import("inspect", _as_file(str(tmp_path), "log.eval", content)) is None


def test_missing_steps_of_an_exported_trial_are_noticed(importing: Any, fixtures: Path) -> None:
    [(_, spans)] = import_file("atif", fixtures / "atif.json").trials
    lines = [json.loads(span.model_dump_json()) for span in spans]

    with pytest.raises(InvalidDocument, match="6 steps"):
        importing("otel", lines[:-1], name="spans.jsonl")


def test_a_circle_of_parents_and_a_foreign_parent_do_no_harm(importing: Any) -> None:
    facts, times = {"gen_ai.operation.name": "chat"}, {"start_ns": 0, "end_ns": 0}
    lines = [
        {"trace_id": "a", "span_id": name, "parent_id": parent, "name": "chat", **times, "attributes": facts}
        for name, parent in (("1", "2"), ("2", "1"), ("3", "3"), ("4", "gone"))
    ]

    assert 1 == len(list(importing("otel", lines, name="spans.jsonl").trials))
