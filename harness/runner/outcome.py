"""The outcome of a trial: what its session, its simulated user and the exit of its agent's program say."""

from harness.case import Case
from harness.gateway import SessionRecord
from harness.trace import Outcome, ProgramExit, UserReport


def outcome_of(case: Case, record: SessionRecord, exit_: ProgramExit) -> tuple[Outcome, str | None]:
    """The outcome of a trial whose agent's program has ended, and its reason; a finished trial has none."""
    # takes precedence over a miss, which the agent could cause in addition
    if record.user is not None and record.user.steered:
        return "agent_failed", f"the agent tried to steer the simulated user: {record.user.steered[0]}"
    if record.misses:
        return _outcome_of_misses(case, len(record.misses))
    has_crashed = not exit_.timed_out and (exit_.signal is not None or exit_.code != 0)
    if not has_crashed and (of_user := _outcome_of_user(case, record, exit_)) is not None:
        return of_user  # no fault of a user makes an agent crash: a crash counts
    return _outcome_of_agent(case, record, exit_)


def _outcome_of_misses(case: Case, misses: int) -> tuple[Outcome, str]:
    """The outcome of a trial with this number of distinct replay misses."""
    said = f"{misses} call(s) met no recording"
    if case.limits.misses is not None and misses > case.limits.misses:
        return "limit_reached", f"{said}: more than `limits.misses: {case.limits.misses}` allows"
    return "inconclusive", said


def _outcome_of_user(case: Case, record: SessionRecord, exit_: ProgramExit) -> tuple[Outcome, str] | None:
    """The outcome of a trial whose simulated user failed; None where it did not fail."""
    user = record.user
    if user is None:
        return None
    own_s = None if exit_.duration_s is None else exit_.duration_s - user.waited_s
    if exit_.timed_out and user.waited_s >= case.limits.seconds and own_s is not None and own_s < case.limits.seconds:
        return (
            "simulator_failed",
            f"the user took {user.waited_s:g} s, {user.waited_s / max(1, user.turns - 1):.0f} s a message",
        )
    if user.invalid is not None:
        return "simulator_failed", f"turn {user.invalid.turn}, {user.invalid.fault}: {user.invalid.reason}"
    return None


def _outcome_of_agent(case: Case, record: SessionRecord, exit_: ProgramExit) -> tuple[Outcome, str | None]:
    if record.limit_reached is not None:
        return "limit_reached", record.limit_reached
    if _is_over_time(case, record.user, exit_):
        return "limit_reached", f"the time limit of {case.limits.seconds:g} s"
    if exit_.signal is not None or exit_.code != 0:
        how = f"exited with status {exit_.code}" if exit_.signal is None else f"was ended by signal {exit_.signal}"
        return "agent_failed", f"the agent's program {how}"
    return "finished", None


def _is_over_time(case: Case, user: UserReport | None, exit_: ProgramExit) -> bool:
    """Whether the agent took more than the time limit, excluding its waits for the user."""
    if exit_.timed_out or user is None or exit_.duration_s is None:
        return exit_.timed_out
    return exit_.duration_s - user.waited_s > case.limits.seconds
