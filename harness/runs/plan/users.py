"""The simulated users of a run, from the options or from the manifest of a resumed run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.judging.prompts import PromptRegistry
from harness.judging.settings import FILE as JUDGE_FILE
from harness.plugins import plugin_names
from harness.runs.plan.plan import RunOptions
from harness.runs.store.folder import RunFolder, run_path
from harness.runs.store.manifest import PlannedTrial, RunManifest, RunUsers
from harness.suite.models import ModelMode
from harness.suite.suites import Suite
from harness.text import alternatives
from harness.users.log import UserLog, log_of_trajectory, read_user_log
from harness.users.users import BUILT_IN, USERS, UserOptions, kind_of
from harness.values import digest_of_text

_NAMED_CASES: Final = 10
ENTAILMENT: Final = "entailment"
"""The prompt of the model that compares turns of an agent."""
_MODES: Final[tuple[ModelMode, ...]] = ("replay", "record", "live")


def user_options(project: Path, suite: Suite, options: RunOptions) -> UserOptions:
    """The options about users. Raises UsageError for an unknown user, and a log without a conversation of the suite."""
    mode, asked = options.user_mode or options.model, _entailment_prompt(project, suite)
    if options.user is not None and options.user.startswith("logged:"):
        run = options.user.removeprefix("logged:")
        logs = logs_of_run(project, suite, run)
        return UserOptions(kind="logged", mode=mode, logs=logs, log_run=run, entailment=asked)
    if options.user is not None and ":" not in options.user and options.user not in _user_names():
        raise UsageError(
            f"there is no user named {options.user!r}",
            remedy=f"{alternatives(options.user, _user_names())}; or module:Name; or file.py:Name in the suite",
        )
    return UserOptions(kind=options.user, mode=mode, entailment=asked)


def _entailment_prompt(project: Path, suite: Suite) -> str:
    """The text of the version in production; empty if the suite names no model for it."""
    return "" if suite.user.entailment is None else PromptRegistry(project).get(ENTAILMENT).text


def refuse_cases_without_log(suite: Suite, options: UserOptions, planned: Sequence[PlannedTrial]) -> None:
    """Raises UsageError if the run has cases whose user is to be played back, and no log of it is known;
    InvalidDocument if the file of one cannot be read.
    """
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
            f"no log exists for the user of {len(without)} case(s): {', '.join(without[:_NAMED_CASES])}{more}",
            remedy="give a run that contains the conversations, --user logged:RUN; or a file in each case, "
            "`user: {kind: logged, log: FILE}`; or select other cases",
        )
    for case in suite.cases:
        file = None if case.user is None or case.id in options.logs else case.user.log
        if file is not None and case.id in chosen and kind_of(suite, case, options) == "logged":
            read_user_log(suite.folder / file)


def resumed_users(project: Path, suite: Suite, manifest: RunManifest) -> UserOptions:
    """As the run began. Raises UsageError for a user that is neither built in nor installed: a run folder may come from
    anybody, and names no code.
    """
    stored = manifest.users
    if stored is None:
        return UserOptions(entailment=_entailment_prompt(project, suite))
    if stored.kind is not None and stored.kind not in _user_names():
        raise UsageError(
            f"run {manifest.run!r} names the user {stored.kind!r}, which a run folder cannot choose",
            remedy=f"start a new run with --user; a run folder may name: {', '.join(_user_names())}",
        )
    mode = next((mode for mode in _MODES if mode == stored.mode), None)
    logs = {} if stored.log_run is None else logs_of_run(project, suite, stored.log_run)
    asked = _entailment_prompt(project, suite)
    return UserOptions(kind=stored.kind, mode=mode, logs=logs, log_run=stored.log_run, entailment=asked)


def _user_names() -> tuple[str, ...]:
    """The users that are known by name."""
    return (*BUILT_IN, *plugin_names(USERS.seam))


def users_for_manifest(suite: Suite, options: UserOptions) -> RunUsers | None:
    """The simulated users in the manifest; None if all are scripts."""
    kinds = {kind_of(suite, case, options) for case in suite.cases}
    if kinds == {"script"}:
        return None
    played = suite.user.model is not None and bool(kinds & {"model", "logged"})
    return RunUsers(
        kind=options.kind,
        mode=(options.mode or suite.user.mode) if played else None,
        model=suite.user.model if played else None,
        log_run=options.log_run,
        entailment=digest_of_text(options.entailment) if options.entailment and "logged" in kinds else None,
        judged=any((place / JUDGE_FILE).is_file() for place in (suite.folder, suite.folder.parent.parent)),
    )


def logs_of_run(project: Path, suite: Suite, run: str) -> dict[str, UserLog]:
    """Case id -> the conversation of its first attempt in the run that has one, and was not spoilt by its user, by
    steering or by the harness. Raises UsageError if none has.
    """
    tools = {tool.name: tool for tool in suite.tools}
    known = {case.id for case in suite.cases}
    found: dict[str, UserLog] = {}
    for stored in RunFolder.open(run_path(project, run)).trials():
        trial = stored.trial
        spoilt = trial.outcome in ("simulator_failed", "harness_failed") or (
            trial.user is not None and trial.user.steered
        )
        if spoilt or trial.case_id in found or trial.case_id not in known:
            continue
        log = log_of_trajectory(trial.trajectory, tools, f"{run} {trial.case_id}/{trial.attempt}")
        if log is not None:
            found[trial.case_id] = log
    if not found:
        raise UsageError(
            f"run {run!r} contains no conversation of a case of suite {suite.name!r}: no trial has a user message",
            remedy="give a run of this suite, or an import with its cases: --user logged:RUN",
        )
    return found
