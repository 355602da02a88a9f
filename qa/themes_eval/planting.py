"""Sessions that fail for a known cause: real trajectories, into which one of twelve causes is planted."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.production.failures import SessionFailure, failures_of_card, failures_of_judgements
from harness.runs.foreign_runs import ImportedRun
from harness.runs.importing import with_rewards
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import Scorer, build_scorer
from harness.scoring.verifiers.answers import REWARD
from harness.traces.formats.found import ImportOptions
from harness.traces.trajectory import (
    Observation,
    Step,
    ToolCall,
    ToolErrorType,
    ToolFailure,
    Trajectory,
    unattributed,
)
from harness.traces.trial import Trial
from qa.converters import imported as import_set
from qa.themes_eval.wordings import Wordings

CRITERIA: Final = {
    "rude": "polite",
    "other_language": "polite",
    "invented_policy": "grounded",
    "wrong_sum": "grounded",
    "needless_transfer": "resolved",
    "not_confirmed": "resolved",
    "no_json": "resolved",
}
BY_RULES: Final = ("timeout", "no_payment", "not_available", "invented_tool", "loop")
CAUSES: Final = (*BY_RULES, *CRITERIA)
HOUR_NS: Final = 3600 * 10**9


class Base(NamedTuple):
    """One real trial that can be scored."""

    trial: Trial
    evidence: Callable[[Trial], Evidence]
    scorer: Scorer
    tool: str
    """The tool that its source calls most often."""


class Planted(NamedTuple):
    """One failed session, its cause, and what the harness says of it."""

    session: str
    cause: str
    failures: list[SessionFailure]


def bases(data: Path, source: str) -> list[Base]:
    """`tau-bench` or `tau2`: the trials with at least one call that the suite's tools answer."""
    found: list[Base] = []
    for run in _runs(data, source):
        suite = with_rewards(run)
        cases = {case.id: case for case in suite.cases}
        scorer = build_scorer(suite)
        usual = Counter(call.name for trial, _ in run.trials for call in trial.trajectory.calls).most_common(1)
        for trial, _ in run.trials:
            case = cases[trial.case_id]

            def evidence(changed: Trial, case: Any = case, tools: Any = suite.tools) -> Evidence:
                return Evidence(case=case, trial=changed, tools=tools)

            reward = run.rewards.get((trial.case_id, trial.attempt))
            if trial.trajectory.calls and reward == 1.0 and trial.outcome == "finished":
                found.append(Base(trial, evidence, scorer, usual[0][0]))
    return found


def _runs(data: Path, source: str) -> Iterator[ImportedRun]:
    if source == "tau-bench":
        folder = data / "taubench"
        tools = ImportOptions(tools=folder / "airline_tools.json")
        yield import_set("tau-bench", folder / "historical_trajectories" / "gpt-4o-airline.json", tools)
        return
    for path in sorted((data / "tau2").glob("*airline*.json")) + sorted((data / "tau2").glob("*retail*.json")):
        yield import_set("tau2", path)


def planted_sessions(
    found: Sequence[Base], wordings: Wordings, count: int, seed: int, *, begin_ns: int = 0
) -> list[Planted]:
    """`count` sessions over seven days, every cause as often."""
    drawn = random.Random(seed)
    return [_planted(found, wordings, number, count, drawn, begin_ns) for number in range(count)]


def _planted(
    found: Sequence[Base], wordings: Wordings, number: int, count: int, drawn: random.Random, begin_ns: int
) -> Planted:
    cause = CAUSES[number % len(CAUSES)]
    base = drawn.choice(found)
    trajectory = unattributed(base.trial.trajectory)
    if cause in BY_RULES:
        trajectory = _changed(trajectory, cause, base.tool, drawn)
    reward = 0.0 if cause in BY_RULES else 1.0
    states = {**base.trial.states, REWARD: reward}
    trial = base.trial.model_copy(update={"attempt": 1, "trajectory": trajectory, "states": states})
    session = f"default:{begin_ns}-{number}"
    received = begin_ns + int(number / count * 7 * 24) * HOUR_NS
    common = SessionFailure(session=session, case="", criterion="", received_ns=received)
    card = base.scorer.score(base.evidence(trial))
    failures = failures_of_card(card, trajectory, common)
    if cause in CRITERIA:
        judgement = _judgement(cause, trajectory, wordings, drawn)
        failures += failures_of_judgements([judgement], card, trajectory, common)
    return Planted(session, cause, failures)


def _judgement(cause: str, trajectory: Trajectory, wordings: Wordings, drawn: random.Random) -> Judgement:
    """Half of the judge's reasons also quote the user, and a third cite a step that has nothing to do with it."""
    users = [step.message for step in trajectory.steps if step.source == "user" and step.message]
    words = " ".join(drawn.choice(users).split()[:4]) if users else "it"
    text = drawn.choice(wordings[cause]).replace("{x}", words)
    if cause != "no_json" and drawn.random() < 0.5 and users:
        text += f' The user said: "{" ".join(drawn.choice(users).split()[:12])}"'
    agents = [step.index for step in trajectory.steps if step.source == "agent"]
    cited = agents[-1] if drawn.random() < 0.67 else drawn.choice(agents)
    failed = cause == "no_json"
    return Judgement(
        run="online",
        case_id="production",
        attempt=1,
        trajectory=trajectory.digest,
        rubric="service",
        rubric_version="1",
        rubric_digest="d",
        criterion=CRITERIA[cause],
        criterion_version="1",
        eligible=None if failed else True,
        passed=None if failed else False,
        failure=text if failed else None,
        rationale="" if failed else text,
        spans=(f"step:{cited}",),
        judge=JudgeIdentity(model="judge-1"),
    )


def _changed(trajectory: Trajectory, cause: str, tool: str, drawn: random.Random) -> Trajectory:
    """The trajectory up to a random step at which the planted call is made; the agent gives up after it."""
    agents = [place for place, step in enumerate(trajectory.steps) if step.source == "agent"]
    kept = list(trajectory.steps[: drawn.choice(agents[len(agents) // 3 :] or agents)])
    index = (kept[-1].index if kept else -1) + 1
    for step in _planted_steps(cause, tool, drawn):
        kept.append(step.model_copy(update={"index": index}))
        index += 1
    said = "I am sorry, I cannot do this right now."
    kept.append(Step(index=index, source="agent", message=said))
    return trajectory.model_copy(update={"steps": tuple(kept), "final_output": said})


def _planted_steps(cause: str, tool: str, drawn: random.Random) -> Iterator[Step]:
    number = drawn.randrange(10**6)
    arguments = {"reservation_id": f"R{number}"}
    match cause:
        case "timeout":
            text = drawn.choice((f"no answer within 30 s (request {number})", f"no answer within {number % 60} s"))
            yield _call(tool, arguments, "timeout", text)
        case "no_payment":
            text = drawn.choice(("payment method credit_card_{n} not found", "Error: payment method {n} not found"))
            yield _call(tool, arguments, "tool_error", text.replace("{n}", str(number)))
        case "not_available":
            text = drawn.choice(
                (
                    "flight HAT{n} is no longer available on 2024-05-{d}",
                    "Error: flight HAT{n} not available on that date",
                )
            )
            told = text.replace("{n}", str(number % 300)).replace("{d}", str(10 + number % 20))
            yield _call(tool, arguments, "tool_error", told)
        case "invented_tool":
            name = drawn.choice(("submit_refund", "issue_refund_v2", "refund_now"))
            yield _call(name, arguments, "unknown_tool", f"there is no tool {name!r}")
        case _:
            for again in range(8):
                call = ToolCall(id=f"loop-{again}", name=tool, arguments=arguments)
                seen = Observation(call_id=call.id, content='{"status": "confirmed"}')
                yield Step(index=0, source="agent", calls=(call,), observations=(seen,))


def _call(tool: str, arguments: dict[str, str], kind: ToolErrorType, message: str) -> Step:
    call = ToolCall(id="planted", name=tool, arguments={**arguments})
    failure = ToolFailure(type=kind, message=message)
    seen = Observation(call_id="planted", content=None, error=failure)
    return Step(index=0, source="agent", calls=(call,), observations=(seen,))
