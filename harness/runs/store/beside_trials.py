"""Small files beside the trials of a run: reason of its end, trials in flight, causes, states of references."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final

from pydantic import Field

from harness.disk import make_folder, write_atomically
from harness.errors import ResultsError, UsageError
from harness.processes import partial_name
from harness.runs.store.folder import RunFolder
from harness.runs.store.storage import commit_folder, json_bytes, parsed, read_as, read_checked
from harness.scoring.evidence import ReferenceState, is_state_of
from harness.suite.suites import Suite
from harness.traces.recorder import TrialProgress
from harness.values import Frozen

_STOP = "stopped.json"
_REQUEST = "stop_requested"


class Stop(Frozen):
    """`reason` in words, for example "budget: 12 of 10 USD spent"."""

    reason: str


def write_stop(folder: RunFolder, stop: Stop | None) -> None:
    """Stores why the run stopped; None removes the reason of an earlier part of a resumed run."""
    path = folder.path / _STOP
    if stop is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, json_bytes(stop))


def stop_reason(folder: RunFolder) -> str | None:
    """The reason alone; see `stop_of`."""
    stop = stop_of(folder)
    return None if stop is None else stop.reason


def stop_of(folder: RunFolder) -> Stop | None:
    """Why the run stopped early; None: it did not, or was killed."""
    path = folder.path / _STOP
    return read_as(path, Stop) if path.exists() else None


def request_stop(run: Path) -> None:
    """Asks the harness that writes the run folder to start no further trial; those in flight end and are stored."""
    write_atomically(run / _REQUEST, b"")


def stop_requested(folder: RunFolder) -> bool:
    """Whether a person asked for it since the run was begun or resumed."""
    return (folder.path / _REQUEST).exists()


def withdraw_stop(folder: RunFolder) -> None:
    """Removes the request of an earlier part of a resumed run."""
    (folder.path / _REQUEST).unlink(missing_ok=True)


# Which trials of a run are in flight, for those who watch it: `in_flight.json` in its folder, while trials run.
#
# It is written for the moment and not flushed to disk, and removed when the last trial has ended. Only a run that is
# being written has trials in flight: what a killed harness left behind is ignored.

_FILE: Final = "in_flight.json"
_EVERY_S: Final = 1.0


class InFlight(Frozen):
    """The content of the file."""

    trials: tuple[TrialProgress, ...] = ()


@contextmanager
def shown_in_flight(run: Path, trials: Callable[[], Sequence[TrialProgress]]) -> Iterator[None]:
    """Writes the file once a second if something changed, from a thread of its own, while the context is entered."""
    over = Event()
    thread = Thread(target=_write_all, args=(run / _FILE, trials, over), name="in-flight", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        (run / _FILE).unlink(missing_ok=True)


def in_flight(run: Path) -> tuple[TrialProgress, ...]:
    """The trials that are in flight; none if the file is missing or damaged, because it only informs."""
    path = run / _FILE
    try:
        return read_as(path, InFlight).trials if path.exists() else ()
    except ResultsError:
        return ()


def _write_all(path: Path, trials: Callable[[], Sequence[TrialProgress]], over: Event) -> None:
    written: tuple[TrialProgress, ...] = ()
    while not over.wait(_EVERY_S):
        now = tuple(trials())
        if now == written:
            continue
        temporary = path.with_name(partial_name(path.name))
        try:
            temporary.write_bytes(json_bytes(InFlight(trials=now)))
            temporary.replace(path)
            written = now
        except OSError:  # a full disk ends the run where it matters, not here
            temporary.unlink(missing_ok=True)


_CAUSES = "causes"


class KeptCause(Frozen):
    """The result of `harness blame` for one trial."""

    case_id: str
    attempt: int
    symptom: str
    """The first failed check."""
    steps: tuple[int, ...]
    """Those that had to be changed; one for a single cause."""
    kinds: tuple[str, ...]
    words: str
    mended: int
    """Repeats in which the change made the trial succeed, of `repeats`."""
    repeats: int
    p_value: float
    """Of Fisher's exact one-sided test against the repeats without a change."""
    fork: str | None = Field(default=None, pattern=r"^\.variants/[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")
    """The run folder of the fork that succeeds, beside the run's own; None: it was not kept."""


def keep_cause(folder: RunFolder, case_id: str, attempt: int, cause: KeptCause | None) -> None:
    """Stores the newest result for a trial; None: no cause was found, and an earlier one is removed."""
    path = _path(folder, case_id, attempt)
    if cause is None:
        path.unlink(missing_ok=True)
        return
    make_folder(path.parent)
    write_atomically(path, json_bytes(cause))


def cause_of(folder: RunFolder, case_id: str, attempt: int) -> KeptCause | None:
    """The stored cause of a trial; None: none was found or searched."""
    path = _path(folder, case_id, attempt)
    return read_as(path, KeptCause) if path.exists() else None


def _path(folder: RunFolder, case_id: str, attempt: int) -> Path:
    return folder.path / _CAUSES / f"{case_id}.{attempt}.json"


# The states that the references of a run's cases leave, stored with the run: `reference_states/<case>.state.json`.
#
# They are written once, all together, with their checksums. The folder may come from anybody: it holds values alone,
# which are read with the bounds that hold for every document of a run folder.

_REFERENCE_STATES: Final = "reference_states"
_SUFFIX: Final = ".state.json"


def keep_reference_states(folder: RunFolder, states: Mapping[str, ReferenceState]) -> None:
    """Stores the states of a run, at its beginning; a resumed run has them already."""
    target = folder.path / _REFERENCE_STATES
    if states and not target.exists():
        commit_folder(target, {f"{case_id}{_SUFFIX}": json_bytes(state) for case_id, state in sorted(states.items())})


def stored_reference_states(run: Path, suite: Suite | None = None) -> dict[str, ReferenceState]:
    """Case id -> the state that is stored with a run; empty if there is none.

    `suite`: only states of its cases whose references and probes have not changed since. Raises ResultsError naming a
    damaged file.
    """
    folder = run / _REFERENCE_STATES
    if not folder.is_dir():
        return {}
    found = {path.name: _of_case(folder, path.name) for path in sorted(folder.glob(f"*{_SUFFIX}"))}
    states = {state.case_id: state for state in found.values()}
    if suite is None:
        return states
    stored = ((case, states[case.id]) for case in suite.cases if case.id in states)
    return {case.id: state for case, state in stored if is_state_of(state, suite, case)}


def carry_reference_states(parts: Sequence[Path], merged: RunFolder) -> None:
    """Stores the states of a run's shards with the merged run.

    Raises UsageError if two shards compared a case with states that were obtained in different ways.
    """
    together: dict[str, ReferenceState] = {}
    for part in parts:
        for case_id, state in stored_reference_states(part).items():
            known = together.setdefault(case_id, state)
            if known.digest != state.digest:
                raise UsageError(
                    f"the shards compare case {case_id!r} with reference states of different images or snapshots",
                    remedy="run the shards again from one state of the project",
                )
    keep_reference_states(merged, together)


def read_reference_state(path: Path) -> ReferenceState:
    """One state of a file; raises ResultsError."""
    return read_as(path, ReferenceState)


def reference_state_bytes(state: ReferenceState) -> bytes:
    """The content of its file."""
    return json_bytes(state)


def _of_case(folder: Path, name: str) -> ReferenceState:
    state = parsed(folder / name, read_checked(folder, name), ReferenceState)
    if f"{state.case_id}{_SUFFIX}" != name:
        raise ResultsError(
            f"{folder / name} is of another case: {state.case_id[:100]!r}",
            remedy="the run folder is damaged: run again under another name",
        )
    return state
