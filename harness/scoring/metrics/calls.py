"""How right the calls were: tools, arguments, effects and order, against the reference and the tools' schemas."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.scoring.arguments import argument_faults, call_key
from harness.scoring.evidence import Evidence, calls_of, judged_by_state
from harness.scoring.findings.reading import Act, is_hand_over, read
from harness.scoring.json_values import same_effect
from harness.scoring.reference_calls import Alignment, align, match_calls
from harness.scoring.tool_use import Chosen, choices, wanted_tools
from harness.suite.cases import ReferenceCall
from harness.suite.conversations import Route
from harness.suite.tools import ToolSpec
from harness.text import shortened
from harness.traces.trajectory import Content, Step


class ToolAllowed:
    """Steps all of whose calls are of allowed tools / steps with calls; share, 0 to 1.

    Allowed: the tool exists, the case offers it and does not forbid it. Excluded: calls refused by the step limit. None
    if no tool was called.
    """

    name: ClassVar[str] = "tool_allowed"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        made = choices(evidence)
        if not made:
            return None, "no tool was called"
        steps = {one.step.index for one in made}
        allowed = evidence.allowed
        wrong = [one for one in made if one.call.name not in allowed]
        good = len(steps) - len({one.step.index for one in wrong})
        return good / len(steps), f"{good} of {len(steps)} steps called allowed tools only{_wrong_tools_text(wrong)}"


class ToolSelection:
    """Right steps / (steps that count + required tools that were never called); share, 0 to 1.

    A step counts if one of its calls does, and is right if all of those are. A call is right if its tool
    exists, is allowed for the case, is not forbidden and, if the case has a reference, is used by the reference or
    required. Calls of a reading tool that is allowed but not in the reference do not count (looking around is neither
    right nor wrong), nor do calls refused by the step limit. Without any step that counts: 0 if a tool is needed
    (the reference or the required tools name one), 1 if the reference says that none is, None without a reference.
    """

    name: ClassVar[str] = "tool_selection"
    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        made = choices(evidence)
        counted = [one for one in made if one.choice != "neutral"]
        called = {one.call.name for one in made}
        forgotten = sorted(set(evidence.case.required_tools) - called)
        if not counted and not forgotten:
            return self._without_calls(evidence)
        wrong = [one for one in counted if one.choice == "wrong"]
        steps = {one.step.index for one in counted}
        right = len(steps) - len({one.step.index for one in wrong})
        words = f"{right} of {len(steps)} steps chose right tools{_wrong_tools_text(wrong)}"
        words += f"; never called: {', '.join(forgotten)}" if forgotten else ""
        return right / (len(steps) + len(forgotten)), words

    def _without_calls(self, evidence: Evidence) -> tuple[float | None, str]:
        if wanted_tools(evidence):
            return 0.0, "no call of a tool that the task needs"
        if evidence.case.reference is None:
            return None, "no tool was called, and no reference says whether one should be"
        return 1.0, "no tool is needed, and none was called needlessly"


def _wrong_tools_text(wrong: list[Chosen]) -> str:
    return f"; wrong: {', '.join(sorted({one.call.name for one in wrong}))}" if wrong else ""


class ParameterValidity:
    """Calls whose arguments satisfy their tool's JSON Schema / calls of known tools; share, 0 to 1.

    Arguments that are not a JSON object are invalid. Excluded: calls of a tool that does not exist (they have no
    schema; `tool_selection` counts them). None if no call is left. The explanation counts the kinds of faults
    (unparsed, unknown, missing, wrong type, out of range); the table by tool lists them by tool and model.
    """

    name: ClassVar[str] = "parameter_validity"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"arguments"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        tools = {tool.name for tool in evidence.tools}
        calls = [call for call in calls_of(evidence) if call.name in tools]
        if not calls:
            return None, "no call of a known tool"
        faults = argument_faults(evidence)
        wrong = [(call.name, faults[id(call)]) for call in calls if id(call) in faults]
        words = f"{len(calls) - len(wrong)} of {len(calls)} calls are valid"
        if wrong:
            kinds = Counter(kind.replace("_", " ") for _, (kind, _) in wrong)
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            words = f"{words}; {counts}; first: {wrong[0][0]}: {wrong[0][1][1]}"
        return 1 - len(wrong) / len(calls), words


# How far the calls are those of the reference, arguments and order included.
#
# Calls are paired with the reference's calls, each once, so that as many as possible are paired in the order of its
# DAG; equal means same tool and same arguments by the schema (defaults filled in, 1 = 1.0, True is not 1). Calls that
# count: all but those refused by the step limit and the *neutral* ones, which are allowed reads that the reference does
# not make and that were not made before since the last write. A repeated read is redundant and counts.

_NO_REFERENCE = "the case has no reference"


class CallMatch:
    """F1 of `call_precision` and `call_recall`: 2 x paired / (calls that count + reference calls); 0 to 1.

    None without a reference; with an empty one 1 if no call counts, else 0.
    """

    name: ClassVar[str] = "call_match"
    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset({"arguments"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = align(evidence)
        if found is None:
            return None, _NO_REFERENCE
        if not found.needed and not found.counted:
            return 1.0, "no call was needed, and none that counts was made"
        words = f"precision {found.paired}/{found.counted}, recall {found.paired}/{found.needed}"
        words += _missing_tools_text(found) + _bound(found)
        return 2 * found.paired / (found.counted + found.needed), words


class CallPrecision:
    """Calls paired with the reference / calls that count; 0 to 1.

    None without a reference and if no call counts.
    """

    name: ClassVar[str] = "call_precision"
    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset({"arguments"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = align(evidence)
        if found is None:
            return None, _NO_REFERENCE
        if not found.counted:
            return None, "no call that counts was made"
        words = f"{found.paired} of {found.counted} calls are the reference's{_bound(found)}"
        return found.paired / found.counted, words


class CallRecall:
    """Calls paired with the reference / calls of the reference; 0 to 1.

    None without a reference and with an empty one.
    """

    name: ClassVar[str] = "call_recall"
    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset({"arguments"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = align(evidence)
        if found is None:
            return None, _NO_REFERENCE
        if not found.needed:
            return None, "the reference has no call"
        words = f"{found.paired} of {found.needed} reference calls were made{_missing_tools_text(found)}{_bound(found)}"
        return found.paired / found.needed, words


def _missing_tools_text(found: Alignment) -> str:
    return f"; missing: {', '.join(found.missing)}" if found.missing else ""


def _bound(found: Alignment) -> str:
    return "" if found.exact else "; at least: the search was cut short"


class EffectMatch:
    """1 if the writes that the agent made are those of the reference, in the order of its DAG; else 0.

    A write is a call of a tool that is declared as one and that was not answered with an error: a rejected call changed
    nothing. A hand-over to a person (by its tool's name) is not a write: require it by `required_tools`. Reads are
    neutral on both sides, however many: which way was taken is for `call_match`. One write too many spoils it, and so
    does the right one made twice, except directly after itself if the tool's listing says `idempotentHint`. Equal:
    same tool and same arguments by the schema (defaults filled in, 1 = 1.0, unordered arrays as bags, volatile
    arguments left out), or what surely comes to the same (see `comparing.same_effect`): identifiers in another order,
    parallel lists in another order, undeclared members of nested objects. A reference without writes asks that nothing
    be changed.

    None without a reference; if a tool of the reference, or of a call that was not refused, is not declared, because
    its effect is unknown; if the benchmark that the case was imported from judges by other things than the state
    that the reference leaves; and if the order was too wide to be searched to the end. Not seen: whether the
    reference's own writes would have worked, and other writes that come to the same.
    """

    name: ClassVar[str] = "effect_match"
    version: ClassVar[str] = "4"
    reads: ClassVar[frozenset[Content]] = frozenset({"arguments"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        reference = evidence.case.reference
        if reference is None:
            return None, "the case has no reference"
        if not judged_by_state(evidence.case.expected):
            return None, "the benchmark judges by other things than what the reference leaves: it is one way of several"
        tools = {tool.name: tool for tool in evidence.tools}
        done = [act for act in read(evidence).acts if not act.failed]
        unknown = {call.tool for call in reference} | {act.call.name for act in done}
        unknown -= tools.keys()
        if unknown:
            return None, f"nobody declares whether {', '.join(sorted(unknown))} writes"
        wanted = list(_writes_of(reference, tools))
        keys = [call_key(tools[call.tool], call.tool, call.arguments) for call in wanted]
        made = _writes_without_repeats([act for act in done if _changes(act.tool)], Counter(keys))
        return _score_and_reason(wanted, keys, _as_wanted(wanted, keys, made))


def _as_wanted(wanted: Sequence[ReferenceCall], keys: Sequence[str], made: Sequence[Act]) -> list[str]:
    """The keys of the writes, if a write with the same effect as one of the reference gets the reference's key."""
    own = [act.key for act in made]
    missing, extra = Counter(keys) - Counter(own), Counter(own) - Counter(keys)
    for call, key in zip(wanted, keys, strict=True):
        for place, act in enumerate(made if missing[key] else ()):
            if extra[own[place]] and act.call.name == call.tool and _performs(call, act):
                extra[own[place]] -= 1
                missing[key] -= 1
                own[place] = key
                break
    return own


def _performs(call: ReferenceCall, act: Act) -> bool:
    return act.tool is not None and same_effect(call.arguments, act.call.arguments or {}, act.tool.parameters)


def _score_and_reason(
    wanted: Sequence[ReferenceCall], keys: Sequence[str], made: Sequence[str]
) -> tuple[float | None, str]:
    missing, extra = Counter(keys) - Counter(made), Counter(made) - Counter(keys)
    if missing or extra:
        parts = ((missing, "missing"), (extra, "not the reference's"))
        sides = [
            f"{words}: {', '.join(shortened(key, 120, '…') for key in sorted(some.elements()))}"
            for some, words in parts
            if some
        ]
        return 0.0, "; ".join(sides)
    found = match_calls(wanted, keys, made)
    if len(found.pairs) == len(wanted):
        return 1.0, f"the {len(wanted)} writes of the reference and no other" if wanted else "nothing was changed"
    if not found.exact:
        return None, "the right writes; whether in an order that the reference allows was too wide to be searched"
    return 0.0, "the right writes in an order that the reference does not allow"


def _writes_of(reference: Sequence[ReferenceCall], tools: dict[str, ToolSpec]) -> Iterator[ReferenceCall]:
    """The writes alone, each after the writes that it had to come after, be it by way of reads."""
    behind: dict[str, frozenset[str]] = {}
    for call in reference:
        before = frozenset[str]().union(*(behind[name] for name in call.after))
        is_write = _changes(tools[call.tool])
        behind[call.id] = frozenset({call.id}) if is_write else before
        if is_write:
            yield call if before == {*call.after} else call.model_copy(update={"after": tuple(sorted(before))})


def _writes_without_repeats(writes: Sequence[Act], wanted: Counter[str]) -> list[Act]:
    """The writes without idempotent ones made again at once, past what the reference makes of them."""
    kept: list[Act] = []
    made: Counter[str] = Counter()
    for act in writes:
        again = bool(kept) and kept[-1].key == act.key and made[act.key] >= wanted[act.key]
        if not (again and act.tool is not None and _is_idempotent(act.tool)):
            kept.append(act)
            made[act.key] += 1
    return kept


def _changes(tool: ToolSpec | None) -> bool:
    return tool is not None and tool.effect == "write" and not is_hand_over(tool.name)


def _is_idempotent(tool: ToolSpec) -> bool:
    annotations = tool.listed.get("annotations")
    return isinstance(annotations, dict) and annotations.get("idempotentHint") is True


_REROUTED = 0.5


class Routing:
    """Mean over the user's turns that a route of the case names; 0 to 1.

    A turn is 1 if exactly the expected sub-agents acted, 0.5 if all of them acted and so did another (the turn
    was rerouted, or passed on needlessly), and 0 if an expected one did not act. If no sub-agent is expected, a
    turn is 1 without any and else 0. A sub-agent acts by a reply of its model or a call; its name is that of its span,
    or `<agent>/<n>` if the program sends none. The main agent is the one that sends the first model request.
    Excluded: turns that no route names, and routes whose turn never came. None if the case has no route, and if
    no turn is left.
    """

    name: ClassVar[str] = "routing"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"messages"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        routes = evidence.case.routes
        if not routes:
            return None, "the case has no routes"
        turns = list(_turns(evidence.trial.trajectory.steps, evidence.trial.trajectory.agent))
        routed = [(turn, route) for turn in turns if (route := _route_of(turn, routes)) is not None]
        if not routed:
            return None, "no turn of the conversation is one that the case's routes name"
        values = [_turn_score(set(route.agents), set(turn.acted)) for turn, route in routed]
        words = f"{values.count(1.0)} of {len(routed)} turns went to the expected agents only"
        rerouted = values.count(_REROUTED)
        words += f", {rerouted} rerouted" if rerouted else ""
        wrong = [_explanation(turn, route) for (turn, route), value in zip(routed, values, strict=True) if value < 1]
        return sum(values) / len(values), "; ".join([words, *wrong])


@dataclass(frozen=True, kw_only=True)
class _Turn:
    number: int
    message: str
    acted: tuple[str, ...]
    """Sub-agents in the order in which they first acted."""


def _turns(steps: Sequence[Step], agent: str) -> Iterator[_Turn]:
    first = next((step.agent for step in steps if step.source == "agent" and step.model is not None), None)
    main = {agent, first, None}
    number, message = 0, ""
    acted: dict[str, None] = {}
    for step in steps:
        if step.source == "user":
            if number:
                yield _Turn(number=number, message=message, acted=tuple(acted))
            number, message, acted = number + 1, step.message or "", {}
        elif step.source == "agent" and step.agent is not None and step.agent not in main:
            acted[step.agent] = None
    if number:
        yield _Turn(number=number, message=message, acted=tuple(acted))


def _route_of(turn: _Turn, routes: Sequence[Route]) -> Route | None:
    return next((route for route in routes if route.fits(turn.number, turn.message)), None)


def _turn_score(expected: set[str], acted: set[str]) -> float:
    if not expected:
        return 0.0 if acted else 1.0
    if not expected <= acted:
        return 0.0
    return 1.0 if expected == acted else _REROUTED


def _explanation(turn: _Turn, route: Route) -> str:
    expected, acted = ", ".join(sorted(route.agents)) or "none", ", ".join(turn.acted) or "none"
    return f"turn {turn.number}: expected {expected}, acted {acted}"
