"""The page of outcomes, made of the table that the harness classifies by, and the test that holds each row."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from typing import Final

from harness.traces import outcomes
from harness.traces.outcomes import MEASURED, Cause

_CAUSES = "tests/runs/test_causes.py"
_PROVIDERS = "tests/runs/test_provider_outages.py"
TESTS: Final[Mapping[Cause, str]] = {
    Cause.STEERED_USER: "tests/users/test_steering.py"
    "::test_an_attempt_counts_against_the_agent_and_is_never_the_simulators_failure",
    Cause.MANY_MISSES: f"{_CAUSES}::test_misses_beyond_the_limit_of_the_case_are_a_failure",
    Cause.LIMIT: "tests/walks/hostile/test_misbehaviour.py::test_each_misbehaviour_is_the_outcome_of_its_own_trial",
    Cause.CRASH: f"{_PROVIDERS}::test_what_the_agent_itself_brings_about_costs_it_a_failure",
    Cause.UNREADABLE: "tests/walks/hostile/test_hostile_messages.py::test_no_message_of_an_agent_ends_the_run",
    Cause.MEMORY: f"{_CAUSES}::test_filling_the_memory_is_never_tried_again",
    Cause.REPLAY_MISS: f"{_CAUSES}::test_two_allowances_together_hide_no_failure",
    Cause.USER_DIVERGED: "tests/users/test_steered_outcome.py::test_a_divergence_does_not_excuse_an_attempt",
    Cause.MISLED_USER: "tests/users/test_obeying_user.py"
    "::test_no_gate_passes_for_an_agent_on_whose_words_the_user_failed",
    Cause.INVALID_USER: "tests/users/test_steered_outcome.py"
    "::test_the_time_of_the_user_is_added_to_the_limit_and_excuses_nothing",
    Cause.MODEL_OUTAGE: f"{_PROVIDERS}::test_an_outage_is_no_measurement",
    Cause.RATE_LIMIT: f"{_PROVIDERS}::test_an_outage_is_no_measurement",
    Cause.NO_MODEL_ANSWERED: f"{_PROVIDERS}::test_a_run_of_which_no_request_was_answered_stops_early",
    Cause.TOOL_OUTAGE: f"{_PROVIDERS}::test_a_tool_server_that_is_down_is_no_measurement",
    Cause.BROKEN_OFF: f"{_CAUSES}::test_a_launcher_that_dies_under_the_agent_is_not_tried_again",
    Cause.MACHINE: f"{_CAUSES}::test_what_no_agent_can_cause_is_tried_again_and_named",
    Cause.UNMEASURABLE: "tests/scoring/test_world_verifiers.py::test_what_the_agent_made_unmeasurable_is_told_apart",
    Cause.UNDECIDED: "tests/reports/test_gate.py::test_hidden_failures_count_against_the_floor_where_they_are_allowed",
    Cause.NOT_RUN: f"{_CAUSES}::test_two_allowances_together_hide_no_failure",
    Cause.NO_VALUE: "tests/reports/test_gate.py::test_a_run_is_held_against_each_floor",
}


def outcomes_page(note: str) -> str:
    """The complete page."""
    meanings = _meanings()
    rows = [
        f"| `{cause}` | {(cause.outcome and f'`{cause.outcome}`') or ''} | {meanings[cause.name]} | {cause.by} |"
        f" {'; '.join(_costs(cause))} | `{TESTS[cause]}` |"
        for cause in Cause
    ]
    return "\n".join(
        (
            "# Outcomes\n",
            note,
            "Every way in which a trial or a check leaves a denominator, and what ends a trial otherwise than "
            "`finished`. The harness classifies by this table (`cause` of a trial and of its scorecard). What an "
            "agent can cause costs it at least a failure, is never tried again at once, and passes no gate. `user` is "
            "the simulated one, `person` whoever types the commands.\n",
            "| cause | outcome | what happens | who can cause it | what it costs | held by |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        )
    )


def _costs(cause: Cause) -> Iterator[str]:
    if cause.outcome in MEASURED:
        yield "in every denominator: a failure, unless every check passes on what is left"
    elif cause.outcome is not None:
        yield "in no denominator"
    match cause.outcome:
        case "inconclusive":
            yield "the run exits 1, unless `max_inconclusive` allows it"
        case "harness_failed":
            yield "the run exits 3"
            yield "tried once more, which the report names" if cause.is_tried_again else "run again by `--resume` only"
        case "simulator_failed":
            yield "the run exits 3 if nothing else was measured"
    if cause.counts_as_failed and cause is not Cause.UNMEASURABLE:
        yield "a gate that allows it counts it as failed"


def _meanings() -> dict[str, str]:
    (table,) = (
        node
        for node in ast.parse(inspect.getsource(outcomes)).body
        if isinstance(node, ast.ClassDef) and node.name == "Cause"
    )
    found = {}
    for before, after in zip(table.body, table.body[1:], strict=False):
        match before, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found
