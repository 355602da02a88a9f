"""Selects the earlier run that a run is compared with when the user names none."""

from pathlib import Path

from harness.errors import ResultsError, UsageError
from harness.results.folder import RunFolder
from harness.results.manifest import RunManifest


def latest_comparable(runs: Path, manifest: RunManifest, *, same_agent: bool = False) -> RunFolder | None:
    """The newest finished run in the folder `runs` that can be compared with this one; None where there is none.

    Comparable: same suite digest, tool mode, model mode, replay and scorer versions, and at least the same planned
    trials. The sandbox provider and the agent may differ (`same_agent`: the agent's name may not). Folders that cannot
    be read are skipped: a damaged old run must not stop a new one.
    """
    found = [run for run in runs_in(runs) if _comparable(run.manifest, manifest, same_agent)]
    newest_first = sorted(found, key=lambda run: (run.manifest.created, run.manifest.run), reverse=True)
    return next((run for run in newest_first if _finished(run)), None)


def runs_in(runs: Path) -> list[RunFolder]:
    """All readable run folders, by name."""
    names = sorted(path for path in runs.glob("*") if not path.name.startswith("."))
    return [run for run in map(_opened, names) if run is not None]


def damaged_in(runs: Path) -> dict[str, str]:
    """Run -> why it cannot be opened; a folder that is not that of a run is not among them."""
    found = {}
    for path in sorted(path for path in runs.glob("*") if not path.name.startswith(".")):
        try:
            _ = RunFolder.open(path).manifest
        except UsageError:
            continue
        except ResultsError as error:
            found[path.name] = error.message
    return found


def _opened(path: Path) -> RunFolder | None:
    try:
        run = RunFolder.open(path)
        _ = run.manifest  # its latest scoring is read here
    except (ResultsError, UsageError):
        return None
    return run


def _finished(run: RunFolder) -> bool:
    try:
        return len(run.finished()) == len(run.manifest.planned)
    except ResultsError:
        return False


def _comparable(other: RunManifest, manifest: RunManifest, same_agent: bool) -> bool:
    alike = all(
        getattr(other, field) == getattr(manifest, field)
        for field in ("suite_digest", "tool_mode", "model_mode", "users", "replay", "scorer_versions")
    )
    covers = bool(manifest.planned) and set(manifest.planned) <= set(other.planned)
    return alike and covers and other.run != manifest.run and (not same_agent or other.agent == manifest.agent)
