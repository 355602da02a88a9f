"""A small rubric, judgements and labels, in as few words as tests need."""

from harness.judging.labels import Label, PersonAnswer
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.verdicts import JudgeIdentity, Judgement

RUBRIC = Rubric(
    name="counter",
    domains={"order": 3, "talk": 1},
    criteria=(
        Criterion(id="complete", statement="The whole order was taken.", domain="order", critical=True, version="2"),
        Criterion(id="polite", statement="The guest is greeted.", domain="talk", eligibility="The guest greeted."),
    ),
)


def judgement(
    case_id: str,
    answer: str = "pass",
    *,
    criterion: str = "complete",
    trajectory: str | None = None,
    attempt: int = 1,
    version: str | None = None,
) -> Judgement:
    known = RUBRIC.criterion(criterion)
    return Judgement(
        run="night",
        case_id=case_id,
        attempt=attempt,
        trajectory=trajectory or f"{case_id}-did",
        rubric=RUBRIC.name,
        rubric_version=RUBRIC.version,
        rubric_digest=RUBRIC.digest,
        criterion=criterion,
        criterion_version=version or (known.version if known else "1"),
        eligible={"pass": True, "fail": True, "not_eligible": False}.get(answer),
        passed={"pass": True, "fail": False}.get(answer),
        failure="answered prose" if answer == "judge_failed" else None,
        rationale=f"because {answer}",
        judge=JudgeIdentity(prompt="criterion", prompt_version="1", model="rules"),
    )


def label(
    case_id: str,
    answer: PersonAnswer = "pass",
    annotator: str = "ann",
    *,
    criterion: str = "complete",
    version: str | None = None,
    rubric: str = "counter",
    role: str = "annotator",
    revises: bool = False,
    note: str = "",
) -> Label:
    known = RUBRIC.criterion(criterion)
    return Label.model_validate(
        {
            "annotator": annotator,
            "run": "night",
            "case_id": case_id,
            "attempt": 1,
            "trajectory": f"{case_id}-did",
            "rubric": rubric,
            "criterion": criterion,
            "criterion_version": version or (known.version if known else "1"),
            "answer": answer,
            "note": note,
            "time": "2026-01-01T00:00:00Z",
            "role": role,
            "revises": revises,
        }
    )
