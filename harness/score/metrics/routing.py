"""Whether the main agent of several passed each turn on to the right ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.case import Route
from harness.score.evidence import Evidence
from harness.trace import Step

_REROUTED = 0.5


class Routing:
    """Mean over the user's turns that a route of the case names; 0 to 1.

    A turn is 1 where exactly the expected sub-agents acted, 0.5 where all of them acted and so did another (the turn
    was rerouted, or passed on needlessly), and 0 where an expected one did not act. Where no sub-agent is expected, a
    turn is 1 without any and else 0. A sub-agent acts by a reply of its model or a call; its name is that of its span,
    or `<agent>/<n>` where the program sends none. The main agent is the one that sends the first model request.
    Excluded: turns that no route names, and routes whose turn never came. None where the case has no route, and where
    no turn is left.
    """

    name: ClassVar[str] = "routing"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        routes = evidence.case.routes
        if not routes:
            return None, "the case has no routes"
        turns = list(_turns(evidence.trial.trajectory.steps, evidence.trial.trajectory.agent))
        routed = [(turn, route) for turn in turns if (route := _route_of(turn, routes)) is not None]
        if not routed:
            return None, "no turn of the conversation is one that the case's routes name"
        values = [_value(set(route.agents), set(turn.acted)) for turn, route in routed]
        words = f"{values.count(1.0)} of {len(routed)} turns went to the expected agents only"
        rerouted = values.count(_REROUTED)
        words += f", {rerouted} rerouted" if rerouted else ""
        wrong = [_words(turn, route) for (turn, route), value in zip(routed, values, strict=True) if value < 1]
        return sum(values) / len(values), "; ".join([words, *wrong])


@dataclass(frozen=True, kw_only=True)
class _Turn:
    number: int
    message: str
    acted: tuple[str, ...]
    """Sub-agents in the order in which they first acted."""


def _turns(steps: Sequence[Step], agent: str) -> Iterator[_Turn]:
    first = next((step.agent for step in steps if step.source == "agent" and step.model is not None), None)
    main = {agent, first, None}
    number, message = 0, ""
    acted: dict[str, None] = {}
    for step in steps:
        if step.source == "user":
            if number:
                yield _Turn(number=number, message=message, acted=tuple(acted))
            number, message, acted = number + 1, step.message or "", {}
        elif step.source == "agent" and step.agent is not None and step.agent not in main:
            acted[step.agent] = None
    if number:
        yield _Turn(number=number, message=message, acted=tuple(acted))


def _route_of(turn: _Turn, routes: Sequence[Route]) -> Route | None:
    return next((route for route in routes if route.fits(turn.number, turn.message)), None)


def _value(expected: set[str], acted: set[str]) -> float:
    if not expected:
        return 0.0 if acted else 1.0
    if not expected <= acted:
        return 0.0
    return 1.0 if expected == acted else _REROUTED


def _words(turn: _Turn, route: Route) -> str:
    expected, acted = ", ".join(sorted(route.agents)) or "none", ", ".join(turn.acted) or "none"
    return f"turn {turn.number}: expected {expected}, acted {acted}"
