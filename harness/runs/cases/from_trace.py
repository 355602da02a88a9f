"""Makes a case with a cassette from a stored or imported trial."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue

from harness.cassettes.cassette import Cassette, cassette_path, load_cassette
from harness.cassettes.journals import merge_recordings
from harness.cassettes.keys import call_key, complete_arguments
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.cassettes.trial_recording import Excerpt, ObservedAnswer, ObservedCall, excerpt
from harness.disk import write_atomically
from harness.errors import InvalidDocument, OutOfTime, UsageError
from harness.gateway.toolbox import Toolbox
from harness.runs.cases.drafting import Proof, draft, passing_attempts, prove, useful_checks
from harness.runs.importing import IMPORTED
from harness.runs.measured_trials import suite_of
from harness.runs.plan.plan import secret_values
from harness.runs.store.folder import RunFolder, StoredTrial
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import Case
from harness.suite.documents import open_document, read_plain
from harness.suite.loading import load_stored_suite, load_suite
from harness.suite.suite_file import SuiteFile
from harness.suite.suites import Suite, case_of, state_names
from harness.traces.trajectory import Observation, ToolErrorType, ToolFailure
from harness.traces.trial import Trial
from harness.values import JsonObject, NotJson, parse_json

_AT_THE_DOOR: frozenset[ToolErrorType] = frozenset(
    {"unknown_tool", "not_allowed", "unparsable_arguments", "invalid_arguments", "limit_reached"}
)
"""The text of calls that the gateway refused before they reached the tool."""
_STATUS = re.compile(r"refused the call: (4\d\d)\b")


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads the calls of trials as the gateway of a suite would receive them in one case."""

    suite: Suite
    case: Case
    redactor: Redactor

    def calls(self, trial: Trial) -> tuple[ObservedCall, ...]:
        """The agent's calls in their order, then the suite's probes."""
        return (*self._agents(trial), *self._probes(trial))

    def _agents(self, trial: Trial) -> Iterator[ObservedCall]:
        seen = trial.trajectory.observations
        box = Toolbox(self.suite)
        offered = box.offered(self.case)
        for step in trial.trajectory.steps:
            for call in step.calls if step.source == "agent" else ():
                if call.evidence == "self_reported":  # self-reported calls must not become recordings
                    continue
                found = seen.get(call.id)
                if call.name in offered and call.arguments is not None and _reached_tool(found):
                    made = self._observed_calls(
                        box, call.name, call.arguments, None if found is None else _observed_answer(found)
                    )
                    yield from made

    def _probes(self, trial: Trial) -> Iterator[ObservedCall]:
        box = Toolbox(self.suite)
        for probe in self.suite.probes:
            known = probe.name in trial.states
            answer = ObservedAnswer(status=200, body=_encoded(trial.states[probe.name])) if known else None
            if probe.tool is not None:  # other values are not changed
                yield from self._observed_calls(box, probe.tool, probe.arguments, answer)

    def _observed_calls(
        self, box: Toolbox, name: str, arguments: JsonObject, answer: ObservedAnswer | None
    ) -> Iterator[ObservedCall]:
        """Empty if the gateway would refuse the call, or if the sandbox itself answers it."""
        tool = box.tools[name]
        complete = complete_arguments(tool.spec, arguments)
        try:
            refused = tool.problem_with(arguments, complete)
            if refused is None and tool.spec.source != "sandbox":
                yield ObservedCall(key=call_key(tool.spec, complete, self.redactor), answer=answer)
        except OutOfTime:  # as the gateway does
            return


def _reached_tool(seen: Observation | None) -> bool:
    if seen is None:
        return True
    refused = seen.error is not None and seen.error.type in _AT_THE_DOOR
    return not refused and seen.replayed not in ("fault", "fixture")


def _observed_answer(seen: Observation) -> ObservedAnswer | None:
    """None for a replay miss, if an injected fault changed the answer, or if the tool did not answer: no agent could
    pass a recording of an outage.
    """
    if seen.injected is not None:
        return None
    if seen.error is None:
        return ObservedAnswer(status=200, body=_encoded(_as_json(seen.content)))
    return _refusal(seen.error, seen.content)


def _refusal(error: ToolFailure, content: JsonValue) -> ObservedAnswer | None:
    match error.type:
        case "tool_error":
            status = _STATUS.search(error.message)
            return ObservedAnswer(status=400 if status is None else int(status[1]), body=_encoded(_own_words(content)))
        case "malformed_result":
            return ObservedAnswer(status=200, body=b"")  # not JSON: replayed as malformed again
        case _:
            return None


def _as_json(content: JsonValue) -> JsonValue:
    """Parses a JSON text: traces of other programs store the text for the model, a tool answers with the JSON value."""
    if not isinstance(content, str) or not content.lstrip().startswith(("{", "[")):
        return content
    try:
        return parse_json(content.encode("utf-8", "replace"))
    except NotJson:
        return content


def _own_words(content: JsonValue) -> JsonValue:
    """The tool's own text, if the gateway has wrapped it in an error text."""
    error = content.get("error") if isinstance(content, dict) else None
    return error["body"] if isinstance(error, dict) and "body" in error else content


def _encoded(content: JsonValue) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


FILE = "regressions.yaml"
_HEADING = "# Cases drafted from failed trials: review each case before you rely on it.\n"


@dataclass(frozen=True, kw_only=True)
class Request:
    """The trial, and the destination of the case."""

    run: Path
    case_id: str
    attempt: int = 1
    suite: str | None = None
    """None: the suite that was run."""
    file: Path | None = None
    """None: `regressions.yaml` in the suite's folder."""


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """The files that were written."""

    case: Case
    suite: str
    file: Path
    cassette: Path | None
    """None if there is no call to replay."""
    listed: bool
    """Whether the suite reads the file already."""
    line: str
    """The entry of `cases:` in suite.yaml that makes the suite read the file."""
    notes: tuple[str, ...]
    proof: Proof
    """The verdicts of the case on the trial that it was made from, and on trials that succeeded."""
    succeeded: bool
    """Whether the trial had succeeded, so that the case shows no failure."""


def case_from_trace(project: Path, request: Request) -> Drafted:
    """Writes case and cassette, or neither. Raises UsageError for a trial that cannot be had, and for an id that
    exists.
    """
    folder = RunFolder.open(request.run)
    stored, card = _stored_trial(folder, request)
    trial = stored.trial
    named = request.suite
    suite = load_suite(project, named) if named else load_stored_suite(project, folder.manifest.suite, folder.path)
    asked = case_of(suite_of(project, folder), request.case_id)
    origin = f"{folder.manifest.run}/{request.case_id}/{request.attempt}"
    passing = passing_attempts(project, folder, request.case_id)
    drafted = draft(asked, trial, card, suite, origin, [one.stored.trial for one in passing])
    case, left_out = useful_checks(drafted.case, suite, stored, passing)
    proof = prove(case, suite, stored, passing)
    file = (request.file or suite.folder / FILE).resolve()
    cassette = cassette_path(project / "cassettes", suite.name, case.id)
    _refuse_taken(suite, case.id, file, cassette)
    redactor = Redactor(secret_values(suite))
    found = trial_recordings(project, folder, suite, case, trial)
    text = _with_case(file, case)
    merge_recordings(cassette, found.recordings, suite.name, case.id, redactor=redactor)
    listed = _write_case_file(project, suite, file, text, cassette)
    unanswered = tuple(
        dict.fromkeys(f"the answer to {key.tool}({key.arguments}) is unknown" for key in found.unanswered)
    )
    unknown = tuple(
        f"{name} is not a tool of suite {suite.name!r}: calls of it are refused"
        for name in _unknown_tools(trial, suite)
    )
    return Drafted(
        case=case,
        suite=suite.name,
        file=file,
        cassette=cassette if found.recordings else None,
        listed=listed,
        line=_cases_line(suite, file),
        notes=drafted.notes + left_out + unknown + unanswered,
        proof=proof,
        succeeded=card.success is True,
    )


def trial_recordings(project: Path, folder: RunFolder, suite: Suite, case: Case, trial: Trial) -> Excerpt:
    """The recordings that replay a stored trial, and the calls that nothing answers."""
    return recordings_of(_source_cassette(project, folder, trial.case_id), suite, case, trial)


def recordings_of(cassette: Cassette, suite: Suite, case: Case, trial: Trial) -> Excerpt:
    """The same, if the trial used this cassette."""
    redactor = Redactor(secret_values(suite))
    calls = Reader(suite=suite, case=case, redactor=redactor).calls(trial)
    return excerpt(cassette, calls, state_names(suite))


@dataclass(frozen=True, kw_only=True)
class AddedCase:
    """A case that was written into a suite's folder."""

    file: Path
    cassette: Path
    listed: bool
    """Whether the suite reads the file already."""
    line: str
    """The line of suite.yaml with which it does."""


def add_case(project: Path, suite: Suite, case: Case, recordings: Sequence[Recording], file: Path) -> AddedCase:
    """Writes a case and its cassette, or neither. Raises UsageError for an id that exists."""
    cassette = cassette_path(project / "cassettes", suite.name, case.id)
    _refuse_taken(suite, case.id, file.resolve(), cassette)
    text = _with_case(file.resolve(), case)
    merge_recordings(cassette, recordings, suite.name, case.id, redactor=Redactor(secret_values(suite)))
    listed = _write_case_file(project, suite, file.resolve(), text, cassette)
    return AddedCase(file=file.resolve(), cassette=cassette, listed=listed, line=_cases_line(suite, file.resolve()))


def refuse_taken_case(project: Path, suite: Suite, case_id: str, file: Path) -> None:
    """Raises UsageError if `add_case` would, for an id that exists; nothing is written."""
    _refuse_taken(suite, case_id, file.resolve(), cassette_path(project / "cassettes", suite.name, case_id))


def _stored_trial(folder: RunFolder, request: Request) -> tuple[StoredTrial, Scorecard]:
    key = (request.case_id, request.attempt)
    stored = folder.stored(*key)
    if stored is None:
        known = sorted({one.case_id for one in folder.cards()})
        raise UsageError(
            f"run {folder.manifest.run!r} has no trial {request.case_id!r} attempt {request.attempt}",
            remedy=f"its cases: {', '.join(known[:20])}{' ...' if len(known) > 20 else ''}",
        )
    if stored.trial.outcome in ("harness_failed", "inconclusive", "simulator_failed"):
        raise UsageError(
            f"trial {request.case_id!r} attempt {request.attempt} is {stored.trial.outcome}: "
            "it has no result of the agent",
            remedy="record the missing answers and run it again",
        )
    return stored, folder.scorecard(*key)


def _source_cassette(project: Path, folder: RunFolder, case_id: str) -> Cassette:
    if folder.manifest.tool_mode == IMPORTED:
        return Cassette()
    path = cassette_path(project / "cassettes", folder.manifest.suite, case_id)
    return load_cassette(path) if path.exists() else Cassette()


def _refuse_taken(suite: Suite, case_id: str, file: Path, cassette: Path) -> None:
    places = [suite.name] if case_id in {case.id for case in suite.cases} else []
    places += [str(file)] if case_id in {data.get("id") for data in _cases_in(file)} else []
    places += [str(cassette)] if cassette.exists() else []
    if places:
        raise UsageError(
            f"case {case_id!r} already exists in {places[0]}",
            remedy="change that case, or delete it with its cassette",
        )


def _cases_in(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    data = read_plain(file)[0]
    if data is not None and not (isinstance(data, list) and all(isinstance(item, dict) for item in data)):
        raise InvalidDocument(file, "expected a list of cases", remedy="name another file: -o FILE")
    return data or []


def _with_case(file: Path, case: Case) -> str:
    """The file's text with the case appended."""
    plain = case.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    # All limits are written: the suite's defaults could otherwise change the case.
    plain["limits"] = case.limits.model_dump(mode="json", exclude_none=True)
    return _with_item(file, plain)


def _with_item(file: Path, plain: dict[str, Any]) -> str:
    item = yaml.safe_dump([plain], sort_keys=False, allow_unicode=True, width=118)
    before = file.read_text(encoding="utf-8").rstrip("\n") if file.exists() else _HEADING.rstrip("\n")
    text = f"{before}\n\n{item}"
    try:
        together = yaml.safe_load(text)
    except yaml.YAMLError:
        together = None
    if together != [*_cases_in(file), plain]:
        raise InvalidDocument(file, "has a form to which no case can be appended", remedy="name another file: -o FILE")
    return text


def _write_case_file(project: Path, suite: Suite, file: Path, text: str, cassette: Path) -> bool:
    """Writes the file; whether the suite reads it. A suite that cannot be loaded with it is left as it was."""
    before = file.read_bytes() if file.exists() else None
    try:
        write_atomically(file, text.encode("utf-8"))
        listed = any(file == path.resolve() for pattern in _patterns(suite) for path in suite.folder.glob(pattern))
        if listed:
            load_suite(project, str(suite.folder))
    except BaseException:
        cassette.unlink(missing_ok=True)
        if before is None:
            file.unlink(missing_ok=True)
        else:
            write_atomically(file, before)
        raise
    return listed


def _patterns(suite: Suite) -> tuple[str, ...]:
    raw = open_document(suite.folder / "suite.yaml").shaped(SuiteFile)
    return (raw.cases,) if isinstance(raw.cases, str) else raw.cases


def _cases_line(suite: Suite, file: Path) -> str:
    own = file.relative_to(suite.folder) if file.is_relative_to(suite.folder) else file
    return f"cases: [{', '.join(dict.fromkeys((*_patterns(suite), str(own))))}]"


def _unknown_tools(trial: Trial, suite: Suite) -> list[str]:
    known = {tool.name for tool in suite.tools}
    agents = (step for step in trial.trajectory.steps if step.source == "agent")
    return sorted({call.name for step in agents for call in step.calls} - known)
