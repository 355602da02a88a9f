"""The failures of a run, or of the scored sessions of a store, beside all sessions that were examined."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from harness.errors import HarnessError
from harness.judge import Judgement, LabelFile, Rubric, label_path, load_rubric, sort_labels
from harness.online import SessionRow, SessionScore, SessionStore, latest_scores
from harness.results import RunFolder, judged_rubrics, kept_rubric, latest, read_judgements
from harness.score import content_words
from harness.themes.causes import failures_of_card, failures_of_judgements
from harness.themes.failure import MOST_TEXT, SessionFailure, cleaned
from harness.trace import Content, Trajectory

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
    begun_ns = _begun_ns(manifest.created)
    judged = _judged(project, folder)
    cards = {(card.case_id, card.attempt): card for card in folder.scorecards()}
    found = Population(f"run:{manifest.run}", manifest.suite, [], [])
    for stored in folder.trials():
        trial = stored.trial
        session = f"{manifest.run}/{trial.case_id}/{trial.attempt}"
        common = SessionFailure(
            session=session,
            case=trial.case_id,
            criterion="",
            release=cleaned(manifest.release or manifest.agent),
            received_ns=begun_ns,
        )
        card = cards[trial.case_id, trial.attempt]
        found.examined.append(Examined(session, "rules", trial.case_id, 1.0, begun_ns))
        found.failures.extend(failures_of_card(card, trial.trajectory, common))
        if trial.trajectory.uncaptured:
            found.failures.append(_gap(common, _without_content(trial.trajectory.uncaptured)))
        answers, contradicted = judged.get((trial.case_id, trial.attempt), ((), ()))
        if answers:
            found.examined.append(Examined(session, "judge", trial.case_id, 1.0, begun_ns))
            found.failures.extend(failures_of_judgements(answers, card, trial.trajectory, common, contradicted))
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
            population.examined.append(_examined(score))
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
    by_key = latest_scores(store.score_store.read(since_ns=since_ns))
    return [one for one in by_key.values() if not one.skipped or one.unreadable]


def _shows_something(score: SessionScore) -> bool:
    return score.failed or any(one.answer == "judge_failed" for one in score.judgements) or _unmeasured(score)


def _unmeasured(score: SessionScore) -> bool:
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


def _examined(score: SessionScore) -> Examined:
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
    for start in range(0, len(rows), _BATCH):
        for session in store.load_many(rows[start : start + _BATCH]):
            try:
                yield session.row.key, session.trajectory
            except (HarnessError, ValueError, TypeError, RecursionError):  # a late span made it unreadable
                yield session.row.key, None


def _judged(project: Path, folder: RunFolder) -> dict[tuple[str, int], tuple[list[Judgement], set[str]]]:
    """By trial its latest judgements, and the criteria that people say were met though the judge says not."""
    found: dict[tuple[str, int], tuple[list[Judgement], set[str]]] = {}
    contradictions = _Contradictions(project, folder.path)
    for rubric in judged_rubrics(folder.path):
        for one in latest(read_judgements(folder.path, rubric)).values():
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
        self._met: dict[tuple[str, str], Collection[tuple[str, str, str]]] = {}

    def of(self, suite: str, judgements: Sequence[Judgement]) -> set[str]:
        """The criteria."""
        return {
            one.criterion
            for one in judgements
            if one.answer == "fail" and (one.case_id, one.trajectory, one.criterion) in self._of_rubric(suite, one)
        }

    def _of_rubric(self, suite: str, one: Judgement) -> Collection[tuple[str, str, str]]:
        place = (one.rubric, one.rubric_digest)
        if place not in self._met:
            rubric = self._rubric(suite, one)
            self._met[place] = () if rubric is None else _met(self._project, suite, rubric)
        return self._met[place]

    def _rubric(self, suite: str, one: Judgement) -> Rubric | None:
        try:
            if self._run is not None:
                return kept_rubric(self._run, one.rubric, one.rubric_digest)
            return load_rubric(one.rubric, self._project / "suites" / suite)
        except HarnessError:
            return None


def _met(project: Path, suite: str, rubric: Rubric) -> set[tuple[str, str, str]]:
    labels = sort_labels(LabelFile(label_path(project, suite, rubric.name)), rubric)
    return {(one.item.case_id, one.item.trajectory, one.item.criterion) for one in labels.items if one.answer == "pass"}


def _begun_ns(begun: str) -> int:
    """0 where a run folder of others has no time there. One in the future would make every known theme look old, and is
    taken for now.
    """
    try:
        at = datetime.fromisoformat(begun)
        began_ns = int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1e9)
        return max(0, min(began_ns, time.time_ns()))
    except (ValueError, OverflowError):
        return 0
