"""The states that the references of a run's cases leave, stored with the run: `reference_states/<case>.state.json`.

They are written once, all together, with their checksums. The folder may come from anybody: it holds values alone,
which are read with the bounds that hold for every document of a run folder.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.case import Suite
from harness.errors import ResultsError, UsageError
from harness.results.folder import RunFolder
from harness.results.storage import commit_folder, json_bytes, parsed, read_as, read_checked
from harness.score import ReferenceState, is_state_of

_FOLDER: Final = "reference_states"
_SUFFIX: Final = ".state.json"


def keep_reference_states(folder: RunFolder, states: Mapping[str, ReferenceState]) -> None:
    """Stores the states of a run, at its beginning; a resumed run has them already."""
    target = folder.path / _FOLDER
    if states and not target.exists():
        commit_folder(target, {f"{case_id}{_SUFFIX}": json_bytes(state) for case_id, state in sorted(states.items())})


def stored_reference_states(run: Path, suite: Suite | None = None) -> dict[str, ReferenceState]:
    """Case id -> the state that is stored with a run; empty where there is none.

    `suite`: only states of its cases whose references and probes have not changed since. Raises ResultsError naming a
    damaged file.
    """
    folder = run / _FOLDER
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

    Raises UsageError where two shards compared a case with states that were obtained in different ways.
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
