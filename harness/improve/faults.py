"""Fault campaigns: every error of every tool at every step of a passing trial, one at a time.

Each case that the agent passes is run again once for each of its calls and each kind of error. What the agent makes of
the error is its recovery: whether the case still succeeds.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from harness.errors import NotMeasured
from harness.runs.execution.variants import VariantRequest, open_variants
from harness.runs.plan.plan import RunPlan
from harness.scoring.evidence import fed_calls
from harness.scoring.statistics.intervals import wilson
from harness.suite.cases import Case, FaultSpec
from harness.suite.interventions import FedCall, Intervention, TrialVariant
from harness.traces.trial import Trial
from harness.values import Frozen

ERRORS: tuple[tuple[str, dict[str, object]], ...] = (
    ("timeout", {"kind": "timeout"}),
    ("reset", {"kind": "reset"}),
    ("429", {"kind": "http_status", "status": 429}),
    ("503", {"kind": "http_status", "status": 503}),
    ("empty", {"kind": "empty"}),
    ("malformed", {"kind": "malformed"}),
    ("latency", {"kind": "latency", "seconds": 1.0}),
)
"""The errors of a campaign by name. A timeout is reported at once: waiting for it would show no more."""
_MOST_FIELDS = 12
"""Of one answer; more are rows by their keys rather than fields."""
MISSING_FIELD = "missing field"
"""The error of an answer that lacks one of its outermost fields, each in turn. A renamed field is a missing one too."""


class RecoveryFigures(Frozen):
    """What the agent made of errors."""

    faults: int = 0
    """Trials in which the error was met."""
    recovered: int = 0
    """Of these, trials that succeeded all the same."""
    low: float | None = None
    high: float | None = None
    """Wilson's 95 % interval of the share; None: no error was met."""

    @property
    def rate(self) -> float | None:
        """recovered / faults; None if no error was met."""
        return self.recovered / self.faults if self.faults else None


class CampaignReport(Frozen):
    """The answer of `harness run --faults all`."""

    suite: str
    agent: str
    run: str
    """The run folder of the trials, as other verbs take it."""
    total: RecoveryFigures
    tools: dict[str, RecoveryFigures]
    """By tool, the one that the agent recovers from least first."""
    errors: dict[str, RecoveryFigures]
    lost: tuple[str, ...]
    """Trials that failed, in words."""
    unmet: int
    """Faults that no call met: the agent went another way before."""
    not_passed: tuple[str, ...]
    """Cases that the agent fails without any fault."""


@dataclass(frozen=True, kw_only=True)
class _Strike:
    case: Case
    tool: str
    error: str
    step: int
    words: str
    variant: TrialVariant


def run_campaign(plan: RunPlan, say: Callable[[str], None] = lambda _: None) -> CampaignReport:
    """Runs the campaign over the planned cases. Raises NotMeasured if the agent passes none of them."""
    chosen = {one.case_id for one in plan.planned}
    cases = [case for case in plan.suite.cases if case.id in chosen]
    with open_variants(plan, say) as bench:
        plain = bench.run([VariantRequest(case=case) for case in cases])
        passed = [(one.request.case, one.scored.trial) for one in plain if one.success]
        strikes = [strike for case, trial in passed for strike in _strikes_in(case, trial)]
        if not strikes:
            raise NotMeasured(
                f"there is no call to strike: the agent passes {len(passed)} of {len(cases)} cases",
                remedy=f"harness run {plan.suite.name} shows why the others fail",
            )
        say(f"{len(passed)} of {len(cases)} cases pass; {len(strikes)} faults, one a trial")
        results = bench.run([VariantRequest(case=one.case, variant=one.variant) for one in strikes])
        folder = bench.keep(results, plan.name)
    met = [
        (one, result)
        for one, result in zip(strikes, results, strict=True)
        if not result.scored.trial.unfired_faults and result.success is not None
    ]
    ends = [(strike.tool, strike.error, bool(result.success)) for strike, result in met]
    tools = {name: _recovery([end for tool, _, end in ends if tool == name]) for name, _, _ in ends}
    return CampaignReport(
        suite=plan.suite.name,
        agent=plan.agent or plan.suite.default_agent or "",
        run=f"{folder.path.parent.name}/{folder.path.name}",
        total=_recovery([end for _, _, end in ends]),
        tools=dict(sorted(tools.items(), key=lambda pair: (pair[1].rate or 0.0, pair[0]))),
        errors={
            name: _recovery([end for _, error, end in ends if error == name])
            for name in (*(name for name, _ in ERRORS), MISSING_FIELD)
        },
        lost=tuple(f"{one.case.id} step {one.step}: {one.words} at {one.tool}" for one, r in met if not r.success),
        unmet=len(strikes) - len(met),
        not_passed=tuple(sorted(chosen - {case.id for case, _ in passed})),
    )


def _strikes_in(case: Case, trial: Trial) -> list[_Strike]:
    made: dict[str, int] = {}
    found: list[_Strike] = []
    for call in fed_calls(trial):
        made[call.tool] = made.get(call.tool, 0) + 1
        for name, words, fault in _errors(call):
            spec = FaultSpec.model_validate({"tool": call.tool, "call": made[call.tool], **fault})
            intervention = Intervention(step=call.step, words=spec.words, faults=(spec,))
            variant = TrialVariant(interventions=(intervention,))
            found.append(_Strike(case=case, tool=call.tool, error=name, step=call.step, words=words, variant=variant))
    return found


def _errors(call: FedCall) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Name, words and fault of each error that the call can meet."""
    yield from ((name, name, fault) for name, fault in ERRORS)
    if call.error is None:
        for field in _fields(call.content):
            yield MISSING_FIELD, f"{MISSING_FIELD} {field}", {"kind": "missing_field", "at": field}


def _fields(content: JsonValue) -> list[str]:
    """JSON pointers to the outermost fields of an answer; of a list, to those of its items."""
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            return []
    rows = content if isinstance(content, list) else [content]
    names = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row if name)
    start = "/*/" if isinstance(content, list) else "/"
    return [start + name.replace("~", "~0").replace("/", "~1") for name in list(names)[:_MOST_FIELDS]]


def _recovery(own: Sequence[bool]) -> RecoveryFigures:
    interval = wilson(sum(own) / len(own), len(own)) if own else None
    return RecoveryFigures(
        faults=len(own),
        recovered=sum(own),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )
