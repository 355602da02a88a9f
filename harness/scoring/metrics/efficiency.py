"""What a trial used: steps, turns, repeated calls, tokens and cost."""

from typing import ClassVar

from harness.scoring.evidence import Evidence, calls_of
from harness.scoring.findings.reading import Act, read
from harness.scoring.tool_use import decisions
from harness.traces.trajectory import Content, Usage


class Steps:
    """Decisions in which tools were called: a model's reply with all its parallel calls, or one call; a count.

    Its mean by category and over the run is the mean number of steps a task takes. Nothing is excluded and it is never
    unknown: none is 0.
    """

    name: ClassVar[str] = "steps"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        steps = decisions(evidence)
        return float(len(steps)), f"{len(steps)} steps, {len(calls_of(evidence))} calls"


class Turns:
    """Times that the agent spoke to the user: steps of the agent with a message and without a call; a count.

    A message beside calls is a remark, not a turn, and what a sub-agent says is received by its caller alone. None if
    there was neither a message nor an answer.
    """

    name: ClassVar[str] = "turns"
    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset({"answer", "messages"})
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        steps = evidence.trial.trajectory.steps
        spoken = sum(
            step.source == "agent" and step.parent is None and step.message is not None and not step.calls
            for step in steps
        )
        if not spoken and not evidence.answered:
            return None, "the agent said nothing"
        return float(max(spoken, 1)), f"{max(spoken, 1)} messages to the user"


class StepEfficiency:
    """Calls of the reference / calls that were made; a ratio that may exceed 1, if the agent needed fewer.

    If the reference is empty: 1 if no call was made, else 0. Refused calls count too. None without a reference, if a
    check failed (giving up early is not efficient), and if no call was made though the reference has some.
    """

    name: ClassVar[str] = "step_efficiency"
    version: ClassVar[str] = "3"
    reads: ClassVar[frozenset[Content]] = frozenset()

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        if evidence.case.reference is None:
            return None, "the case has no reference"
        if evidence.success is False:
            return None, "the task was not done, so that its length says nothing"
        needed, made = len(evidence.case.reference), len(calls_of(evidence))
        words = f"{needed} calls needed, {made} made"
        if not needed:
            return (0.0 if made else 1.0), words
        return (needed / made if made else None), words


class Redundancy:
    """Redundant calls / calls made; share, 0 to 1, less being better.

    Redundant: the very same call (tool and arguments by the schema) was made before, no call of a writing tool that
    succeeded was made in between, and the answer is the same again: nothing could be learned and nothing was changed. A
    write made again is redundant only if both were refused alike. Excluded: calls refused by the step limit and,
    if the gateway observed any call, self-reported calls. None if no call was made.
    """

    name: ClassVar[str] = "redundancy"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"arguments", "results"})
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        evidence = evidence.credited
        calls = evidence.made_calls
        if not calls:
            return None, "no call was made"
        made = {id(call) for call in calls}
        latest: dict[str, Act] = {}
        redundant = 0
        for act in read(evidence).acts:
            if id(act.call) not in made:
                continue
            before = latest.get(act.key)
            redundant += before is not None and before.answer == act.answer
            if act.writes and not act.failed:
                latest.clear()
            else:
                latest[act.key] = act
        return redundant / len(calls), f"{redundant} of {len(calls)} calls repeat an earlier one to no purpose"


class Tokens:
    """Input and output tokens of all model replies; a count, less being better.

    None if no reply reported its tokens; replies without a report are left out, and the explanation gives their
    number.
    """

    name: ClassVar[str] = "tokens"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        used = [_tokens(usage) for usage in _usages(evidence)]
        known = [tokens for tokens in used if tokens is not None]
        if not known:
            return None, "no model reply told its tokens"
        return float(sum(known)), f"{sum(known)} tokens in {len(known)} of {len(used)} replies"


class CostUsd:
    """Cost of all model replies, US dollars, less being better. None if no reply's cost is known."""

    name: ClassVar[str] = "cost_usd"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        usages = _usages(evidence)
        costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
        if not costs:
            return None, "no model reply's cost is known"
        return sum(costs), f"{len(costs)} of {len(usages)} replies have a known cost"


def _usages(evidence: Evidence) -> list[Usage]:
    return [step.usage for step in evidence.trial.trajectory.steps if step.usage is not None]


def _tokens(usage: Usage) -> int | None:
    known = [part for part in (usage.input_tokens, usage.output_tokens) if part is not None]
    return sum(known) if known else None
