"""Checks of the calls: against the reference, required and forbidden tools, the budget, declared rules of the process,
a failure mode that was diagnosed before.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from harness.scoring.arguments import call_key, compared_arguments, key_of, keys_of_variants
from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import diagnose
from harness.scoring.json_values import differences, equality_key
from harness.scoring.metrics.efficiency import Tokens
from harness.scoring.reference_calls import match_calls, neutral_calls
from harness.scoring.rules.events import EVENTS, row_of
from harness.scoring.rules.language import parsed_rule
from harness.scoring.scorecard import Failure, Kind, OwnKind
from harness.suite.cases import Case, ReferenceCall
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Content, ToolCall
from harness.values import Frozen, JsonObject

# Compares the calls with the reference, in one of six modes, with partial credit.
#
# Argument equality is the schema's (defaults filled in, 1 = 1.0, True is not 1), each call is paired with at most one
# reference call, and the number of pairs is maximal: no call counts twice, an empty call matches no call with
# arguments, and arguments that are not JSON are a wrong call, not an error of the check.

Mode = Literal["strict", "ordered", "unordered", "subset", "superset", "dag"]
Extra = Literal["none", "neutral", "any"]


class TrajectoryVerifier(Frozen):
    """The calls against the case's reference, or against `calls`.

    `strict`: these calls in this order, nothing else; parallel calls that no gateway saw may be in any order.
    `ordered`: these calls in this order. `unordered`: these calls in any order, nothing else. `superset`: these calls
    in any order. `dag`: these calls in the order that their `after` demands. `subset`: no call but these, and at least
    one if there is any. `extra` sets which other calls are allowed: nothing (`none`: strict, unordered, subset),
    looking around (`neutral`: ordered, superset, dag), or anything (`any`). Looking around is an allowed reading tool
    that the reference does not call, without repeated calls between two writes; a loop does not count.

    The credit is 2 x pairs / (calls that count + reference calls), for `subset` pairs / calls that count. The check
    passes if everything holds, or if the credit reaches `at_least`.
    """

    version: ClassVar[str] = "2"

    mode: Mode = "dag"
    """The required order, and whether other calls are allowed."""
    calls: tuple[ReferenceCall, ...] | None = None
    """None: the case's reference."""
    arguments: Literal["schema", "ignore"] = "schema"
    """`schema`: arguments must be equal as their schema reads them; `ignore`: names of tools alone are compared."""
    only: dict[str, tuple[str, ...]] = {}
    """Tool -> the arguments that matter; the others of that tool are not compared."""
    extra: Extra | None = None
    """Which other calls are allowed; None selects the mode's default."""
    at_least: float = Field(default=1.0, gt=0, le=1)
    """The credit from which on the check passes; 0 to 1."""

    @property
    def reads(self) -> frozenset[Content]:
        """None if names of tools alone are compared."""
        return frozenset() if self.arguments == "ignore" else frozenset({"arguments"})

    @model_validator(mode="after")
    def _calls_are_a_dag(self) -> "TrajectoryVerifier":
        if self.calls is not None:
            Case(id="check", task="check", reference=self.calls)  # refuses what a case would be refused for
        return self

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        known = {tool.name for tool in suite.tools}
        named = {call.tool for call in self.calls or ()} | set(self.only)
        unknown = sorted(named - known)
        return f"with: {', '.join(unknown)} is none of the suite's tools" if unknown and known else None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        reference = self.calls if self.calls is not None else evidence.case.reference
        if reference is None:
            return None, "neither the check nor the case has reference calls", {}
        tools = {tool.name: tool for tool in evidence.tools}
        key = partial(self._key, tools)
        wanted = [key(call.tool, call.arguments) for call in reference]
        same = keys_of_variants(reference, key)
        made = self._made_keys(evidence, wanted, tools, same)
        places = [place for place, counts in enumerate(self._counts(evidence, made, wanted)) if counts]
        pairs = self._paired_calls(reference, wanted, [made[place] for place in places])
        paired = len(pairs)
        others = 0 if self._allows == "any" else len(places) - paired
        credit = self._credit(paired, others, len(wanted))
        complete = paired == len(wanted) or (self.mode == "subset" and paired > 0)
        passed = (complete and not others) or credit >= self.at_least
        words = f"{paired} of {len(wanted)} reference calls paired ({self.mode}), {others} others"
        if not passed:
            free = [place for index, place in enumerate(places) if index not in pairs.values()]
            words += f"; {self._first_difference(evidence, reference, pairs.keys(), free)}"
        return passed, words, {"credit": credit, "paired": paired, "needed": len(wanted), "others": others}

    def _first_difference(
        self, evidence: Evidence, reference: Sequence[ReferenceCall], paired: Collection[int], free: Sequence[int]
    ) -> str:
        """The first reference call without a pair, and what is wrong with the call that is most like it."""
        made = evidence.made_calls
        missing = next((call for place, call in enumerate(reference) if place not in paired), None)
        if missing is None or (self.mode == "subset" and free):
            return f"call {free[0] + 1} ({made[free[0]].name}) is none of the reference" if free else "no call was made"
        name = f"the reference call {missing.id!r} ({missing.tool})"
        tools = {tool.name: tool for tool in evidence.tools}
        near = [
            (self._unlike(tools, missing, made[place]), place) for place in free if made[place].name == missing.tool
        ]
        if not near:
            return f"{name} has no counterpart"
        unlike, place = min(near, key=lambda one: (len(one[0]), one[1]))
        return f"{name} and call {place + 1}: {unlike[0] if unlike else 'it was made out of order'}"

    def _unlike(self, tools: Mapping[str, ToolSpec], wanted: ReferenceCall, made: ToolCall) -> list[str]:
        """In words each argument that differs."""
        if made.arguments is None:
            return ["the arguments are not a JSON object"]
        if self.arguments == "ignore":
            return []
        tool = tools.get(made.name)
        found = compared_arguments(tool, self._kept(made.name, made.arguments))
        ways = [compared_arguments(tool, self._kept(made.name, arguments)) for arguments in wanted.variants]
        return min((_differing(found, expected) for expected in ways), key=len)

    @property
    def _allows(self) -> Extra:
        if self.extra is not None:
            return self.extra
        return "neutral" if self.mode in ("ordered", "superset", "dag") else "none"

    def _credit(self, paired: int, others: int, needed: int) -> float:
        if self.mode == "subset":
            return paired / (paired + others) if paired + others else float(not needed)
        return 2 * paired / (2 * paired + others + needed - paired) if paired + others + needed else 1.0

    def _paired_calls(
        self, reference: Sequence[ReferenceCall], wanted: Sequence[str], made: Sequence[str]
    ) -> dict[int, int]:
        """Place of a reference call -> place of the call that is paired with it."""
        if self.mode in ("strict", "ordered"):
            return {int(name): place for name, place in match_calls(_chained(reference), wanted, made).pairs.items()}
        if self.mode == "dag":
            places = {call.id: place for place, call in enumerate(reference)}
            return {places[name]: place for name, place in match_calls(reference, wanted, made).pairs.items()}
        free: dict[str, list[int]] = {}
        for place in reversed(range(len(made))):
            free.setdefault(made[place], []).append(place)
        return {index: free[key].pop() for index, key in enumerate(wanted) if free.get(key)}

    def _counts(self, evidence: Evidence, made: Sequence[str], wanted: Sequence[str]) -> list[bool]:
        """For each call whether it counts."""
        if self._allows == "none":
            return [True] * len(made)
        asked = set(wanted)
        neutral = neutral_calls(evidence) if self._allows == "neutral" else frozenset(range(len(made)))
        return [key in asked or place not in neutral for place, key in enumerate(made)]

    def _made_keys(
        self, evidence: Evidence, wanted: Sequence[str], tools: Mapping[str, ToolSpec], same: Mapping[str, str]
    ) -> list[str]:
        made = {id(call) for call in evidence.made_calls}
        keys: list[str] = []
        for step in evidence.trial.trajectory.steps:
            written = [self._key(tools, call.name, call.arguments, call) for call in step.calls if id(call) in made]
            own = [same.get(key, key) for key in written]
            window = list(wanted[len(keys) : len(keys) + len(own)])
            # What the gateway observed has the order in which it crossed, also within a reply.
            has_order = len(own) < 2 or any(call.evidence == "observed" for call in step.calls)
            keys += own if has_order or Counter(own) != Counter(window) else window
        return keys

    def _key(
        self, tools: Mapping[str, ToolSpec], name: str, arguments: JsonObject | None, made: ToolCall | None = None
    ) -> str:
        if self.arguments == "ignore":
            return name
        if arguments is None:
            assert made is not None
            return key_of(made, {})
        return call_key(tools.get(name), name, self._kept(name, arguments))

    def _kept(self, name: str, arguments: JsonObject) -> JsonObject:
        """The arguments that matter by `only`."""
        kept = self.only.get(name)
        return arguments if kept is None else {key: value for key, value in arguments.items() if key in kept}


def _differing(found: JsonObject, expected: JsonObject) -> list[str]:
    inner = [(one.argument, one.found, one.expected) for one in differences(expected, found)]
    outer = [
        (name, found.get(name), expected.get(name))
        for name in dict.fromkeys([*expected, *found])
        if equality_key(found.get(name)) != equality_key(expected.get(name)) or (name in found) != (name in expected)
    ]
    return [f"{name} is {_short(got)}, not {_short(wanted)}" for name, got, wanted in inner or outer]


def _short(value: JsonValue, most: int = 160) -> str:
    text = equality_key(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _chained(reference: Sequence[ReferenceCall]) -> list[ReferenceCall]:
    """The same calls, each after the previous one."""
    return [
        ReferenceCall(id=str(place), tool=call.tool, after=(str(place - 1),) if place else ())
        for place, call in enumerate(reference)
    ]


# The tools that had to be called were, and those that must not be were not.


class _NamedTools(Frozen):
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()

    tools: tuple[str, ...] | None = None
    """None: the case's."""

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        known = {tool.name for tool in suite.tools}
        unknown = sorted(set(self.tools or ()) - known)
        return f"with.tools: {', '.join(unknown)} is none of the suite's tools" if unknown and known else None


class RequiredTools(_NamedTools):
    """Each of `tools`, or of the case's `required_tools`, was called; with `answered`, once without an error.

    Calls that the step limit rejected do not count. Without a required tool the check is undecided.
    """

    answered: bool = False
    """Whether a call counts only if it was answered without an error."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        wanted = evidence.case.required_tools if self.tools is None else self.tools
        if not wanted:
            return None, "neither the check nor the case requires a tool", {}
        seen = evidence.trial.trajectory.observations
        good = {
            call.name
            for call in evidence.made_calls
            if not self.answered or (call.id in seen and seen[call.id].error is None)
        }
        missing = sorted(set(wanted) - good)
        how = "answered without an error" if self.answered else "called"
        return not missing, f"never {how}: {', '.join(missing)}" if missing else f"all were {how}", {}


class ForbiddenTools(_NamedTools):
    """None of `tools`, or of the case's `forbidden_tools`, was called, whatever came back.

    Without a forbidden tool the check is undecided.
    """

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        unwanted = evidence.case.forbidden_tools if self.tools is None else self.tools
        if not unwanted:
            return None, "neither the check nor the case forbids a tool", {}
        called = sorted({call.name for call in evidence.trial.trajectory.calls} & set(unwanted))
        return not called, f"called: {', '.join(called)}" if called else "none was called", {}


class MaxTokens(Frozen):
    """Input and output tokens of all model replies, at most `limit` or the case's `limits.tokens`.

    The gateway's counts are used: if a reply did not report its tokens, they are estimated from its length, and a
    trial without model replies used none. For an imported trial, only the reported tokens are known. Without a limit,
    or if an imported trial reports none, the check is undecided.
    """

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

    limit: int | None = Field(default=None, gt=0)
    """The most tokens that pass; None: the case's `limits.tokens`."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        limit = evidence.case.limits.tokens if self.limit is None else self.limit
        used, why = _tokens(evidence)
        if limit is None:
            return None, "neither the check nor the case has a limit of tokens", {}
        if used is None:
            return None, why, {}
        return used <= limit, f"{used:.0f} of {limit} tokens", {"tokens": used}


class MaxIterations(Frozen):
    """Decisions of the agent, at most `limit` or the case's `limits.steps`.

    A decision is a model's reply with all its parallel calls; if no model is seen, a call or a reply to the user.
    """

    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()

    limit: int | None = Field(default=None, gt=0)
    """The most decisions that pass; None: the case's `limits.steps`."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        limit = evidence.case.limits.steps if self.limit is None else self.limit
        steps = [step for step in evidence.trial.trajectory.steps if step.source == "agent" and step.asked_in is None]
        made = sum(bool(step.calls) or step.message is not None or step.model is not None for step in steps)
        return made <= limit, f"{made} of {limit} iterations", {"iterations": made}


def _tokens(evidence: Evidence) -> tuple[float | None, str]:
    """The gateway's count, else the count from the trajectory."""
    trial = evidence.trial
    if trial.model_use is not None:
        return float(trial.model_use.input_tokens + trial.model_use.output_tokens), "as the gateway counted"
    used, why = Tokens().measure(evidence)
    if used is None and trial.exit is not None:  # we ran it, and no model replied
        return 0.0, "no model replied"
    return used, why


class NoFailure(Frozen):
    """No fact shows `failure` in the trajectory; `kinds` names its kinds that count (empty: all).

    Facts are searched for without the other checks' verdicts, so that the same trajectory always gives the same answer.
    """

    version: ClassVar[str] = "1"

    failure: Failure
    """The failure that must not be found."""
    kinds: tuple[Kind | OwnKind, ...] = ()
    """Kinds of that failure that count; empty: all."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        found = [
            one
            for one in diagnose(evidence)
            if one.failure == self.failure and (not self.kinds or one.kind in self.kinds)
        ]
        if not found:
            return True, f"no {self.failure} was found", {}
        first = found[0]
        where = "" if first.origin_step is None else f" from step {first.origin_step}"
        return False, f"{first.kind}{where}: {first.evidence}", {"found": [one.kind for one in found]}


class Rules(Frozen):
    """`rules` in a short notation, each of which must hold.

    `A before B`: wherever B happens, A has happened earlier (when B never happens it holds). `never A after B`; `never
    A before B`: no A until the first B. `require A`, `require A 2 times`; `A at most 2 times`; `never A`.
    `harness.scoring.rules` lists the events and all forms. The credit is the share of rules that hold.
    """

    version: ClassVar[str] = "6"
    reads: ClassVar[frozenset[Content]] = frozenset({"answer", "messages", "arguments"})

    rules: tuple[str, ...] = Field(min_length=1)
    """Process rules, each a line in the words above; all of them must hold."""

    @field_validator("rules")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            parsed_rule(text)
        return value

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        known = {tool.name for tool in suite.tools} | EVENTS
        for text in self.rules:
            for named in parsed_rule(text).names:
                if not named.only_call and named.name not in known:
                    return (
                        f"with.rules: {text!r} names {named.name!r}, which is neither a tool of the suite nor an event "
                        f"({', '.join(sorted(EVENTS))}); a tool of the agent's own is tool:{named.name}"
                    )
        return None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        row = row_of(evidence)
        kept = {text: parsed_rule(text).kept(row) for text in self.rules}
        broken = {text: one.reason for text, one in kept.items() if one.state == "broken"}
        words = "; ".join(f"{text!r}: {reason}" for text, reason in broken.items())
        credit = 1 - len(broken) / len(kept)
        return not broken, words or f"all {len(kept)} rules hold", {"credit": credit, "broken": [*broken]}
