"""Checks a cassette, shows what is on it, and who answered its recordings."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from harness.cassettes.cassette import Cassette, lines_of, load_cassette, open_cassette
from harness.cassettes.keys import WORLD, initial_state, key_digest, next_state
from harness.cassettes.recordings import Kind, Mark, Outcome, Recording, mark_in_file
from harness.cassettes.redaction import Redactor
from harness.cassettes.volatility import unfolded
from harness.errors import CassetteError
from harness.suite.documents import read_plain
from harness.suite.suites import Suite
from harness.suite.tools import Effect, may_lead, unmatched
from harness.text import shortened
from harness.values import Frozen, canonical_json

_WORDS: Final = {
    "service": "recorded from a service",
    "double": "recorded from a double",
    "trajectory": "taken from a trajectory",
    "hand": "written by hand",
}


def provenance_counts(recordings: Iterable[Recording]) -> dict[str, int]:
    """Provenance -> number of recordings; only existing ones, in a fixed order."""
    found = Counter[str](recording.mark.provenance for recording in recordings)
    return {name: found[name] for name in _WORDS if found[name]}


def provenance_words(counts: Mapping[str, int]) -> str:
    """`recorded from a double`; how many of each if there are several kinds."""
    named = {name: count for name, count in counts.items() if count}
    if len(named) == 1:
        return _WORDS[next(iter(named))]
    return ", ".join(f"{count} {_WORDS[name]}" for name, count in named.items())


ENDINGS = (".yaml", ".json")
_SHOWN, _CONTEXT = 1_000, 60
"""The number of characters of a model request that are shown, and how many of them precede the first difference."""


class CassetteFinding(Frozen):
    """A defect of a cassette."""

    path: Path
    line: int | None = None
    field: str | None = None
    problem: str

    def __str__(self) -> str:
        place = f"{self.path}" if self.line is None else f"{self.path}:{self.line}"
        return f"{place}:{'' if self.field is None else f' field {self.field!r}:'} {self.problem}"


class CassetteSummary(Frozen):
    """One cassette in a listing."""

    case: str
    path: Path
    recordings: int
    tools: dict[str, int]
    provenance: dict[str, int]
    """The number of recordings of each provenance (see `harness.suite.models`)."""


class ShownRecording(Frozen):
    """One recording in a listing."""

    server: str
    kind: Kind
    tool: str
    effect: Effect
    arguments: JsonValue
    after: str
    """The writes before the recording, as text."""
    occurrence: int
    provenance: str
    outcome: Outcome
    status: int
    body: str
    """The text of the body, with replacement characters for bytes that are not UTF-8."""


class ShownCassette(Frozen):
    """One cassette with its recordings, in the order of writes."""

    path: Path
    provenance: dict[str, int]
    """As in CassetteSummary."""
    recordings: tuple[ShownRecording, ...]


def cassette_paths(cassettes: Path, suite: str) -> tuple[Path, ...]:
    """The cassette files of a suite, by case, readable or not."""
    paths = sorted(path for path in (cassettes / suite).glob("*") if path.suffix in ENDINGS)
    return tuple(path for path in paths if not path.name.startswith("."))


def list_cassettes(cassettes: Path, suite: str) -> tuple[CassetteSummary, ...]:
    """The cassettes of a suite, by case. Raises CassetteError for one that cannot be read."""
    return tuple(_summary(path) for path in cassette_paths(cassettes, suite))


def check_cassette(path: Path, secrets: Mapping[str, str]) -> tuple[CassetteFinding, ...]:
    """The defects of a cassette: it cannot be loaded, a key does not match its call, it contains a known secret."""
    try:
        cassette = load_cassette(path)
    except CassetteError as error:
        return (CassetteFinding(path=path, problem=error.message.removeprefix(f"{path}:").strip()),)
    lines = lines_of(path)
    redactor = Redactor(secrets)
    return tuple(
        # The order of the file may differ from the index's, so the key's line gives the position of the finding.
        CassetteFinding(path=path, line=_line_of(lines, index), field=field, problem=problem)
        for index, recording in enumerate(_as_filed(path, cassette))
        for field, problem in _problems(index, recording, redactor)
    )


def unmatched_pointers(suite: Suite, cassettes: Iterable[Cassette]) -> Iterator[str]:
    """Describes each pointer of the suite into answers that matches none of the recorded ones, and each argument to
    ignore that the tool does not have. Of pointers into answers, tools without a recording are left out.
    """
    answers: dict[str, list[JsonValue]] = {}
    for recording in (one for cassette in cassettes for one in cassette.recordings if one.mark.kind != "model"):
        answers.setdefault(recording.mark.tool, []).append(unfolded(recording.body.decode("utf-8", "replace")))
    for tool in suite.tools:
        for name in (rule if isinstance(rule, str) else rule.at for rule in tool.ignore):
            if not may_lead(tool.parameters, name if name.startswith("/") or not name else f"/{name}"):
                yield f"tool {tool.name!r}: ignore: {name} matches no parameter"
    declared = [(f"tool {tool.name!r}: volatile", tool.name, tool.volatile) for tool in suite.tools]
    declared += [(f"tool {tool.name!r}: generated_ids", tool.name, tool.generated_ids) for tool in suite.tools]
    declared += [(f"host {host.host!r}: volatile", host.tool, host.volatile) for host in suite.hosts]
    declared += [
        (f"drift {pattern!r}", tool, tuple(rule.at for rule in rules))
        for pattern, rules in suite.drift.items()
        for tool in answers
        if fnmatchcase(tool, pattern)
    ]
    for place, name, pointers in declared:
        seen = answers.get(name, [])
        for pointer in unmatched(pointers, seen) if seen else ():
            yield f"{place}: {pointer} matches nothing in the {len(seen)} recorded answers of {name}"


def unmatched_in(folder: Path, suite: Suite) -> tuple[str, ...]:
    """The same of the suite's cassettes below the folder, without those that cannot be read."""
    readable: list[Cassette] = []
    for path in cassette_paths(folder, suite.name):
        with suppress(CassetteError):
            readable.append(load_cassette(path))
    return tuple(unmatched_pointers(suite, readable))


def shown_cassette(path: Path) -> ShownCassette:
    """A cassette's recordings as data. Raises CassetteError for one that cannot be read."""
    cassette = open_cassette(path)
    names = _state_names(cassette)
    return ShownCassette(
        path=path,
        provenance=provenance_counts(cassette.recordings),
        recordings=tuple(_shown_recording(recording, names) for recording in cassette.recordings),
    )


def _shown_recording(recording: Recording, names: Mapping[str, str]) -> ShownRecording:
    mark = recording.mark
    return ShownRecording(
        server=mark.server,
        kind=mark.kind,
        tool=mark.tool,
        effect=mark.effect,
        arguments=json.loads(recording.arguments),
        after=names.get(mark.state) or _unnamed_state(mark),
        occurrence=mark.occurrence,
        provenance=recording.mark.provenance,
        outcome=mark.outcome,
        status=recording.status,
        body=recording.body.decode("utf-8", "replace"),
    )


def show_cassette(path: Path) -> str:
    """A cassette as text: calls in the order of writes, each with its answer."""
    cassette = shown_cassette(path)
    counts, total = cassette.provenance, len(cassette.recordings)
    lines = [f"{path}: {total} recordings, {provenance_words(counts)}" if counts else f"{path}: 0 recordings"]
    shown: tuple[str, str] | None = None
    before = ""
    for one in cassette.recordings:
        if (one.server, one.after) != shown:
            shown = (one.server, one.after)
            lines += ["", f"{one.server}, {one.after}"]
        again = "" if one.occurrence == 0 else f" (time {one.occurrence + 1})"
        text = canonical_json(one.arguments)
        lines.append(f"  {one.effect:5} {one.tool}({_arguments(text, before) if one.kind == 'model' else text}){again}")
        before = text if one.kind == "model" else before
        whence = f" [{one.provenance}]" if len(counts) > 1 else ""
        answer = one.outcome if one.outcome != "answer" else f"{one.status} {shortened(one.body, 100)}"
        lines.append(f"        {answer}{whence}")
    return "\n".join(lines) + "\n"


def _summary(path: Path) -> CassetteSummary:
    cassette = open_cassette(path)
    tools = Counter(recording.mark.tool for recording in cassette.recordings)
    return CassetteSummary(
        case=path.stem,
        path=path,
        recordings=len(cassette),
        tools=dict(sorted(tools.items())),
        provenance=provenance_counts(cassette.recordings),
    )


def _as_filed(path: Path, cassette: Cassette) -> list[Recording]:
    plain, _ = read_plain(path)
    stated = [item["response"]["x-harness"] for item in plain["interactions"]]
    marks = [mark_in_file(one) for one in stated]
    order = {(mark.key, mark.state, mark.occurrence): index for index, mark in enumerate(marks)}
    return sorted(cassette.recordings, key=lambda recording: order[recording.place])


def _problems(index: int, recording: Recording, redactor: Redactor) -> Iterator[tuple[str, str]]:
    mark, at = recording.mark, f"interactions.{index}"
    try:
        canonical = canonical_json(json.loads(recording.arguments))
    except (ValueError, RecursionError) as error:
        yield f"{at}.request.body", f"is not JSON: {error}"
        return
    if canonical != recording.arguments:
        yield f"{at}.request.body", "is not canonical JSON (sorted keys, no spaces), so no call can match it"
    if key_digest(mark.tool, recording.arguments, mark.kind) != mark.key:
        yield f"{at}.response.x-harness.key", f"is not the key of {mark.tool}({recording.arguments})"
    if mark.follows_no_write and mark.state != initial_state(mark.state_name):
        yield f"{at}.response.x-harness.state", f"is not the state of {mark.state_name!r} before any write"
    name = redactor.left_in(recording.texts())
    if name is not None:
        yield at, f"contains the secret {name!r}"


def _line_of(lines: Mapping[tuple[int | str, ...], int], index: int) -> int | None:
    return lines.get(("interactions", index))


def _state_names(cassette: Cassette) -> dict[str, str]:
    names = {initial_state(recording.mark.state_name): "before any write" for recording in cassette.recordings}
    for recording in cassette.recordings:
        mark = recording.mark
        if mark.effect == "write":
            after = next_state(mark.state, mark.key)
            names[after] = f"after write {mark.writes + 1}, {mark.tool}({recording.arguments})"
    return names


def _unnamed_state(mark: Mark) -> str:
    if mark.elsewhere:
        return f"after {mark.writes} writes to it and {mark.elsewhere} to others"
    return f"after {mark.writes} writes in all" if mark.server == WORLD else "after writes that are not recorded"


def _arguments(text: str, before: str) -> str:
    """The arguments of a model request: their beginning, or the first difference from the previous one."""
    if len(text) <= _SHOWN:
        return text
    pairs = enumerate(zip(before, text, strict=False))
    same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(text)))
    start = same - _CONTEXT if same > 3 * _CONTEXT else 0
    head = f"({start} characters as in the request before) ..." if start else ""
    rest = len(text) - start - _SHOWN
    tail = f"... ({rest} characters more)" if rest > 0 else ""
    return f"{head}{text[start : start + _SHOWN]}{tail}"
