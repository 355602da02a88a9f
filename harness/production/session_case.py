"""Makes a case from a production session: answers of tools as a cassette, the user as a log, failures as checks.

A session has less information than a trial. Missing parts (the state at its start, answers without spans, criteria that
only a judge decides) are listed in notes.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cassettes.cassette import Cassette
from harness.cassettes.credentials import Cleaner
from harness.cassettes.recordings import Recording
from harness.disk import write_atomically
from harness.errors import UsageError
from harness.judging.verdicts import Judgement
from harness.production.scores import SessionScore
from harness.production.scoring import SessionScorer
from harness.production.session import Session, session_origin
from harness.production.settings import online_settings
from harness.production.store import SessionStore
from harness.runs.cases.drafting import SUCCEEDED, Proof, draft, prove, useful_checks
from harness.runs.cases.from_trace import FILE, AddedCase, add_case, recordings_of
from harness.runs.plan.plan import secret_values
from harness.runs.rescore import judged_of
from harness.runs.store.folder import StoredTrial
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import Case, CheckSpec
from harness.suite.conversations import CaseUser, UserTurn
from harness.suite.conversations import Conversation as CaseConversation
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from harness.traces.outcomes import MEASURED
from harness.traces.trial import Trial
from harness.users.log import UserLog, log_of_trajectory

_SHOWN = 300
LOGS = "logs"
"""The folder of logged users, in the suite's folder."""


@dataclass(frozen=True, kw_only=True)
class SessionDraft:
    """A case of a session that is not stored yet."""

    suite: Suite
    case: Case
    recordings: tuple[Recording, ...]
    log: UserLog | None
    """What the user said; None if no user speaks in it, or the case has its own conversation."""
    notes: tuple[str, ...]
    proof: Proof
    """The verdict of the case on the session."""


def draft_session_case(store: SessionStore, key: str, project: Path, suite_name: str | None = None) -> SessionDraft:
    """The case; nothing is written. `suite_name`: None for the one suite that scored the session.

    Raises UsageError for a session that cannot be had, that cannot be read as a trial, or that several suites scored.
    """
    session = store.session(key)
    trial = session.trial()
    if trial is None or trial.outcome not in MEASURED:
        why = "its spans contain no agent, model or tool" if trial is None else f"it is {trial.outcome}"
        raise UsageError(f"session {session.row.key!r} has no failure of an agent: {why}")
    own = store.score_store.read(session=session.row.key, suite=suite_name, latest=True)
    scores = [one for one in own if not one.skipped]
    suite = load_suite(project, _one_suite(session, scores, suite_name))
    rules = next((one.card for one in scores if one.card is not None), None)
    scorer = SessionScorer(suite, online_settings(project))
    card = scorer.card(session, trial) if rules is None else rules
    failed = [one for score in scores for one in score.judgements if one.answer == "fail"]
    source = _with_criteria(scorer.case_of(session, trial), suite, failed)
    drafted = _drafted(session, trial, card, suite, source, failed)
    notes = [one for one in drafted.notes if not (failed and one == SUCCEEDED)]
    return replace(drafted, notes=(*notes, *_judged_check_notes(failed)))


def store_session_case(project: Path, drafted: SessionDraft, file: Path | None = None) -> AddedCase:
    """Writes case, cassette and log, or nothing. Raises UsageError for an id that exists."""
    suite, case = drafted.suite, drafted.case
    log = drafted.log if drafted.log is not None and len(drafted.log.turns) > 1 else None
    place = None if log is None else suite.folder / LOGS / f"{case.id}.json"
    if place is not None and log is not None:
        if place.exists():
            raise UsageError(f"a logged user exists already: {place}", remedy="delete it, or keep its case")
        place.parent.mkdir(exist_ok=True)
        write_atomically(place, (log.model_dump_json(indent=1) + "\n").encode("utf-8", "replace"))
        case = case.model_copy(update={"user": CaseUser(kind="logged", log=f"{LOGS}/{place.name}")})
    try:
        return add_case(project, suite, case, drafted.recordings, file or suite.folder / FILE)
    except BaseException:
        if place is not None:
            place.unlink(missing_ok=True)
        raise


def _one_suite(session: Session, scores: list[SessionScore], named: str | None) -> str:
    suites = sorted({one.suite for one in scores})
    if named is not None:
        return named
    if len(suites) != 1:
        raise UsageError(
            f"session {session.row.key!r} was scored by {len(suites)} suites{': ' * bool(suites)}{', '.join(suites)}",
            remedy="name one: --suite SUITE",
        )
    return suites[0]


def _with_criteria(case: Case, suite: Suite, failed: Sequence[Judgement]) -> Case:
    """The case with a check for each criterion that a judge found not met, which a later judgement decides."""
    taken = {check.name for check in (*suite.checks, *case.checks)}
    checks: list[CheckSpec] = []
    for rubric, criterion in sorted({(one.rubric, one.criterion) for one in failed}):
        name = next(
            one for one in (criterion, f"{rubric}_{criterion}", f"judged_{rubric}_{criterion}") if one not in taken
        )
        taken.add(name)
        asked = {"rubric": rubric, "criterion": criterion}
        checks.append(CheckSpec.model_validate({"name": name, "verifier": "criterion", "with": asked}))
    words = [f"{one.criterion} of {one.rubric}: {' '.join(one.rationale.split())[:_SHOWN]}" for one in failed]
    told = f"A judge found not met: {'; '.join(dict.fromkeys(words))}." if words else ""
    return case.model_copy(
        update={
            "checks": (*case.checks, *checks),
            "description": " ".join(part for part in (case.description.strip(), told) if part),
        }
    )


def _drafted(
    session: Session, trial: Trial, card: Scorecard, suite: Suite, source: Case, failed: Sequence[Judgement]
) -> SessionDraft:
    cleaner = Cleaner(secret_values(suite), key=b"")
    origin = session_origin(session.row.key)
    log = log_of_trajectory(trial.trajectory, {tool.name: tool for tool in suite.tools}, origin)
    if log is not None:
        log = UserLog.model_validate(cleaner.fields(log.model_dump(mode="json")))
        source = source.model_copy(update={"task": log.turns[0].user})
    first = draft(source, trial, card, suite, origin)
    with tempfile.TemporaryDirectory(prefix="harness-session-") as folder:
        own = session.own_record
        if own is not None:
            own.write_archive(Path(folder))
        stored = StoredTrial(trial=trial, folder=Path(folder))
        case, left_out = useful_checks(first.case, suite, stored, [])
        proof = prove(case, suite, stored, [], [judged_of(one) for one in failed])
    found = recordings_of(Cassette(), suite, case, trial)
    unanswered = tuple(
        f"{key.tool}({key.arguments}) was not answered: record it before the case can pass" for key in found.unanswered
    )
    plain = Case.model_validate(cleaner.fields(case.model_dump(mode="json", by_alias=True)))
    if log is not None and plain.conversation is None and suite.user.model is None:
        plain, log = _with_script(plain, log), None
    return SessionDraft(
        suite=suite,
        case=plain,
        recordings=found.recordings,
        log=None if plain.conversation is not None else log,
        notes=(
            *first.notes,
            *left_out,
            *_unknown(session, suite, trial),
            *dict.fromkeys(unanswered),
            "no trial has shown yet that a mended agent passes it: run it with one before you rely on it",
        ),
        proof=proof,
    )


def _with_script(case: Case, log: UserLog) -> Case:
    """The user's messages in order, for suites without a model: a logged user could not answer a fixed agent."""
    if len(log.turns) == 1:
        return case
    turns = tuple(UserTurn(say=turn.user) for turn in log.turns[1:])
    return case.model_copy(update={"conversation": CaseConversation(turns=turns)})


def _unknown(session: Session, suite: Suite, trial: Trial) -> tuple[str, ...]:
    """Notes about the unknown parts of the session's state and tools."""
    notes = []
    if session.own_record is None:
        begins = "an empty sandbox" if suite.environment is None else f"the suite's state of {suite.environment!r}"
        notes.append(f"the state at the session's start is unknown: the case starts from {begins}")
        notes.append("its final files and databases are unknown: checks of them cannot be decided")
    known = {tool.name for tool in suite.tools}
    calls = [call for step in trial.trajectory.steps if step.source == "agent" for call in step.calls]
    unknown = sorted({call.name for call in calls} - known)
    notes += [f"{name} is not a tool of suite {suite.name!r}: calls of it are refused" for name in unknown]
    writes = sum(tool.effect == "write" for call in calls for tool in suite.tools if tool.name == call.name)
    if writes:
        notes.append(f"the effects of its {writes} writes are known only from later answers of tools")
    return tuple(notes)


def _judged_check_notes(failed: Sequence[Judgement]) -> tuple[str, ...]:
    """How the checks that a judge decides get their verdict."""
    rubrics = sorted({one.rubric for one in failed})
    return tuple(
        f"checks of rubric {rubric!r} are decided by a judge: harness judge run RUN --rubric {rubric}, then harness"
        " score RUN"
        for rubric in rubrics
    )
