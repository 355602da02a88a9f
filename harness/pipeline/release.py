"""The default name of the state of the agent: git's tag or commit."""

import subprocess
from pathlib import Path

from harness.subprocess_environment import GIT, subprocess_environment


def release_of(project: Path) -> str | None:
    """`git describe` of the project, `-dirty` where it has uncommitted changes; None where git reports none."""
    command = ["git", "-C", str(project), "describe", "--tags", "--always", "--dirty"]
    try:
        done = subprocess.run(
            command, env=subprocess_environment(*GIT), capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
