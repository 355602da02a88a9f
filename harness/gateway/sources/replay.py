"""Answers from a cassette."""

from harness.cassette import Missed, Player
from harness.upstream import ToolAnswer, ToolMiss, ToolRequest


class ReplaySource:
    """Plays one trial's cassette; touches no service."""

    def __init__(self, player: Player) -> None:
        self._player = player

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        played = self._player.play(request.key)
        if isinstance(played, Missed):
            nearest = tuple(item.model_dump(mode="json") for item in played.nearest)
            return ToolMiss(message=played.message, nearest=nearest)
        recording = played.recording
        return ToolAnswer(
            outcome=recording.mark.outcome,
            tier=played.tier,
            provenance=recording.mark.provenance,
            once_recorded=played.once_recorded,
            status=recording.status,
            headers=recording.headers,
            body=recording.body,
        )
