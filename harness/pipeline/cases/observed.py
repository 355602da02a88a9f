"""The calls of a stored trial that reached their tools, with the observed answers, in the form that a
cassette stores.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.case import Case, Suite
from harness.cassette import ObservedAnswer, ObservedCall, Redactor, call_key, complete_arguments
from harness.errors import OutOfTime
from harness.gateway import Toolbox
from harness.strict_json import NotJson, parse_json
from harness.trace import Observation, ToolErrorType, ToolFailure, Trial
from harness.upstream import unroutable
from harness.values import JsonObject, JsonValue

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
                if call.name in offered and call.arguments is not None and _reached(found):
                    made = self._call(box, call.name, call.arguments, None if found is None else _answer(found))
                    yield from made

    def _probes(self, trial: Trial) -> Iterator[ObservedCall]:
        box = Toolbox(self.suite)
        for probe in self.suite.probes:
            known = probe.name in trial.states
            answer = ObservedAnswer(status=200, body=_encoded(trial.states[probe.name])) if known else None
            if probe.tool is not None:  # other values are not changed
                yield from self._call(box, probe.tool, probe.arguments, answer)

    def _call(
        self, box: Toolbox, name: str, arguments: JsonObject, answer: ObservedAnswer | None
    ) -> Iterator[ObservedCall]:
        """Empty if the gateway would refuse the call, or if the sandbox itself answers it."""
        tool = box.tools[name]
        complete = complete_arguments(tool.spec, arguments)
        try:
            refused = tool.problem_with(arguments) or unroutable(tool.spec, complete)
            if refused is None and tool.spec.source != "sandbox":
                yield ObservedCall(key=call_key(tool.spec, complete, self.redactor), answer=answer)
        except OutOfTime:  # as the gateway does
            return


def _reached(seen: Observation | None) -> bool:
    if seen is None:
        return True
    refused = seen.error is not None and seen.error.type in _AT_THE_DOOR
    return not refused and seen.replayed not in ("fault", "fixture")


def _answer(seen: Observation) -> ObservedAnswer | None:
    """None for a replay miss, and where an injected fault changed the answer."""
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
        case "timeout" | "reset" as outcome:
            return ObservedAnswer(status=504, body=b"", outcome=outcome)
        case "tool_unavailable":
            return ObservedAnswer(status=500, body=b"")
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
    """The tool's own text, where the gateway has wrapped it in an error text."""
    error = content.get("error") if isinstance(content, dict) else None
    return error["body"] if isinstance(error, dict) and "body" in error else content


def _encoded(content: JsonValue) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
