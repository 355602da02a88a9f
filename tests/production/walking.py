"""The command line as a user has it."""

import json
from pathlib import Path
from typing import Any

from tests.cli.starting import run_command

PROJECT = Path(__file__).parents[2]


def harness(*arguments: str, status: int = 0, project: Path = PROJECT, timeout_s: int = 300) -> str:
    """What a verb that ends with this status prints; where it fails, its messages too."""
    done = run_command("--project", str(project), *arguments, folder=PROJECT, timeout_s=timeout_s)
    assert status == done.returncode, done.stdout + done.stderr
    return done.stdout if not status else done.stdout + done.stderr


def harness_json(*arguments: str, **more: Any) -> Any:
    return json.loads(harness(*arguments, "--json", **more))
