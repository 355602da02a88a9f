"""The judge: one criterion of one trial at a time."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from harness.errors import OutOfTime, UsageError
from harness.gateway.models.client import ModelClient
from harness.gateway.models.formats import Replied
from harness.gateway.models.recordings import AskMode, ModelCassette, ModelClientOptions
from harness.judging.prompts import Prompt
from harness.judging.questions import (
    MAX_EVIDENCE_CHARS,
    GivenAnswer,
    JudgeFailed,
    Shown,
    evidence_digest,
    judge_request,
    read_answer,
    shown_evidence,
)
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.settings import JudgeSettings
from harness.judging.transcripts import Piece, Transcript, build_transcript
from harness.judging.verdicts import JudgeIdentity, Judgement, Votes
from harness.judging.views import CODE_CRITERIA, CodeCriterion, acted, view
from harness.plugins import described, find_plugin
from harness.scoring.rules.learned import broken
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import Case
from harness.suite.paths import selects
from harness.traces.trial import Trial
from harness.values import JsonObject

_REPAIR = "Your last answer was not in the given form. Answer again, with the JSON object alone."
"""The text repeats nothing of that answer, which may contain words of the evidence."""


@dataclass(frozen=True, kw_only=True)
class JudgedTrial:
    """One trial in the form that is judged."""

    run: str
    trial: Trial
    case: Case | None
    digest: str
    """The digest of the trajectory."""
    card: Scorecard | None = None
    """The scorecard, whose findings are the log of criteria of kind `step`; None: there is no log."""
    _shown: dict[tuple[tuple[str, ...], tuple[str, ...], bool], Shown] = field(default_factory=dict)

    @classmethod
    def of(cls, run: str, trial: Trial, case: Case | None, card: Scorecard | None = None) -> "JudgedTrial":
        return cls(run=run, trial=trial, case=case, digest=trial.trajectory.digest, card=card)

    @cached_property
    def transcript(self) -> Transcript:
        return build_transcript(self.trial, self.case)

    def shown(self, criterion: Criterion) -> Shown:
        """The evidence for a criterion; built once for all criteria with the same view."""
        views = (criterion.evidence, criterion.agents)
        with_log = criterion.kind == "step"
        if (*views, with_log) not in self._shown:
            log = self.log if with_log else ()
            self._shown[*views, with_log] = shown_evidence([*view(self.transcript, *views), *log])
        return self._shown[*views, with_log]

    @cached_property
    def log(self) -> tuple[Piece, ...]:
        """The facts and the broken learned rules, numbered by their steps."""
        if self.card is None:
            return ()
        found = [
            (one.origin_step, f"{one.failure}: {one.kind}: {one.evidence}")
            for one in self.card.diagnoses
            if one.kind not in ("judged", "unexplained")
        ]
        found += [
            (one.step, f"rule broken: {one.rule}: {one.reason} ({one.support})") for one in broken(self.card.rules)
        ]
        found.sort(key=lambda entry: (-1 if entry[0] is None else entry[0], entry[1]))
        return tuple(
            Piece(ref=f"L{number}", kind="log", text=words if step is None else f"step {step}: {words}")
            for number, (step, words) in enumerate(found, 1)
        )

    @cached_property
    def document(self) -> Any:
        """The document that the path of an `eligibility` is evaluated on."""
        profile = None if self.case is None else self.case.user_profile
        tags = [] if self.case is None else list(self.case.tags)
        whole = self.trial.trajectory.model_dump(mode="json")
        return whole | {"user_profile": profile, "states": dict(self.trial.states), "tags": tags}


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A rubric, a prompt and a model."""

    rubric: Rubric
    prompt: Prompt
    settings: JudgeSettings
    asker: ModelClient
    folder: Path | None = None
    """The folder of the rubric's own code."""

    @cached_property
    def rubric_digest(self) -> str:
        return self.rubric.digest

    @cached_property
    def identity(self) -> JudgeIdentity:
        return self.settings.identity(self.prompt)

    def decided(self, subject: JudgedTrial, criterion: Criterion) -> Judgement | None:
        """The judgement if no model is needed: code decides, or the criterion is not eligible. None: a model must
        decide.
        """
        try:
            why = why_not_eligible(self.rubric, subject, criterion)
        except OutOfTime as error:
            name = JudgeIdentity(model="code:eligibility@1")
            return self._blank(subject, criterion, "", name).model_copy(update={"failure": str(error)})
        if why is not None:
            return self._not_eligible(subject, criterion, why)
        return self._by_code(subject, criterion) if criterion.kind == "code" else None

    async def judge(self, subject: JudgedTrial, criterion: Criterion, cassettes: Sequence[ModelCassette]) -> Judgement:
        """Judges one criterion, by code or by one sample for each cassette; a failure of the judge is a judgement,
        too.
        """
        return self.decided(subject, criterion) or await self.ask(subject, criterion, cassettes)

    async def ask(self, subject: JudgedTrial, criterion: Criterion, cassettes: Sequence[ModelCassette]) -> Judgement:
        """Like `judge`, for a criterion that a model has to decide."""
        answers = [await self._sample(subject, criterion, cassette) for cassette in cassettes]
        return self._majority(answers)

    def evidence(self, subject: JudgedTrial, criterion: Criterion) -> list[Piece]:
        """The evidence that the judge receives for this criterion."""
        return list(subject.shown(criterion).pieces)

    async def _sample(self, subject: JudgedTrial, criterion: Criterion, cassette: ModelCassette) -> Judgement:
        evidence = subject.shown(criterion)
        shown = self._blank(subject, criterion, evidence.digest)
        if len(evidence.block) > MAX_EVIDENCE_CHARS:
            return shown.model_copy(update={"failure": f"the evidence is longer than {MAX_EVIDENCE_CHARS} characters"})
        body = judge_request(self.prompt.text, self.settings.model, self.asker.provider, criterion, evidence)

        def is_answer(replied: Replied) -> bool:
            """Whether a reply can be read: one that cannot is not recorded."""
            try:
                read_answer(replied, criterion, evidence.refs, evidence.steps)
            except JudgeFailed:
                return False
            return True

        bodies, problem, cached = (body, _repeated(body)), "", False
        recorded = (self.asker.recorded(cassette, one, is_answer) for one in bodies)
        known = next((one for one in recorded if one is not None), None)
        for one in bodies:
            reply = known or await self.asker.ask(cassette, one, is_answer)
            cached = reply.recorded
            if reply.problem is not None:
                return shown.model_copy(update={"failure": reply.problem, "cached": cached})
            try:
                answer = read_answer(reply.replied, criterion, evidence.refs, evidence.steps)
                return _judgement_from(shown, subject, answer, cached)
            except JudgeFailed as error:
                problem = str(error)
        return shown.model_copy(update={"failure": f"the judge {problem}", "cached": cached})

    def _by_code(self, subject: JudgedTrial, criterion: Criterion) -> Judgement:
        assert criterion.code is not None
        code = code_criterion(criterion, self.folder)
        name = JudgeIdentity(model=f"code:{criterion.code}@{code.version}")
        blank = self._blank(subject, criterion, evidence_digest(subject.transcript.pieces), name)
        try:
            decision = code.decide(subject.transcript)
        except Exception as error:  # noqa: BLE001 - a project's own code: its fault must cost no other criterion
            return blank.model_copy(update={"failure": f"the code itself failed: {described(error)}"})
        return blank.model_copy(
            update={
                "eligible": decision.eligible,
                "passed": decision.passed if decision.eligible else None,
                "rationale": decision.rationale,
                "spans": _spans(subject, decision.refs),
            }
        )

    def _not_eligible(self, subject: JudgedTrial, criterion: Criterion, why: str) -> Judgement:
        blank = self._blank(subject, criterion, "", JudgeIdentity(model="code:eligibility@1"))
        return blank.model_copy(update={"eligible": False, "rationale": why})

    def _blank(
        self, subject: JudgedTrial, criterion: Criterion, evidence: str, judge: JudgeIdentity | None = None
    ) -> Judgement:
        return Judgement(
            run=subject.run,
            case_id=subject.trial.case_id,
            attempt=subject.trial.attempt,
            trace_id=subject.transcript.trace_id,
            trajectory=subject.digest,
            evidence=evidence,
            rubric=self.rubric.name,
            rubric_version=self.rubric.version,
            rubric_digest=self.rubric_digest,
            criterion=criterion.id,
            criterion_version=criterion.version,
            eligible=None,
            passed=None,
            judge=judge or self.identity,
        )

    def _majority(self, answers: list[Judgement]) -> Judgement:
        """The answer of most samples, with its step; a tie gives no judgement, and failed samples do not count."""
        if len(answers) == 1:
            return answers[0]
        decisions = Counter((one.answer, one.step) for one in answers)
        counts = Counter(one.answer for one in answers)
        votes = Votes(
            passed=counts["pass"],
            failed=counts["fail"],
            not_eligible=counts["not_eligible"],
            judge_failed=counts["judge_failed"],
        )
        ranked = [(count, decision) for decision, count in decisions.most_common() if decision[0] != "judge_failed"]
        tied = len(ranked) > 1 and ranked[0][0] == ranked[1][0]
        if not ranked or tied:
            why = "the samples tie" if tied else next(one.failure for one in answers)
            update = {"eligible": None, "passed": None, "rationale": "", "spans": (), "failure": why}
            update |= {"step": None, "mode": None, "log": ()}
            return answers[0].model_copy(update=update | {"votes": votes})
        chosen = next(one for one in answers if (one.answer, one.step) == ranked[0][1])
        return chosen.model_copy(update={"votes": votes, "cached": all(one.cached for one in answers)})


def client_of(settings: JudgeSettings, mode: AskMode, secrets: Mapping[str, str], **own: Any) -> ModelClient:
    """The client of a judge's model; `own`: further `ModelClientOptions`."""
    options = ModelClientOptions(
        mode=mode,
        secrets=secrets,
        tries=settings.tries,
        first_wait_s=settings.first_wait_s,
        sampling=settings.sampling,
        **own,
    )
    return ModelClient(settings.spec, settings.provider, options)


def _repeated(body: JsonObject) -> JsonObject:
    """The request after an answer that was none."""
    repair: JsonObject = {"role": "user", "content": _REPAIR}
    messages = cast(list[Any], body["messages"])
    return body | {"messages": [*messages, {"role": "assistant", "content": "(no answer)"}, repair]}


def why_not_eligible(rubric: Rubric, subject: JudgedTrial, criterion: Criterion) -> str | None:
    """Why the criterion does not apply, as far as code can decide it; None if it may apply.

    Raises OutOfTime if the path of its `eligibility` takes too long.
    """
    if criterion.agents and not acted(subject.transcript, criterion.agents):
        return f"none of {', '.join(criterion.agents)} acted"
    if criterion.kind == "checklist" and not rubric.checklists.get(subject.trial.case_id, ()):
        return "the case has no checklist"
    path = criterion.eligible_path
    if path is not None and not selects(path, subject.document, field=f"criterion {criterion.id!r}: eligibility"):
        return f"nothing is selected by {path}"
    return None


def code_criterion(criterion: Criterion, folder: Path | None) -> CodeCriterion:
    """The code that decides a criterion; raises UsageError if it does not exist, or its fields are invalid."""
    found = find_plugin("criterion", str(criterion.code), CODE_CRITERIA, folder)
    try:
        return cast(CodeCriterion, found(**criterion.parameters))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"criterion {criterion.id!r}: {criterion.code} takes no {json.dumps(criterion.parameters)}: {error}"
        ) from None


def _judgement_from(blank: Judgement, subject: JudgedTrial, answer: GivenAnswer, cached: bool) -> Judgement:
    return blank.model_copy(
        update={
            "eligible": answer.eligible,
            "passed": None if answer.verdict is None else answer.verdict == "pass",
            "rationale": answer.rationale,
            "spans": _spans(subject, answer.refs),
            "step": answer.step,
            "mode": answer.mode,
            "log": tuple(piece.text for piece in subject.log if piece.ref in answer.refs),
            "cached": cached,
        }
    )


def _spans(subject: JudgedTrial, refs: Sequence[str]) -> tuple[str, ...]:
    found = (subject.transcript.span_of(ref) for ref in refs)
    return tuple(dict.fromkeys(span for span in found if span is not None))
