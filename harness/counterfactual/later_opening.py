"""The latest message of the user that a failing conversation can begin with: delta debugging leaves out later messages,
and the opening one is the task itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from harness.case import Case, TrialVariant
from harness.cassette import Recording
from harness.counterfactual.minimal_parts import manner_of
from harness.counterfactual.minimal_search import save_recordings, with_log
from harness.pipeline import VariantBench, VariantRequest
from harness.simulate import UserLog

_MOST = 12
"""Openings that are tried at most, from the end."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A failing conversation, and in which manner it fails."""

    case: Case
    log: UserLog | None
    """What a logged user says; None: the case's user is another one."""
    manner: tuple[str, ...]
    recordings: Sequence[Recording]
    """What it is replayed from."""


def with_later_opening(failing: Opened, bench: VariantBench, files: Path) -> tuple[Case, UserLog | None, int]:
    """The case and its log without the user's first messages, and how many were left out: as many as leave a
    conversation that still fails in the same manner.

    `files`: a folder for what the tries need.
    """
    for left_out, later, later_log in islice(_openings(failing.case, failing.log), _MOST):
        tried = later.model_copy(update={"id": f"opening-{left_out}"})
        if later_log is not None:
            tried = with_log(tried, later_log, files / f"{tried.id}.json")
        save_recordings(files, bench.suite.name, tried.id, failing.recordings)
        card = bench.run([VariantRequest(case=tried, variant=TrialVariant())])[0].scored.card
        if manner_of(card) == failing.manner:
            return later.model_copy(update={"user": tried.user}), later_log, left_out
    return failing.case, failing.log, 0


def _openings(case: Case, log: UserLog | None) -> Iterator[tuple[int, Case, UserLog | None]]:
    """(messages left out, the case that begins after them, its log), those with the fewest messages first."""
    talk = case.conversation
    if log is not None:
        for number in range(len(log.turns) - 1, 0, -1):
            turns = log.turns[number:]
            yield number, case.model_copy(update={"task": turns[0].user}), log.model_copy(update={"turns": turns})
    elif talk is not None and talk.opening is None:
        for number in range(len(talk.turns), 0, -1):
            opening, rest = talk.turns[number - 1], talk.turns[number:]
            if opening.say is not None and opening.when is None:
                later = talk.model_copy(update={"turns": rest}) if rest else None
                yield number, case.model_copy(update={"task": opening.say, "conversation": later}), None
