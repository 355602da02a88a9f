"""Drafts a case from a failed trial: its task, its failed checks, and a check for each diagnosed failure."""

import hashlib
import math
import re
from collections.abc import Collection, Sequence

from harness.case import UNTOLD_TASK, Case, CheckSpec, Limits, Suite
from harness.score import Scorecard
from harness.score.verifiers.reward import REWARD
from harness.trace import Trial
from harness.values import Frozen

PREFIX = "prod-regression-"
TAG = "regression"
NO_FAILURE = "no_failure"
"""The verifier of the checks that are made of diagnoses."""
SUCCEEDED = "the trial succeeded: the case protects this success and shows no failure"
_SHOWN = 300
_HEX = re.compile(r"[0-9a-fA-F]{8,}")


class CaseDraft(Frozen):
    """The case, and notes for the person who adopts it."""

    case: Case
    notes: tuple[str, ...] = ()


def draft(
    source: Case, trial: Trial, card: Scorecard, suite: Suite, origin: str, passing: Sequence[Trial] = ()
) -> CaseDraft:
    """The case for `suite`. Its reference is the source case's own, if any: the failed calls are not a reference.

    `passing`: trials that succeeded at the same task; limits are wide enough for them. What the suite does not have
    (tools, fixture packs) is left out, and noted.
    """
    notes: list[str] = []
    fitted = _fitted(source, suite, notes)
    checks = tuple(check for check in source.checks if check.verifier != REWARD)
    if not checks and not suite.checks and source.expected_output is not None:
        checks = (CheckSpec(name="answer", verifier="final_answer"),)
    checks += _checks_of(card, {check.name for check in (*suite.checks, *checks)})
    if not checks and not suite.checks:
        notes.append("the case has no check yet: add one, else no agent can pass it")
    if card.success:
        notes.append(SUCCEEDED)
    case = fitted.model_copy(
        update={
            "task": _task(source, trial),
            "id": regression_id(trial.trajectory.trace_id),
            "description": _description(source, card, origin),
            "checks": checks,
            "limits": limits_for(source.limits, suite.defaults, passing),
            "tags": tuple(dict.fromkeys((*source.tags, TAG))),
            "origin": origin,
        }
    )
    return CaseDraft(case=case, notes=tuple(notes))


def _task(source: Case, trial: Trial) -> str:
    """The task of the case, else the user's first message."""
    said = (step.message for step in trial.trajectory.steps if step.source == "user")
    return next(filter(None, said), source.task) if source.task == UNTOLD_TASK else source.task


def _checks_of(card: Scorecard, taken: Collection[str]) -> tuple[CheckSpec, ...]:
    """One check for each failure mode that was diagnosed."""
    kinds: dict[str, list[str]] = {}
    for one in card.diagnoses:
        if one.failure != "other":
            kinds.setdefault(one.failure, []).append(one.kind)
    return tuple(
        CheckSpec(
            name=name,
            verifier=NO_FAILURE,
            **{"with": {"failure": failure, "kinds": sorted(set(found))}},
        )
        for failure, found in sorted(kinds.items())
        if (name := f"no_{failure}") not in taken
    )


def regression_id(trace_id: str) -> str:
    """`prod-regression-` and the first eight digits of the trace's id; of its digest where the id is not
    hexadecimal.
    """
    digits = trace_id.replace("-", "")
    # Ids of other programs that begin with a word ("run-0001") would all have the same beginning.
    return PREFIX + (digits if _HEX.fullmatch(digits) else hashlib.sha256(trace_id.encode()).hexdigest())[:8].lower()


def limits_for(source: Limits, suite: Limits, passing: Sequence[Trial]) -> Limits:
    """The case's own limits, or the suite's where the case has none; wider where a trial that passed used more.

    The usage of the failed trial is not considered: a fix may need more than a trial that ended early.
    """
    limits = suite if source == Limits() else source
    found: dict[str, float | int] = {}
    for trial in passing:
        tokens, cost = _spent(trial)
        used: dict[str, float | int | None] = {
            "steps": sum(len(step.calls) for step in trial.trajectory.steps if step.source == "agent"),
            "seconds": trial.duration_s if trial.exit is None else trial.exit.duration_s,
            "tokens": tokens,
            "cost_usd": cost,
        }
        for name, value in used.items():
            limit = found.get(name, getattr(limits, name))
            if value is not None and limit is not None and value > limit:
                found[name] = value if name == "cost_usd" else math.ceil(value)
    return limits.model_copy(update=found)


def _spent(trial: Trial) -> tuple[int, float]:
    """Tokens and USD of the model; 0 where they are unknown."""
    if trial.model_use is not None:
        use = trial.model_use
        return use.input_tokens + use.output_tokens, use.cost_usd or 0.0
    usages = [step.usage for step in trial.trajectory.steps if step.usage is not None]
    tokens = sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in usages)
    return tokens, sum(usage.cost_usd or 0.0 for usage in usages)


def _fitted(source: Case, suite: Suite, notes: list[str]) -> Case:
    """The case without parts that the suite does not have."""
    known = {tool.name for tool in suite.tools} | {host.tool for host in suite.hosts}

    def kept(field: str, names: tuple[str, ...]) -> tuple[str, ...]:
        gone = [name for name in names if name not in known]
        if gone:
            notes.append(f"{field}: {', '.join(gone)} omitted: suite {suite.name!r} does not have it")
        return tuple(name for name in names if name in known)

    reference = source.reference
    if reference is not None and not {call.tool for call in reference} <= known:
        notes.append(f"the reference is omitted: it calls tools that suite {suite.name!r} does not have")
        reference = None
    packs = tuple(name for name in source.fixtures if (suite.folder / "fixtures" / f"{name}.yaml").is_file())
    if packs != source.fixtures:
        notes.append("fixture packs that the suite does not have are omitted")
    return source.model_copy(
        update={
            "tools": None if source.tools is None else kept("tools", source.tools),
            "required_tools": kept("required_tools", source.required_tools),
            "forbidden_tools": kept("forbidden_tools", source.forbidden_tools),
            "reference": reference,
            "fixtures": packs,
            "faults": tuple(fault for fault in source.faults if fault.tool == "*" or fault.tool in known),
        }
    )


def _description(source: Case, card: Scorecard, origin: str) -> str:
    """The task, the failed checks, and the findings of the detectors."""
    failed = [f"{one.check}: {_short(one.reason)}" for one in card.verdicts if one.passed is False]
    parts = [source.description.strip(), f"Drafted from {origin}."]
    if failed:
        parts.append(f"Failed {'; '.join(failed)}.")
    elif card.reason is not None:
        parts.append(f"It ended with {card.outcome}: {_short(card.reason)}.")
    for one in card.diagnoses:
        if one.kind == "failed_without_a_known_mode":
            continue  # it repeats a failed check
        where = "" if one.origin_step is None else f" from step {one.origin_step}"
        parts.append(f"Diagnosis: {one.failure} ({one.kind}){where}: {_short(one.evidence)}.")
    return " ".join(part for part in parts if part)


def _short(text: str) -> str:
    plain = " ".join(text.split()).rstrip(".")
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 3] + "..."
