"""What `harness --version` tells is what a bug report needs."""

import os
import platform
import subprocess
from pathlib import Path

from harness import __version__
from tests.cli.starting import HARNESS


def told(**env: str) -> dict[str, str]:
    done = subprocess.run([HARNESS, "--version"], env={**os.environ, **env}, capture_output=True, text=True, check=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_versions_of_harness_python_platform_engine_and_libraries_are_told(tmp_path: Path) -> None:
    found = told(DOCKER_HOST=f"unix://{tmp_path}/nobody.sock")
    assert ["harness", "python", "platform", "engine", "libraries"] == list(found)
    assert (__version__, platform.platform()) == (found["harness"], found["platform"])
    assert found["python"].startswith(platform.python_version())
    assert "none that answers" == found["engine"]
    assert {"aiohttp", "pydantic", "vcrpy"} < {library.split()[0] for library in found["libraries"].split(", ")}
    assert not {"pytest", "mypy"} & {library.split()[0] for library in found["libraries"].split(", ")}
