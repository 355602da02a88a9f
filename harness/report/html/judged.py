"""The judgements in the HTML report: a table for each rubric, and the verdicts of one trial with their reasons."""

from collections.abc import Iterable, Iterator, Sequence

from harness.judge import Judgement
from harness.report.figures.judged import judged_run
from harness.report.html.payload import Cutter, present
from harness.report.render.judged import judge_words, judged_section
from harness.results import RunFolder
from harness.trace import Step
from harness.values import JsonObject, JsonValue

_ITEMS = 100
_STEP = "step:"


def judged_tables(folder: RunFolder) -> list[JsonValue]:
    """The sections of the other reports. Tables of two runs are of one rubric where their `key` is the same."""
    tables: list[JsonValue] = []
    for one in judged_run(folder):
        section = judged_section(one)
        tables.append(
            {
                "key": f"{one.rubric}@{one.rubric_version}",
                "title": section.title,
                "heads": list(section.heads),
                "rows": [list(row) for row in section.rows],
                "notes": list(section.notes),
            }
        )
    return tables


def judged_verdicts(judgements: Sequence[Judgement], steps: Sequence[Step], cut: Cutter) -> list[JsonValue]:
    """Of one trial, by rubric and criterion; `steps` of a verdict are those that it rests on."""
    places = {step.span_id: step.index for step in steps if step.span_id is not None}
    return [_verdict(one, places, cut) for one in judgements[:_ITEMS]]


def _verdict(one: Judgement, places: dict[str, int], cut: Cutter) -> JsonObject:
    why = one.rationale if one.failure is None else f"{one.failure}. {one.rationale}".rstrip(". ")
    return present(
        rubric=one.rubric,
        criterion=one.criterion,
        answer=one.answer,
        why=cut.text(why) if why else None,
        judge=judge_words(one.judge),
        steps=list(dict.fromkeys(_steps(one.spans, places))),
    )


def _steps(spans: Iterable[str], places: dict[str, int]) -> Iterator[int]:
    for span in spans:
        if span in places:
            yield places[span]
        elif span.startswith(_STEP) and span.removeprefix(_STEP).isdecimal():
            yield int(span.removeprefix(_STEP))
