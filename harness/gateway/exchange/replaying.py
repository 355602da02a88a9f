"""Answers from a cassette, for every kind of call but model requests."""

from harness.cassette import CallKey, Missed, Player
from harness.upstream import ToolAnswer, ToolMiss


def replayed(player: Player, key: CallKey) -> ToolAnswer | ToolMiss:
    """The recorded answer to a call in the trial's current state. The status is 0 where no answer had started."""
    played = player.play(key)
    if isinstance(played, Missed):
        return ToolMiss(message=played.message, nearest=tuple(item.model_dump(mode="json") for item in played.nearest))
    recording = played.recording
    begun = recording.mark.outcome == "answer" or bool(recording.mark.chunks)
    return ToolAnswer(
        outcome=recording.mark.outcome,
        tier=played.tier,
        provenance=recording.mark.provenance,
        once_recorded=played.once_recorded,
        status=recording.status if begun else 0,
        headers=recording.headers,
        body=recording.body,
    )
