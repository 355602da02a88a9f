"""An index of the recordings and profiles of a suite by operation."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from harness.case import AnswerRule, Suite
from harness.cassette import Cassette, Recording, Redactor, cassette_path, open_cassette, refuse_secrets
from harness.drift.comparing.answer import Answer
from harness.drift.comparing.baseline import AnswerBaseline
from harness.drift.comparing.compare import Compared, compare
from harness.drift.comparing.forms import UNKNOWN, Forms, declared_forms
from harness.drift.comparing.headers import HEADERS, header_changes
from harness.drift.comparing.paths import member
from harness.drift.comparing.profile import OperationProfile, ToolProfile, read_profile
from harness.drift.comparing.rules import PathRules, rules_of
from harness.errors import CassetteError

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
        compared = compare(old, new, self.baseline(tool, operation_of(recorded)), self.rules(tool))
        rules = self.suite.header_rules(tool)
        if not rules or old.status != new.status:
            return compared
        changes_of_headers = tuple(header_changes(old.headers, new.headers, rules))
        paths = (*compared.paths, *(member(HEADERS, name) for name in sorted(rules)))
        return replace(compared, changes=(*compared.changes, *changes_of_headers), paths=paths)


def open_operation_index(suite: Suite, cassettes: Path, secrets: Mapping[str, str]) -> OperationIndex:
    """Reads the cassettes of the suite's cases. Raises CassetteError where one is damaged or none exists."""
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
