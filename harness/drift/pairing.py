"""Pairs a live run's answers with the recordings of the same calls; a call without a pair is a divergence of the agent,
not of the tools.
"""

from collections.abc import Iterable, Iterator

from harness.cassette import Cassette, LiveCassette, Recording
from harness.drift.observations import CallObservations
from harness.drift.operation_index import OperationIndex

_SHOWN = 3
_LONGEST = 160


def pair(
    cassettes: Iterable[LiveCassette], operations: OperationIndex
) -> tuple[tuple[CallObservations, ...], tuple[str, ...]]:
    """Returns the observations of each recorded call, with the answers of every trial that made it, and descriptions of
    the divergences.
    """
    observations: dict[tuple[str, str, int], CallObservations] = {}
    divergences: list[str] = []
    for live in cassettes:
        recorded = operations.cassettes.get(live.case or "")
        if recorded is None:
            divergences.append(f"{live.case}, attempt {live.attempt}: the case has no recordings")
            continue
        apart: list[Recording] = []
        for answer in (one for one in live.load().recordings if one.mark.kind != "model"):
            match = recorded_of(recorded, answer)
            if match is None:
                apart.append(answer)
                continue
            observation = observations.setdefault(match.place, CallObservations(recorded=match, cases=set()))
            observation.cases.add(live.case or "")
            observation.add(operations, match, answer)
        divergences += _words(live, apart, recorded)
    return tuple(observations[place] for place in sorted(observations)), tuple(divergences)


def recorded_of(cassette: Cassette, live: Recording) -> Recording | None:
    """The recording of the same call after the same writes; for repeated reads beyond the recorded ones, the last
    recording.
    """
    mark = live.mark
    answers = cassette.answers(mark.key, mark.state)
    if mark.occurrence < len(answers):
        return answers[mark.occurrence]
    return answers[-1] if answers and mark.effect == "read" else None


def _words(live: LiveCassette, apart: list[Recording], recorded: Cassette) -> Iterator[str]:
    for one in apart[:_SHOWN]:
        call = f"{one.mark.tool}({one.arguments})"
        call = call if len(call) <= _LONGEST else f"{call[: _LONGEST - 3]}..."
        known = " after the writes made before it" if recorded.holds_key(one.mark.key) else ""
        yield f"{live.case}, attempt {live.attempt}: the agent asked {call}, which was not recorded{known}"
    if len(apart) > _SHOWN:
        yield f"{live.case}, attempt {live.attempt}: and {len(apart) - _SHOWN} more calls that were not recorded"
