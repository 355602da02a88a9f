"""A run folder by name or by path."""

import os
from pathlib import Path

from harness.alternatives import alternatives
from harness.disk import is_folder
from harness.errors import UsageError


def run_path(project: Path, name: str) -> Path:
    """The folder of a run, from its name or path. Raises UsageError, with the nearest names, where it does
    not exist.
    """
    named = project / "runs" / name
    if is_folder(named) or os.path.exists(name):  # `Path.exists` raises OSError for a name too long
        return named if is_folder(named) else Path(name)
    runs = [path.name for path in (project / "runs").glob("[!.]*") if path.is_dir()]
    raise UsageError(
        f"{name[:200]!r} is neither a run folder nor a run in {project / 'runs'}", remedy=alternatives(name, runs)
    )
