"""The command line as a user has it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]


def harness(*arguments: str, status: int = 0, project: Path = PROJECT, timeout_s: int = 300) -> str:
    """What a verb that ends with this status prints; where it fails, its messages too."""
    command = [sys.executable, "-m", "harness", "--project", str(project), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    assert status == done.returncode, done.stdout + done.stderr
    return done.stdout if not status else done.stdout + done.stderr


def harness_json(*arguments: str, **more: Any) -> Any:
    return json.loads(harness(*arguments, "--json", **more))
