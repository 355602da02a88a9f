"""Durations of a run, and the last output of its agents and services."""

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from harness.runs.store.folder import StoredTrial
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.traces import names
from harness.traces.spans import Span
from harness.traces.trial import ProgramExit, Trial
from harness.values import Frozen

# Durations with live services; durations of a replay say nothing about production.

_REAL = (None, "live", "sealed")
"""Tiers of live answers; None: an imported trace, which was recorded live."""


class Spread(Frozen):
    """Percentiles by nearest rank: a value that was measured, never one between two."""

    n: int
    p50_ms: float
    p95_ms: float


class Latency(Frozen):
    """The measured durations of a run; None for a kind without measurements."""

    first_token: Spread | None
    """From a model request to the first piece of its reply."""
    turn: Spread | None
    """From the user's message to the agent's reply."""
    trial: Spread | None


class LatencyCollector:
    """Collects the times of a run's trials, one at a time."""

    def __init__(self, manifest: RunManifest) -> None:
        self._tools_real = manifest.tool_mode != "replay"
        self._models_real = manifest.model_mode not in ("none", "replay")
        self._first, self._turns, self._trials = array("d"), array("d"), array("d")
        self._tools: dict[str, array[float]] = {}

    def add(self, stored: StoredTrial) -> None:
        """Reads the trial's spans only where a model was called live."""
        if self._models_real:
            self._first.extend(_first_tokens(stored.spans))
        if self._tools_real or self._models_real:
            self._turns.extend(_turns(stored.trial))
            if stored.trial.duration_s is not None:
                self._trials.append(1000 * stored.trial.duration_s)
        if self._tools_real:
            self._add_tools(stored.trial)

    def of_run(self) -> Latency | None:
        """None where nothing was measured."""
        found = Latency(first_token=_spread(self._first), turn=_spread(self._turns), trial=_spread(self._trials))
        return None if found == Latency(first_token=None, turn=None, trial=None) else found

    def of_tools(self) -> dict[str, Spread]:
        """By tool."""
        spreads = {name: _spread(values) for name, values in sorted(self._tools.items())}
        return {name: spread for name, spread in spreads.items() if spread is not None}

    def _add_tools(self, trial: Trial) -> None:
        seen = trial.trajectory.observations
        for call in trial.trajectory.calls:
            one = seen.get(call.id)
            if one is not None and one.replayed in _REAL and one.injected is None and one.duration_ms is not None:
                self._tools.setdefault(call.name, array("d")).append(one.duration_ms)


def _first_tokens(spans: Iterable[Span]) -> list[float]:
    found = [span.attributes.get(names.FIRST_CHUNK_S) for span in spans]
    return [1000 * seconds for seconds in found if isinstance(seconds, int | float)]


def _turns(trial: Trial) -> list[float]:
    found: list[float] = []
    asked: int | None = None
    for step in trial.trajectory.steps:
        if step.source == "user":
            asked = step.ended_ns if step.ended_ns is not None else step.started_ns
        elif step.source == "agent" and step.message is not None and not step.calls and asked is not None:
            if step.ended_ns is not None:
                found.append((step.ended_ns - asked) / 1e6)
            asked = None
    return found


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    ordered = sorted(values)

    def rank(share: float) -> float:
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 6)

    return Spread(n=len(ordered), p50_ms=rank(0.5), p95_ms=rank(0.95))


# The last output of an agent's program: the first evidence to inspect where its trial failed.

Stream = Literal["stderr", "stdout"]
_LINES = 5
_LINE_CHARACTERS = 500


class PrintedEnd(Frozen):
    """The stored end of one stream of the agent's program. The text comes from the agent and is untrusted."""

    stream: Stream
    lines: tuple[str, ...]
    """The last ones that are not blank, each cut at 500 characters."""
    kept_bytes: int
    printed_bytes: int
    """The total number of bytes, which may exceed the stored ones: the rest was discarded."""
    complete: bool = True
    """Whether `lines` are the last that were printed; otherwise they are the last of the first that were stored."""


def printed_ends(exit_: ProgramExit | None) -> tuple[PrintedEnd, ...]:
    """Standard error, then standard output; a stream on which nothing was printed is left out."""
    return () if exit_ is None else tuple(_ends(exit_))


def _ends(exit_: ProgramExit) -> Iterator[PrintedEnd]:
    streams: tuple[tuple[Stream, str, str, int], ...] = (
        ("stderr", exit_.stderr, exit_.stderr_end, exit_.stderr_bytes),
        ("stdout", exit_.stdout, exit_.stdout_end, exit_.stdout_bytes),
    )
    for stream, text, end, printed in streams:
        kept = _size(text) + _size(end)
        if text.strip() or printed:
            lines = [line.rstrip() for line in (end or text).splitlines() if line.strip()][-_LINES:]
            cut = tuple(line if len(line) <= _LINE_CHARACTERS else f"{line[: _LINE_CHARACTERS - 1]}…" for line in lines)
            yield PrintedEnd(
                stream=stream,
                lines=cut,
                kept_bytes=min(kept, printed) if end else kept,
                printed_bytes=max(printed, _size(text)),
                complete=bool(end) or printed <= _size(text),
            )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


# The last output of services and the agent's program in failed trials, and the durations of trials.


class LogEnds:
    """Collects the last line of each service's log, the last output of programs, and durations, trial by trial."""

    def __init__(self, succeeded: Collection[tuple[str, int]]) -> None:
        self._succeeded = succeeded
        """Trials of which nobody asks what was printed: it is much, in a long run."""
        self._found: dict[tuple[str, int], dict[str, str]] = {}
        self._printed: dict[tuple[str, int], tuple[PrintedEnd, ...]] = {}
        self.seconds: dict[str, float] = {}
        """`<case>/<attempt>` -> how long the trial took."""

    def noting(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """The same trials."""
        for trial in trials:
            is_asked = (trial.case_id, trial.attempt) not in self._succeeded
            if trial.service_logs and is_asked:
                self._found[trial.case_id, trial.attempt] = {
                    service: last_line(log) for service, log in trial.service_logs.items()
                }
            if is_asked and (printed := printed_ends(trial.exit)):
                self._printed[trial.case_id, trial.attempt] = printed
            if trial.duration_s is not None:
                self.seconds[f"{trial.case_id}/{trial.attempt}"] = trial.duration_s
            yield trial

    def printed(self, card: Scorecard) -> tuple[PrintedEnd, ...]:
        """The last output of the agent's program."""
        return self._printed.get((card.case_id, card.attempt), ())

    def of(self, card: Scorecard) -> dict[str, str]:
        """Service -> line, empty where it printed nothing."""
        return self._found.get((card.case_id, card.attempt), {})


def last_line(log: str) -> str:
    """Ignores blank lines."""
    return next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
