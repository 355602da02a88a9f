"""Trials to annotate, in as few words as tests need; the same small rubric as elsewhere."""

from pathlib import Path

from harness.judging.annotation import AnnotationQueue, AnnotationTask, AnnotatorSession, work_of
from harness.judging.judge import JudgedTrial
from harness.traces.trajectory import Observation, Step, ToolCall, Trajectory
from harness.traces.trial import Trial
from tests.judging.labelling import RUBRIC


def subject(case_id: str, *, said: str = "", result: object = "tea", attempt: int = 1) -> JudgedTrial:
    """A guest orders, a tool is called, the agent answers."""
    call = ToolCall(id="c1", name="add", arguments={"item": "tea"})
    steps = (
        Step(index=0, source="user", message=f"Tea please, I am {case_id}."),
        Step(
            index=1,
            source="agent",
            calls=(call,),
            observations=(Observation.model_validate({"call_id": "c1", "content": result}),),
        ),
        Step(index=2, source="agent", message=said or "One tea."),
    )
    trajectory = Trajectory(trace_id=case_id, agent="window", steps=steps, final_output=said or "One tea.")
    trial = Trial(case_id=case_id, attempt=attempt, outcome="finished", trajectory=trajectory)
    return JudgedTrial.of("night", trial, None)


def work(*cases: str, said: str = "") -> list[AnnotationTask]:
    """Two questions a case: `complete`, `polite`."""
    return list(work_of([subject(case, said=said) for case in cases], RUBRIC))


def queue(
    folder: Path, name: str, questions: list[AnnotationTask], role: str = "annotator", per_item: int = 2
) -> AnnotationQueue:
    seat = AnnotatorSession.model_validate({"name": name, "role": role, "per_item": per_item})
    return AnnotationQueue(RUBRIC, folder / "labels.jsonl", seat, questions)
