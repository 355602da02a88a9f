"""Who plays the users of a run: options as typed, or as the manifest of a run that goes on has them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.case import ModelMode, Suite
from harness.errors import UsageError
from harness.pipeline.run_options import RunOptions
from harness.plugins import plugin_names
from harness.results import PlannedTrial, RunFolder, RunManifest, RunUsers, run_path
from harness.simulate import BUILT_IN, USERS, UserLog, UserOptions, kind_of, log_of_trajectory

_NAMED_CASES: Final = 10
_MODES: Final[tuple[ModelMode, ...]] = ("replay", "record", "live")


def user_options(project: Path, suite: Suite, options: RunOptions) -> UserOptions:
    """The options about users. Raises UsageError for an unknown user, and a log without a conversation of the suite."""
    if options.user is not None and ":" not in options.user and options.user not in _named():
        raise UsageError(
            f"there is no user named {options.user!r}",
            remedy=f"one of: {', '.join(_named())}; or module:Name; or file.py:Name in the suite",
        )
    logs = {} if options.user_log is None else logs_of_run(project, suite, options.user_log)
    kind = options.user or ("logged" if logs else None)
    return UserOptions(kind=kind, mode=options.user_mode, logs=logs, log_run=options.user_log)


def refuse_cases_without_log(suite: Suite, options: UserOptions, planned: Sequence[PlannedTrial]) -> None:
    """Raises UsageError where the run has cases whose user is to be played back, and no log of it is known."""
    chosen = {trial.case_id for trial in planned}
    without = [
        case.id
        for case in suite.cases
        if case.id in chosen
        and kind_of(suite, case, options) == "logged"
        and case.id not in options.logs
        and (case.user is None or case.user.log is None)
    ]
    if without:
        more = f" and {len(without) - _NAMED_CASES} more" if len(without) > _NAMED_CASES else ""
        raise UsageError(
            f"no logged conversation is known for the user of {len(without)} case(s): "
            f"{', '.join(without[:_NAMED_CASES])}{more}",
            remedy="name a run that holds them, --user-log RUN; or a file in each case, "
            "`user: {kind: logged, log: FILE}`; or select other cases",
        )


def resumed_users(project: Path, suite: Suite, manifest: RunManifest) -> UserOptions:
    """As the run began. Raises UsageError for a user that is neither built in nor installed: a run folder may come from
    anybody, and names no code.
    """
    told = manifest.users
    if told is None:
        return UserOptions()
    if told.kind is not None and told.kind not in _named():
        raise UsageError(
            f"run {manifest.run!r} has the user {told.kind!r}, which is not taken from a run folder",
            remedy=f"start the run anew with --user; taken are: {', '.join(_named())}",
        )
    mode = next((mode for mode in _MODES if mode == told.mode), None)
    logs = {} if told.log_run is None else logs_of_run(project, suite, told.log_run)
    return UserOptions(kind=told.kind, mode=mode, logs=logs, log_run=told.log_run)


def _named() -> tuple[str, ...]:
    """The users that are known by name."""
    return (*BUILT_IN, *plugin_names(USERS.seam))


def users_for_manifest(suite: Suite, options: UserOptions) -> RunUsers | None:
    """What the manifest says of the users; None where all of them are scripts."""
    kinds = {kind_of(suite, case, options) for case in suite.cases}
    if kinds == {"script"}:
        return None
    played = suite.user.model is not None and bool(kinds & {"model", "logged"})
    return RunUsers(
        kind=options.kind,
        mode=(options.mode or suite.user.mode) if played else None,
        model=suite.user.model if played else None,
        log_run=options.log_run,
    )


def logs_of_run(project: Path, suite: Suite, run: str) -> dict[str, UserLog]:
    """Case id -> the conversation of its first attempt in the run that has one. Raises UsageError where none has."""
    tools = {tool.name: tool for tool in suite.tools}
    known = {case.id for case in suite.cases}
    found: dict[str, UserLog] = {}
    for stored in RunFolder.open(run_path(project, run)).trials():
        trial = stored.trial
        if trial.case_id in found or trial.case_id not in known:
            continue
        log = log_of_trajectory(trial.trajectory, tools, f"{run} {trial.case_id}/{trial.attempt}")
        if log is not None:
            found[trial.case_id] = log
    if not found:
        raise UsageError(
            f"run {run!r} holds no conversation of a case of suite {suite.name!r}: no trial has a message of a user",
            remedy="name a run of this suite, or an import with its cases: --user-log RUN",
        )
    return found
