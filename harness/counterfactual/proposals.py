"""The check that would have noticed a mutant, proven on both trials: it passes the one and fails the other."""

import re
from collections.abc import Iterator

from harness.case import Case, CheckSpec, Suite
from harness.counterfactual.mutant import Mutant
from harness.counterfactual.worlds import Difference
from harness.score import Evidence, score_trial
from harness.trace import Trial
from harness.values import JsonObject, JsonValue, canonical_json

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def proposed_check(
    suite: Suite, case: Case, mutant: Mutant, found: Difference | None, trials: tuple[Trial, Trial]
) -> CheckSpec | None:
    """The first check that passes the passing trial and fails the mutated one; None: none of those that are known."""
    passing, mutated = trials
    taken = {check.name for check in (*suite.checks, *case.checks)}
    for number, (verifier, parameters) in enumerate(_candidates(mutant, found, passing)):
        name = f"mutant_{mutant.operator}_{number}"
        if name in taken:
            continue
        check = CheckSpec.model_validate({"name": name, "verifier": verifier, "with": parameters})
        if _passes(suite, case, check, passing) is True and _passes(suite, case, check, mutated) is False:
            return check
    return None


def _candidates(mutant: Mutant, found: Difference | None, passing: Trial) -> Iterator[tuple[str, JsonObject]]:
    if mutant.operator == "policy_step_left_out":
        yield "required_tools", {}
    if found is None:
        return
    match found.part:
        case "probe":
            yield "state", {"probe": found.name, "path": found.path, "equals": found.before}
        case "answer":
            numbers = _NUMBER.findall(str(passing.trajectory.final_output))
            if numbers:
                yield "final_answer", {"contains": list[JsonValue](dict.fromkeys(numbers))}
            yield "final_answer", {"equals": str(passing.trajectory.final_output)}
        case "files":
            yield "files", {"allow": []}
        case _:
            yield from _of_writes(mutant, passing)


def _of_writes(mutant: Mutant, passing: Trial) -> Iterator[tuple[str, JsonObject]]:
    rules: list[JsonValue] = []
    made: dict[str, int] = {}
    for call in passing.trajectory.calls:
        made[call.name] = made.get(call.name, 0) + 1
        rules.append(f"require {call.name}{canonical_json(call.arguments or {})}")
    counts: list[JsonValue] = [f"{tool} at most {number} times" for tool, number in made.items()]
    added = [f"never {call.tool}" for call in mutant.intervention.at_end if call.tool not in made]
    yield "rules", {"rules": counts}
    yield "rules", {"rules": rules}
    if added:
        yield "rules", {"rules": list[JsonValue](added)}


def _passes(suite: Suite, case: Case, check: CheckSpec, trial: Trial) -> bool | None:
    alone = case.model_copy(update={"checks": (check,)})
    bare = suite.model_copy(update={"checks": (), "cases": (alone,), "metrics": (), "run_metrics": ()})
    evidence = Evidence(case=alone, trial=trial, tools=suite.tools)
    return score_trial(evidence, bare).success
