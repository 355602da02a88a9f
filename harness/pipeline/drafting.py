"""A failed trial as the draft of a case: what was asked, what failed, and half as much again as it used."""

import hashlib
import math
import re

from harness.case import Case, CheckSpec, Limits, Suite
from harness.frozen import Frozen
from harness.score import Scorecard
from harness.score.verifiers.reward import REWARD
from harness.trace import Trial

PREFIX = "prod-regression-"
TAG = "regression"
ROOM = 1.5
"""How much of what the trial used the case allows."""
LEAST_SECONDS = 10
"""A limit of less would tell how busy the machine is, not how good the agent."""
_LONGEST_S = 86_400
_SHOWN = 300
_HEX = re.compile(r"[0-9a-fA-F]{8,}")


class Draft(Frozen):
    """The case, and what somebody should know who takes it over."""

    case: Case
    notes: tuple[str, ...] = ()


def draft(source: Case, trial: Trial, card: Scorecard, suite: Suite, origin: str) -> Draft:
    """The case for `suite`. Its reference is the source case's own, if any: the failed calls are no example.

    What the suite does not have (tools, fixture packs) is left out, and noted.
    """
    notes: list[str] = []
    fitted = _fitted(source, suite, notes)
    checks = tuple(check for check in source.checks if check.verifier != REWARD)
    if not checks and not suite.checks and source.expected_output is not None:
        checks = (CheckSpec(name="answer", verifier="final_answer"),)
    if not checks and not suite.checks:
        notes.append("it has no check yet: write one, or an agent cannot pass it")
    if card.success:
        notes.append("the trial succeeded: the case keeps it so, it does not show a failure")
    case = fitted.model_copy(
        update={
            "id": regression_id(trial.trajectory.trace_id),
            "description": _description(source, card, origin),
            "checks": checks,
            "limits": limits_for(source.limits, trial),
            "tags": tuple(dict.fromkeys((*source.tags, TAG))),
            "origin": origin,
        }
    )
    return Draft(case=case, notes=tuple(notes))


def regression_id(trace_id: str) -> str:
    """`prod-regression-` and the first eight digits of the trace's id; of its digest where it is no hexadecimal id."""
    digits = trace_id.replace("-", "")
    # Foreign ids that begin with a word ("run-0001") would all have one beginning.
    return PREFIX + (digits if _HEX.fullmatch(digits) else hashlib.sha256(trace_id.encode()).hexdigest())[:8].lower()


def limits_for(source: Limits, trial: Trial) -> Limits:
    """1.5 times what was used, as far as that is known; a limit that ended the trial stays as it was."""
    used_steps = sum(len(step.calls) for step in trial.trajectory.steps if step.source == "agent")
    duration = trial.duration_s if trial.exit is None else trial.exit.duration_s
    tokens, cost = _spent(trial)
    ended = trial.outcome == "limit_reached"
    found: dict[str, float | int] = {}
    if not (ended and used_steps > source.steps):
        found["steps"] = max(1, math.ceil(ROOM * used_steps))
    if duration is not None and not (trial.exit is not None and trial.exit.timed_out):
        found["seconds"] = min(max(LEAST_SECONDS, math.ceil(ROOM * duration)), _LONGEST_S)
    if tokens and not (ended and source.tokens is not None and tokens >= source.tokens):
        found["tokens"] = math.ceil(ROOM * tokens)
    if cost and not (ended and source.cost_usd is not None and cost >= source.cost_usd):
        found["cost_usd"] = math.ceil(ROOM * cost * 1e6) / 1e6
    return source.model_copy(update=found)


def _spent(trial: Trial) -> tuple[int, float]:
    """Tokens and USD of the model; 0 where nothing tells them."""
    if trial.model_use is not None:
        use = trial.model_use
        return use.input_tokens + use.output_tokens, use.cost_usd or 0.0
    told = [step.usage for step in trial.trajectory.steps if step.usage is not None]
    tokens = sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in told)
    return tokens, sum(usage.cost_usd or 0.0 for usage in told)


def _fitted(source: Case, suite: Suite, notes: list[str]) -> Case:
    """The case without what the suite does not have."""
    known = {tool.name for tool in suite.tools} | {host.tool for host in suite.hosts}

    def kept(field: str, names: tuple[str, ...]) -> tuple[str, ...]:
        gone = [name for name in names if name not in known]
        if gone:
            notes.append(f"{field}: {', '.join(gone)} left out, which suite {suite.name!r} does not have")
        return tuple(name for name in names if name in known)

    reference = source.reference
    if reference is not None and not {call.tool for call in reference} <= known:
        notes.append(f"the reference calls tools that suite {suite.name!r} does not have, and is left out")
        reference = None
    packs = tuple(name for name in source.fixtures if (suite.folder / "fixtures" / f"{name}.yaml").is_file())
    if packs != source.fixtures:
        notes.append("fixture packs that the suite does not have are left out")
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
    """What was asked, what failed, and what the detectors found."""
    failed = [f"{one.check}: {_short(one.reason)}" for one in card.verdicts if one.passed is False]
    parts = [source.description.strip(), f"Drafted from {origin}."]
    if failed:
        parts.append(f"Failed {'; '.join(failed)}.")
    elif card.reason is not None:
        parts.append(f"It ended with {card.outcome}: {_short(card.reason)}.")
    for one in card.diagnoses:
        if one.kind == "failed_without_a_known_mode":
            continue  # it says again what failed
        where = "" if one.origin_step is None else f" from step {one.origin_step}"
        parts.append(f"Diagnosis: {one.failure} ({one.kind}){where}: {_short(one.evidence)}.")
    return " ".join(part for part in parts if part)


def _short(text: str) -> str:
    plain = " ".join(text.split()).rstrip(".")
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 3] + "..."
