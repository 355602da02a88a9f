"""The cassette of one trial: the recordings that it used, and its observed answers where no cassette has them.

The calls pass the same state chain as in a recording, so that the same calls get the same answers.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.case import StateNames
from harness.cassette.cassette import Cassette
from harness.cassette.keys import CallKey
from harness.cassette.recorder.trial_recording import CallPosition, position_of
from harness.cassette.recording import Outcome, Recording
from harness.cassette.state import StateChain


@dataclass(frozen=True, kw_only=True)
class ObservedAnswer:
    """An answer in the form in which a tool sends it."""

    status: int
    body: bytes
    outcome: Outcome = "answer"


@dataclass(frozen=True, kw_only=True)
class ObservedCall:
    """A call that reached its tool; `answer` is None where the answer is unknown, or was changed by a fault."""

    key: CallKey
    answer: ObservedAnswer | None


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """The recordings, and the calls without an answer."""

    recordings: tuple[Recording, ...]
    unanswered: tuple[CallKey, ...]


def excerpt(cassette: Cassette, calls: Iterable[ObservedCall], names: StateNames | None = None) -> Excerpt:
    """The recordings that replay the calls in their order. Recordings of other kinds (models, hosts) are all
    included.
    """
    kept = {one.place: one for one in cassette.recordings if one.mark.kind != "tool"}
    missing: list[CallKey] = []
    chain = StateChain(names)
    made: defaultdict[tuple[str, str], int] = defaultdict(int)
    for call in calls:
        key = call.key
        number = made[key.key, chain.state(key.server)]
        position = position_of(chain, key, number)
        made[key.key, position.state] += 1
        if key.effect == "write":
            chain.advance(key)
        found = list(_recorded(cassette, key, position.state, number)) or list(_written(call, position))
        kept |= {one.place: one for one in found}
        if not found:
            missing.append(key)
    return Excerpt(recordings=tuple(kept.values()), unanswered=tuple(missing))


def _recorded(cassette: Cassette, key: CallKey, state: str, number: int) -> Iterator[Recording]:
    """The answers up to the `number`-th: each of them was returned, and a cassette must not have gaps."""
    answers = cassette.answers(key.key, state)
    if number < len(answers) or key.effect == "read":
        yield from answers[: number + 1]


def _written(call: ObservedCall, position: CallPosition) -> Iterator[Recording]:
    answer = call.answer
    if answer is not None:
        mark = position.mark("tool", answer.outcome).model_copy(update={"provenance": "trajectory"})
        yield Recording(mark=mark, arguments=call.key.arguments, status=answer.status, body=answer.body)
