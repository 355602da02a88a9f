"""Failures of a run or of scored sessions, each with its cause, beside all sessions that were examined."""

import time
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from harness.errors import HarnessError
from harness.judging.agreement import item_of
from harness.judging.labels import LabelItem, label_path, sort_labels
from harness.judging.rubrics import load_rubric
from harness.judging.verdicts import Judgement
from harness.production.scores import SessionScore
from harness.production.session import SessionRow
from harness.production.storage import in_pieces
from harness.production.store import SessionStore
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import judged_rubrics, kept_rubric, latest, of_last_judge, read_judgements
from harness.scoring.evidence import content_words
from harness.scoring.rules.learned import broken
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.text import shortened
from harness.traces.outcomes import MEASURED, Outcome
from harness.traces.trajectory import Content, Step, ToolErrorType, Trajectory
from harness.values import Frozen

# One failure: one thing that went wrong in one session or trial, with what is known of its cause.
#
# All texts come from sessions and are untrusted: identifiers are cleaned and cut here, at the only place where a
# Failure is made of one.

HarnessFault = Literal[
    "judge_false_positive",
    "judge_failed",
    "tracing_gap",
    "invalid_user",
    "replay_miss",
    "harness_failed",
]
"""Faults of the harness itself. `judge_false_positive`: a person's label contradicts a failing judgement.
`judge_failed`: the judge gave no usable answer. `tracing_gap`: the spans cannot be read as a session, or leave out what
was said and done. `invalid_user`: the simulated user invalidated the conversation. `replay_miss`: no recording answers
a call. `harness_failed`: the harness could not run the trial.
"""

Weight = Literal["failed", "harness", "noticed"]
SEVERITIES: Final[dict[Weight, float]] = {"failed": 1.0, "harness": 0.5, "noticed": 0.3}
"""`failed`: a check or a criterion failed, or the agent crashed. `harness`: the session could not be measured.
`noticed`: a failure mode was found in a session of which no check failed."""

MOST_TEXT: Final = 2_000
_MOST_NAME: Final = 80
_HIDDEN: Final = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


class Cause(Frozen):
    """What the evidence says about why it failed; empty texts if it says nothing. It is part of a theme's identity.

    A tool's error takes precedence over a failure mode: agents react to one error in many ways.
    """

    mode: str = ""
    """`<failure>/<kind>` of the leading finding, such as `tool_hallucination/invented_tool`; if there is none, the
    learned rule that was broken, as `broken_rule/<rule>`, how a trial ended that did not finish, as
    `outcome/<outcome>`, or whether the agent answered before any call: `answer/without_a_call`, `answer/after_a_call`.
    """
    tool: str = ""
    """The tool of the call at which it began, or after which the agent answered."""
    error: str = ""
    """The class of that tool's error, such as `timeout`."""


class SessionFailure(Frozen):
    """One failed check or criterion of one session, or what else went wrong in it."""

    session: str
    """The session's key, or `<run>/<case>/<attempt>` of a trial."""
    case: str
    """The case that was run; "" for sessions of production."""
    criterion: str
    """`check:<name>`, `criterion:<id>`, or "" if nothing was checked."""
    fault: HarnessFault | None = None
    """None: a failure of the agent or of its tools."""
    cause: Cause = Cause()
    weight: Weight = "failed"
    text: str = ""
    """What the harness, a judge or a tool said about it: what failures of one cause are told apart by."""
    step: int | None = None
    """Index of the step at which it began; None: not known."""
    span: str = ""
    """The id of that step's span; "" if it has none."""
    release: str = ""
    received_ns: int = 0
    """When the session's last record was received, in nanoseconds since the epoch; of a run its start."""
    inverse_rate: float = 1.0
    """How many sessions of production it stands for: 1 / the rate with which it was sampled."""


def cleaned(text: str, most: int = _MOST_NAME) -> str:
    """On one line, without control and format characters, of at most `most` characters."""
    head = text[: 4 * most]
    plain = "".join(" " if unicodedata.category(char) in _HIDDEN else char for char in head)
    joined = " ".join(plain.split())
    return shortened(joined, most, "…")


_UNMEASURED: Final[dict[Outcome, HarnessFault]] = {
    "inconclusive": "replay_miss",
    "simulator_failed": "invalid_user",
    "harness_failed": "harness_failed",
}
_NOT_THE_TOOLS: Final = frozenset({"replay_miss", "limit_reached"})
_LEFT_OUT: Final = frozenset(
    {"premature_commitment/stopped_early", "premature_commitment/missing_write", "goal_drift/limit_reached"}
)
"""What says what was not done: another fact at the same step says more."""
_UNKNOWN: Final = "unexplained"
_WITHOUT_A_CALL: Final = "answer/without_a_call"


class _Lead(NamedTuple):
    """A possible cause, and what was said about it."""

    cause: Cause
    text: str
    step: Step | None


def failures_of_card(card: Scorecard, trajectory: Trajectory | None, common: SessionFailure) -> list[SessionFailure]:
    """By rules: a failure of the first failed check, with its cause; of each failed check if no cause is known; of
    the leading failure mode if no check failed; none for a clean success.

    `common`: the fields that all failures of the session share.
    """
    if card.outcome not in MEASURED:
        return [_failure_of_unmeasured(card, trajectory, common)]
    lead = _leading(card.diagnoses, trajectory) or _broken_rule(card, trajectory) or _ending(card)
    failed = [verdict for verdict in card.verdicts if verdict.passed is False]
    if failed:
        return [
            _failure(common, f"check:{cleaned(verdict.check)}", lead or _answered(verdict.reason, trajectory))
            for verdict in (failed if lead is None else failed[:1])
        ]
    if card.success is False or card.outcome != "finished":
        return [_failure(common, "", lead or _Lead(Cause(mode=f"outcome/{card.outcome}"), card.reason or "", None))]
    modes = _leading(card.diagnoses, trajectory, errors=False)
    return [] if modes is None else [_failure(common, "", modes).model_copy(update={"weight": "noticed"})]


def failures_of_judgements(
    judgements: Sequence[Judgement],
    card: Scorecard | None,
    trajectory: Trajectory | None,
    common: SessionFailure,
    contradicted: Collection[str] = (),
) -> Iterator[SessionFailure]:
    """By a judge: one failure for each criterion that failed, or that the judge could not answer.

    `contradicted`: criteria that people's labels say were met.
    """
    for one in judgements:
        criterion = f"criterion:{cleaned(one.criterion)}"
        if one.answer == "judge_failed":
            lead = _Lead(Cause(), one.failure or "", None)
            yield _failure(common, criterion, lead, "judge_failed")
        elif one.answer == "fail":
            lead = _cited(one, () if card is None else card.diagnoses, trajectory)
            yield _failure(common, criterion, lead, "judge_false_positive" if one.criterion in contradicted else None)


def _failure(common: SessionFailure, criterion: str, lead: _Lead, fault: HarnessFault | None = None) -> SessionFailure:
    step = lead.step
    return common.model_copy(
        update={
            "criterion": criterion,
            "fault": fault,
            "cause": lead.cause if fault is None else Cause(),
            "weight": "failed" if fault is None else "harness",
            "text": lead.text[:MOST_TEXT],
            "step": None if step is None else step.index,
            "span": "" if step is None else cleaned(step.span_id or ""),
        }
    )


def _failure_of_unmeasured(card: Scorecard, trajectory: Trajectory | None, common: SessionFailure) -> SessionFailure:
    fault = _UNMEASURED[card.outcome]
    misses = _errors(trajectory, frozenset({"replay_miss"})) if fault == "replay_miss" else iter(())
    missed = next(misses, None)
    lead = _Lead(Cause(), card.reason or "", None if missed is None else missed.step)
    failure = _failure(common, "", lead, fault)
    return failure if missed is None else failure.model_copy(update={"cause": Cause(tool=cleaned(missed.tool))})


def _broken_rule(card: Scorecard, trajectory: Trajectory | None) -> _Lead | None:
    """The learned rule that names best where the trial deviates."""
    for one in broken(card.rules)[:1]:
        step = None if trajectory is None or one.step is None else _step_at(trajectory, one.step)
        return _Lead(Cause(mode=f"broken_rule/{cleaned(one.rule)}"), f"{one.rule}: {one.reason}", step)
    return None


def _answered(reason: str, trajectory: Trajectory | None) -> _Lead:
    """What a check says, and what the agent said: agents that fail one check in two ways are two themes."""
    answers = [] if trajectory is None else [one for one in trajectory.steps if one.source == "agent"]
    if not answers or trajectory is None:
        return _Lead(Cause(), reason, None)
    called = [call.name for step in answers for call in step.calls]
    cause = Cause(mode="answer/after_a_call", tool=cleaned(called[-1])) if called else Cause(mode=_WITHOUT_A_CALL)
    said = shortened(answers[-1].message or "", MOST_TEXT // 2, "…")
    return _Lead(cause, f"{reason}\n{said}" if said else reason, None)


def _ending(card: Scorecard) -> _Lead | None:
    """That the agent crashed or met a limit, if nothing else says why; None for one that finished."""
    if card.outcome == "finished":
        return None
    return _Lead(Cause(mode=f"outcome/{card.outcome}"), card.reason or "", None)


def _leading(diagnoses: Sequence[Diagnosis], trajectory: Trajectory | None, *, errors: bool = True) -> _Lead | None:
    """The earliest of the tool errors that were never overcome and the findings."""
    found = _unrecovered(trajectory) if errors else []
    found += [_of_mode(one, trajectory) for one in diagnoses if one.kind != _UNKNOWN]
    return min(found, key=_begin, default=None)


def _begin(lead: _Lead) -> tuple[float, bool, bool]:
    """By step; then an error before a finding, and what was done at the step before what was left out there."""
    index = float("inf") if lead.step is None else lead.step.index
    return (index, not lead.cause.error, lead.cause.mode in _LEFT_OUT)


def _of_mode(diagnosis: Diagnosis, trajectory: Trajectory | None) -> _Lead:
    step = None if trajectory is None or diagnosis.origin_step is None else _step_at(trajectory, diagnosis.origin_step)
    tool = step.calls[0].name if step is not None and step.calls and diagnosis.kind != "invented_tool" else ""
    mode = f"{diagnosis.failure}/{cleaned(diagnosis.kind)}"
    return _Lead(Cause(mode=mode, tool=cleaned(tool)), diagnosis.evidence, step)


def _cited(judgement: Judgement, diagnoses: Sequence[Diagnosis], trajectory: Trajectory | None) -> _Lead:
    """What happened at the steps that the judge cites; the text is the judge's own."""
    cited = [] if trajectory is None else [step for step in trajectory.steps if _is_cited(step, judgement.spans)]
    places = {step.index for step in cited}
    errors = [one.lead for one in _errors(trajectory) if one.step.index in places]
    modes = [_of_mode(one, trajectory) for one in diagnoses if one.origin_step in places and one.kind != _UNKNOWN]
    lead = min([*errors, *modes], key=_begin, default=None)
    step = cited[0] if cited else None
    return _Lead(Cause(), judgement.rationale, step) if lead is None else lead._replace(text=judgement.rationale)


def _is_cited(step: Step, spans: Sequence[str]) -> bool:
    return f"step:{step.index}" in spans or (bool(step.span_id) and step.span_id in spans)


class _ToolError(NamedTuple):
    """An answer that was an error."""

    step: Step
    tool: str
    kind: ToolErrorType
    message: str

    @property
    def lead(self) -> _Lead:
        tool = "" if self.kind == "unknown_tool" else cleaned(self.tool)  # an invented name is in the text
        return _Lead(Cause(tool=tool, error=self.kind), f"{'' if tool else self.tool} {self.message}", self.step)


def _unrecovered(trajectory: Trajectory | None) -> list[_Lead]:
    """For each tool that did not succeed any more, its first error since its last success."""
    if trajectory is None:
        return []
    successes = {
        call.name: step.index
        for step in trajectory.steps
        for call in step.calls
        if any(seen.call_id == call.id and seen.error is None for seen in step.observations)
    }
    late = [one for one in _errors(trajectory) if one.step.index > successes.get(one.tool, -1)]
    first = {one.tool: one for one in reversed(late)}
    return [one.lead for one in first.values()]


def _errors(trajectory: Trajectory | None, only: Collection[str] = ()) -> Iterator[_ToolError]:
    """Every answer that was an error, in order; `only`: of these classes, else of all that are a tool's doing."""
    for step in () if trajectory is None else trajectory.steps:
        answers = {seen.call_id: seen for seen in step.observations}
        for call in step.calls:
            answer = answers.get(call.id)
            if answer is None or answer.error is None:
                continue
            kind = answer.error.type
            if kind in only or (not only and kind not in _NOT_THE_TOOLS):
                yield _ToolError(step, call.name, kind, answer.error.message)


def _step_at(trajectory: Trajectory, index: int) -> Step | None:
    return next((step for step in trajectory.steps if step.index == index), None)


_BATCH: Final = 200


class Examined(NamedTuple):
    """One session that one kind of scorer examined."""

    session: str
    kind: str
    """`rules` or `judge`."""
    cluster: str
    """Sessions of one cluster are not independent: attempts at one case."""
    inverse_rate: float
    received_ns: int


class Population(NamedTuple):
    """Everything that themes of one suite are made of."""

    source: str
    suite: str
    examined: list[Examined]
    failures: list[SessionFailure]

    @property
    def is_of_run(self) -> bool:
        """Whether it is a run's, and not production's."""
        return self.source.startswith("run:")


def run_population(project: Path, folder: RunFolder) -> Population:
    """A run's trials. Raises ResultsError naming a damaged file."""
    manifest = folder.manifest
    begun_ns = min(manifest.created_ns, time.time_ns())  # one in the future would make every known theme look old
    judged = _judged_by_trial(project, folder)
    found = Population(f"run:{manifest.run}", manifest.suite, [], [])
    for card in folder.each_card():
        key = card.case_id, card.attempt
        session = f"{manifest.run}/{card.case_id}/{card.attempt}"
        found.examined.append(Examined(session, "rules", card.case_id, 1.0, begun_ns))
        answers, contradicted = judged.get(key, ((), ()))
        if card.success and not (answers or card.diagnoses) and manifest.tool_mode != "imported":
            continue  # nothing to name, so that its trajectory is not read
        trial = folder.trial(*key)
        trajectory = None if trial is None else trial.trajectory
        common = SessionFailure(
            session=session,
            case=card.case_id,
            criterion="",
            release=cleaned(manifest.release or manifest.agent),
            received_ns=begun_ns,
        )
        found.failures.extend(failures_of_card(card, trajectory, common))
        if trajectory is not None and trajectory.uncaptured:
            found.failures.append(_gap(common, _without_content(trajectory.uncaptured)))
        if answers:
            found.examined.append(Examined(session, "judge", card.case_id, 1.0, begun_ns))
            found.failures.extend(failures_of_judgements(answers, card, trajectory, common, contradicted))
    return found


def store_populations(
    project: Path, store: SessionStore, *, since_ns: int = 0, suite: str | None = None
) -> list[Population]:
    """The sessions received since then, one population a suite."""
    scores = [one for one in _latest(store, since_ns) if one.suite == (suite or one.suite)]
    rows = {row.key: row for row in store.sessions(since_ns=since_ns)}
    found: dict[str, Population] = {}
    examined = set[tuple[str, str, str]]()
    failed: dict[str, list[SessionScore]] = defaultdict(list)
    for score in sorted(scores, key=lambda one: (one.suite, one.received_ns, one.session, one.kind)):
        population = found.setdefault(score.suite, Population("store", score.suite, [], []))
        if (score.suite, score.session, score.kind) not in examined:  # two rubrics are one examination
            examined.add((score.suite, score.session, score.kind))
            population.examined.append(_examined_score(score))
        population.failures.extend(_gaps(score))
        if not score.unreadable and _shows_something(score):
            failed[score.session].append(score)
    contradictions = _Contradictions(project)
    for session, trajectory in _trajectories(store, [rows[key] for key in failed if key in rows]):
        for name, failure in _of_scores(failed.pop(session), trajectory, contradictions):
            found[name].failures.append(failure)
    for left in failed.values():  # spans are gone, scores are there
        for name, failure in _of_scores(left, None, contradictions):
            found[name].failures.append(failure)
    return list(found.values())


def _latest(store: SessionStore, since_ns: int) -> list[SessionScore]:
    """The latest of each session, kind, suite and rubric, without those that sampling left out."""
    found = store.score_store.read(since_ns=since_ns, latest=True)
    return [one for one in found if not one.skipped or one.unreadable]


def _shows_something(score: SessionScore) -> bool:
    return score.failed or any(one.answer == "judge_failed" for one in score.judgements) or _is_unmeasured(score)


def _is_unmeasured(score: SessionScore) -> bool:
    return score.card is not None and score.card.outcome in ("inconclusive", "simulator_failed", "harness_failed")


def _common(score: SessionScore) -> SessionFailure:
    return SessionFailure(
        session=score.session,
        case="",
        criterion="",
        release=cleaned(score.release),
        received_ns=score.received_ns,
        inverse_rate=1 / score.sampling.rate,
    )


def _examined_score(score: SessionScore) -> Examined:
    return Examined(score.session, score.kind, score.session, 1 / score.sampling.rate, score.received_ns)


def _gaps(score: SessionScore) -> Iterator[SessionFailure]:
    """That its spans cannot be read, or leave something out."""
    if score.unreadable:
        yield _gap(_common(score), "; ".join(score.notes))
    elif score.uncaptured:
        yield _gap(_common(score), _without_content(score.uncaptured))


def _gap(common: SessionFailure, text: str) -> SessionFailure:
    return common.model_copy(update={"fault": "tracing_gap", "weight": "harness", "text": text[:MOST_TEXT]})


def _without_content(uncaptured: Sequence[Content]) -> str:
    return f"the spans do not carry {content_words(uncaptured)}"


def _of_scores(
    scores: Sequence[SessionScore], trajectory: Trajectory | None, contradictions: "_Contradictions"
) -> Iterator[tuple[str, SessionFailure]]:
    """(suite, failure) of one session's scores."""
    cards = {score.suite: score.card for score in scores if score.card is not None}
    for score in scores:
        common = _common(score)
        card = cards.get(score.suite)
        if score.card is not None:
            yield from ((score.suite, one) for one in failures_of_card(score.card, trajectory, common))
        contradicted = contradictions.of(score.suite, score.judgements)
        judged = failures_of_judgements(score.judgements, card, trajectory, common, contradicted)
        yield from ((score.suite, one) for one in judged)


def _trajectories(store: SessionStore, rows: Sequence[SessionRow]) -> Iterator[tuple[str, Trajectory | None]]:
    for some in in_pieces(rows, _BATCH):
        for session in store.load_many(some):
            try:
                yield session.row.key, session.trajectory
            except (HarnessError, ValueError, TypeError, RecursionError):  # a late span made it unreadable
                yield session.row.key, None


def _judged_by_trial(project: Path, folder: RunFolder) -> dict[tuple[str, int], tuple[list[Judgement], set[str]]]:
    """By trial its latest judgements, and the criteria that people say were met though the judge says not."""
    found: dict[tuple[str, int], tuple[list[Judgement], set[str]]] = {}
    contradictions = _Contradictions(project, folder.path)
    for rubric in judged_rubrics(folder.path):
        for one in latest(of_last_judge(read_judgements(folder.path, rubric))).values():
            answers, contradicted = found.setdefault((one.case_id, one.attempt), ([], set()))
            answers.append(one)
            if one.rubric == rubric:  # what a file of others says of itself names no other file
                contradicted |= contradictions.of(folder.manifest.suite, [one])
    return found


class _Contradictions:
    """Failing judgements that people's labels contradict; a label counts by the rules of `harness judge agreement`."""

    def __init__(self, project: Path, run: Path | None = None) -> None:
        self._project = project
        self._run = run
        self._passed = cache(self._passed_by_people)

    def of(self, suite: str, judgements: Sequence[Judgement]) -> set[str]:
        """The criteria."""
        return {
            one.criterion
            for one in judgements
            if one.answer == "fail" and item_of(one) in self._passed(suite, one.rubric, one.rubric_digest)
        }

    def _passed_by_people(self, suite: str, name: str, digest: str) -> frozenset[LabelItem]:
        try:
            if self._run is not None:
                rubric = kept_rubric(self._run, name, digest)
            else:
                rubric = load_rubric(name, self._project / "suites" / suite)
        except HarnessError:
            return frozenset()
        labels = sort_labels(label_path(self._project, suite, rubric.name), rubric)
        return frozenset(one.item for one in labels.items if one.answer == "pass")
