"""Observations of each recorded call, by operation: of a probe, of a live run, and of how long answers take."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from harness.cassettes.cassette import Cassette, cassette_path, open_cassette, refuse_secrets
from harness.cassettes.journals import LiveCassette
from harness.cassettes.profiles import OperationProfile, ToolProfile, read_profile
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.drift.answers import Answer, AnswerBaseline, answer_of, why_not_comparable
from harness.drift.change import Change
from harness.drift.compare import Compared, compare
from harness.drift.forms import UNKNOWN, Forms, PathRules, declared_forms, rules_of
from harness.errors import CassetteError
from harness.runs.store.drift_report import DriftFinding, Severity
from harness.suite.suites import AnswerRule, Suite
from harness.text import shortened

_VARIABLE = re.compile(r"\d+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|(?=.*\d)[0-9A-Za-z_-]{16,}|.*@.*")


class OperationIndex:
    """The index of one suite."""

    def __init__(self, suite: Suite, cassettes: Mapping[str, Cassette], profiles: Mapping[str, ToolProfile]) -> None:
        self.suite = suite
        self.cassettes = cassettes
        self._profiles = profiles
        self._recordings: defaultdict[tuple[str, str], list[Recording]] = defaultdict(list)
        for cassette in cassettes.values():
            for recording in cassette.recordings:
                if recording.mark.kind != "model":
                    self._recordings[recording.mark.tool, operation_of(recording)].append(recording)
        self._baselines: dict[tuple[str, str], AnswerBaseline] = {}
        self._rules: dict[str, PathRules] = {}

    def profile(self, tool: str) -> ToolProfile:
        return self._profiles.get(tool) or ToolProfile(tool=tool)

    def rules(self, tool: str) -> PathRules:
        """The suite's rules; a generated id is new every time, so only its kind is compared."""
        if tool not in self._rules:
            generated = next((spec.generated_ids for spec in self.suite.tools if spec.name == tool), ())
            self._rules[tool] = rules_of(self.suite, tool, [AnswerRule(at=at, compare="type") for at in generated])
        return self._rules[tool]

    def baseline(self, tool: str, operation: str) -> AnswerBaseline:
        if (tool, operation) not in self._baselines:
            learned = self.profile(tool).operations.get(operation) or OperationProfile()
            recordings = self._recordings[tool, operation]
            self._baselines[tool, operation] = AnswerBaseline(
                recordings, learned, self.rules(tool), self.declared_forms(tool)
            )
        return self._baselines[tool, operation]

    def declared_forms(self, tool: str) -> Forms:
        """The forms of objects in the tool's answers according to its declared output schema."""
        spec = next((spec for spec in self.suite.tools if spec.name == tool), None)
        if spec is None:
            return UNKNOWN
        if spec.output is not None:
            return declared_forms(spec.output)
        schema = spec.listed.get("outputSchema")
        if not isinstance(schema, dict):
            return UNKNOWN
        # MCP results contain the answer twice: structured, and as JSON in a text.
        return declared_forms(schema, "structuredContent").over(declared_forms(schema, "content[].text"))

    def compare(self, recorded: Recording, old: Answer, new: Answer) -> Compared:
        """Compares one live answer with its recording."""
        tool = recorded.mark.tool
        return compare(old, new, self.baseline(tool, operation_of(recorded)), self.rules(tool))


def open_operation_index(suite: Suite, cassettes: Path, secrets: Mapping[str, str]) -> OperationIndex:
    """Reads the cassettes of the suite's cases. Raises CassetteError if one is damaged or none exists."""
    redactor, loaded = Redactor(secrets), dict[str, Cassette]()
    for case in suite.cases:
        path = cassette_path(cassettes, suite.name, case.id)
        if path.exists():
            loaded[case.id] = open_cassette(path)
            refuse_secrets(path, loaded[case.id].recordings, redactor)
    if not loaded:
        raise CassetteError(
            f"suite {suite.name!r} has no recordings to compare with", remedy=f"harness record {suite.name}"
        )
    tools = {recording.mark.tool for cassette in loaded.values() for recording in cassette.recordings}
    profiles = {tool: read_profile(cassettes, suite.name, tool) for tool in sorted(tools)}
    return OperationIndex(suite, loaded, profiles)


def operation_of(recording: Recording) -> str:
    """The tool's name; for a host, method and route, with `{}` for path segments that look like ids."""
    if recording.mark.kind != "http":
        return recording.mark.tool
    asked = json.loads(recording.arguments)
    path = urlsplit(str(asked.get("url", ""))).path
    route = "/".join("{}" if _VARIABLE.fullmatch(part) else part for part in path.split("/"))
    return f"{asked.get('method', 'GET')} {route}"


ALONE = 3
"""The number of answers to one read, including repeats, that must all show a change."""
TOGETHER = 2
"""The number of answers, from other cases or attempts, that must show it for calls that cannot be sent again."""
ORDER: dict[Severity, int] = {"breaking": 0, "warning": 1, "info": 2}


@dataclass(kw_only=True)
class CallObservations:
    """One recorded call, and all live answers to it."""

    recorded: Recording
    cases: set[str]
    answers: list[Answer] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    unavailable: list[str] = field(default_factory=list)

    @property
    def tool(self) -> str:
        return self.recorded.mark.tool

    @property
    def operation(self) -> str:
        return operation_of(self.recorded)

    @property
    def has_changes(self) -> bool:
        return any(one.changes for one in self.compared)

    def add(self, operations: OperationIndex, recorded: Recording, live: Recording) -> None:
        """Adds one more answer, and compares it with its recording."""
        old, new = answer_of(recorded), answer_of(live)
        failure = why_not_comparable(new, old)
        if failure is not None:
            self.unavailable.append(failure)
        elif not old.is_silent:
            self.answers.append(new)
            self.compared.append(operations.compare(recorded, old, new))


def findings_of(observations: Iterable[CallObservations]) -> tuple[tuple[DriftFinding, ...], tuple[DriftFinding, ...]]:
    """The confirmed and the unconfirmed findings."""
    groups: defaultdict[tuple[str, str, tuple[str, str, str]], list[CallObservations]] = defaultdict(list)
    for observation in observations:
        places = {change.place for compared in observation.compared for change in compared.changes}
        for place in places:
            groups[observation.tool, observation.operation, place].append(observation)
    found = [_finding(tool, operation, own, place) for (tool, operation, place), own in groups.items()]
    return in_order(one for one in found if one.doubt is None), in_order(one for one in found if one.doubt is not None)


def exercised_by(observations: Iterable[CallObservations]) -> dict[str, tuple[str, ...]]:
    """Every `operation path` in a live answer, by tool."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for observation in observations:
        for compared in observation.compared:
            seen[observation.tool].update(f"{observation.operation} {path}" for path in compared.paths)
    return {tool: tuple(sorted(paths)) for tool, paths in sorted(seen.items())}


def unavailable_in(observations: Iterable[CallObservations]) -> tuple[str, ...]:
    """Describes tools whose calls all failed, and how often calls of others did."""
    own: defaultdict[str, list[CallObservations]] = defaultdict(list)
    for observation in observations:
        own[observation.tool].append(observation)
    return tuple(words for tool, observations in sorted(own.items()) for words in _unavailable(tool, observations))


def in_order(findings: Iterable[DriftFinding]) -> tuple[DriftFinding, ...]:
    """The findings sorted by tool, severity, operation and path."""
    return tuple(
        sorted(findings, key=lambda one: (one.tool, ORDER[one.severity], one.operation, one.path, one.fingerprint))
    )


def _unavailable(tool: str, observations: Sequence[CallObservations]) -> Iterable[str]:
    reasons = [reason for observation in observations for reason in observation.unavailable]
    if not reasons:
        return
    answered = sum(1 for observation in observations if observation.compared)
    often = "never answered" if not answered else f"{len(reasons)} calls without an answer, {answered} with one"
    yield f"{tool}: {often}: {', '.join(sorted(set(reasons)))}"


def _finding(
    tool: str, operation: str, observations: Sequence[CallObservations], place: tuple[str, str, str]
) -> DriftFinding:
    shown = [[_change_at(compared, place) for compared in observation.compared] for observation in observations]
    hits = [[change for change in one if change is not None] for one in shown]
    example = next(change for one in hits for change in one)
    doubts = {change.doubt for one in hits for change in one if change.doubt is not None}
    cases = tuple(sorted({case for observation in observations for case in observation.cases}))
    doubt = _doubt(shown, hits) or (min(doubts) if doubts else None)
    return example.finding(tool, operation, cases, samples=sum(map(len, hits)), doubt=doubt)


def _doubt(shown: Sequence[Sequence[Change | None]], hits: Sequence[Sequence[Change]]) -> str | None:
    answers, seen = sum(map(len, shown)), sum(map(len, hits))
    if seen < answers:
        return (
            f"asked again, the same call was answered otherwise: {seen} of {answers} answers show it"
            " (a release that rolls out, or a value that comes and goes)"
        )
    if any(len(one) >= ALONE for one in hits) or seen >= TOGETHER:
        return None
    return "seen once: no other case or attempt made such a call, and it could not be sent again"


def _change_at(compared: Compared, place: tuple[str, str, str]) -> Change | None:
    return next((change for change in compared.changes if change.place == place), None)


# Pairs a live run's answers with the recordings of the same calls; a call without a pair is a divergence of the agent,
# not of the tools.

_SHOWN = 3
_LONGEST = 160


def pair(
    cassettes: Iterable[LiveCassette], operations: OperationIndex
) -> tuple[tuple[CallObservations, ...], tuple[str, ...]]:
    """Returns the observations of each recorded call, with the answers of every trial that made it, and descriptions of
    the divergences.
    """
    observations: dict[tuple[str, str, int], CallObservations] = {}
    divergences: list[str] = []
    for live in cassettes:
        recorded = operations.cassettes.get(live.case or "")
        if recorded is None:
            divergences.append(f"{live.case}, attempt {live.attempt}: the case has no recordings")
            continue
        apart: list[Recording] = []
        for answer in (one for one in live.load().recordings if one.mark.kind != "model"):
            match = recorded_of(recorded, answer)
            if match is None:
                apart.append(answer)
                continue
            observation = observations.setdefault(match.place, CallObservations(recorded=match, cases=set()))
            observation.cases.add(live.case or "")
            observation.add(operations, match, answer)
        divergences += _difference_lines(live, apart, recorded)
    return tuple(observations[place] for place in sorted(observations)), tuple(divergences)


def recorded_of(cassette: Cassette, live: Recording) -> Recording | None:
    """The recording of the same call after the same writes; for repeated reads beyond the recorded ones, the last
    recording.
    """
    mark = live.mark
    answers = cassette.answers(mark.key, mark.state)
    if mark.occurrence < len(answers):
        return answers[mark.occurrence]
    return answers[-1] if answers and mark.effect == "read" else None


def _difference_lines(live: LiveCassette, apart: list[Recording], recorded: Cassette) -> Iterator[str]:
    for one in apart[:_SHOWN]:
        call = f"{one.mark.tool}({one.arguments})"
        call = shortened(call, _LONGEST)
        known = " after the writes made before it" if recorded.holds_key(one.mark.key) else ""
        yield f"{live.case}, attempt {live.attempt}: the agent asked {call}, which was not recorded{known}"
    if len(apart) > _SHOWN:
        yield f"{live.case}, attempt {live.attempt}: and {len(apart) - _SHOWN} more calls that were not recorded"
