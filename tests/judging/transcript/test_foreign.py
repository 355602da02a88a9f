"""Foreign traces become the same transcript, however they are told, and in real ones nothing that is used is lost."""

import re
from pathlib import Path

import pytest

from harness.judging.transcripts import build_transcript
from harness.judging.views import view
from harness.runs.foreign_runs import import_file
from harness.traces.formats.found import ImportOptions
from harness.traces.trial import Trial
from tests.real_data import real_data

FIXTURES = Path(__file__).parents[2] / "traces" / "importing" / "fixtures"
TELLINGS = ("otel_structured.json", "otel_text.json", "otel_events.json", "otel_logs.jsonl", "openinference.json")


def trials(format: str, path: Path) -> list[Trial]:
    return [trial for trial, _ in import_file(format, path, ImportOptions()).trials]


@pytest.mark.parametrize("telling", TELLINGS)
def test_attributes_events_logs_and_openinference_give_one_transcript(telling):
    (trial,) = trials("otel", FIXTURES / telling)
    transcript = build_transcript(trial)
    assert [
        ("system", "You keep a shop."),
        ("user", "Is the lamp there, and the chair?"),
        ("agent", "The lamp is."),
        ("user", "Thanks!"),
        ("agent", "Welcome."),
    ] == [(piece.kind, piece.text) for piece in transcript.pieces if piece.tool is None and piece.kind != "thought"]
    results = [piece.text for piece in view(transcript, ["calls"]) if piece.kind == "result"]
    assert '{"left": 9}' == results[0]
    assert "no such thing" in results[1]
    assert all(transcript.span_of(piece.ref) for piece in transcript.pieces)


def test_a_value_that_a_later_call_takes_from_a_result_is_never_lost():
    """In real runs: what an argument repeats from an earlier result stands in the transcript of that result."""
    folder = real_data("tau2")
    taken = lost = saved = 0
    for trial in trials("tau2", folder / "gpt-4.1_retail_default_1trial.json")[:40]:
        transcript = build_transcript(trial)
        shown = {piece.ref: piece for piece in transcript.pieces}
        for before, after in _pairs(trial):
            for step, number, value in before:
                piece = shown[f"s{step}.r{number}"]
                if value in after and not piece.text.startswith("[the same"):
                    taken += 1
                    lost += value not in piece.text
        saved += transcript.raw_chars - transcript.chars
    assert taken > 300
    assert 0 == lost
    assert saved > 0


def _pairs(trial: Trial):
    """For each step: the ids in the results before it (step, number, id), and those in its own arguments."""
    before: list[tuple[int, int, str]] = []
    for step in trial.trajectory.steps:
        after = {word for call in step.calls for word in re.findall(r"\b[\w#]*\d{5,}\b", str(call.arguments))}
        yield list(before), after
        for number, seen in enumerate(step.observations, 1):
            before += [(step.index, number, word) for word in set(re.findall(r"\b[\w#]*\d{5,}\b", str(seen.content)))]
