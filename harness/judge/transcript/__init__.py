"""A trial as a transcript: short enough for a judge, and complete enough for a fair verdict."""

from harness.judge.transcript.building import build_transcript
from harness.judge.transcript.piece import Piece, Transcript
from harness.judge.transcript.views import VIEWS, check_view, pieces_of, view

__all__ = ["VIEWS", "Piece", "Transcript", "build_transcript", "check_view", "pieces_of", "view"]
