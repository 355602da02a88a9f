"""A verdict that came with an imported run is what judges are held against: none of them may see it."""

from harness.judging.transcripts import build_transcript
from harness.judging.views import view
from harness.traces.trajectory import Step, Trajectory
from harness.traces.trial import Trial


def test_an_imported_reward_is_in_no_view() -> None:
    steps = (Step(index=0, source="user", message="A flight, please."),)
    trial = Trial(
        case_id="a",
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id="", agent="agent", steps=steps),
        states={"reward": 0.0, "bookings": ["one"]},
    )
    shown = view(build_transcript(trial), ["everything"])
    assert ["s0", "state.bookings"] == [piece.ref for piece in shown]
    assert "reward" not in "".join(piece.text for piece in shown)
