"""The default release of the agent: the tag or commit in git."""

import subprocess
from pathlib import Path

from harness.subprocess_environment import GIT, subprocess_environment


def release_of(project: Path) -> str | None:
    """`git describe` of the project, with `-dirty` for uncommitted changes; None if git has no commit."""
    command = ["git", "-C", str(project), "describe", "--tags", "--always", "--dirty"]
    try:
        done = subprocess.run(
            command, env=subprocess_environment(*GIT), capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
