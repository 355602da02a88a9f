"""A package of a third party, built and installed beside the harness for one test."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.starting import run_command

_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1"

[tool.hatch.build.targets.wheel]
only-include = ["{module}.py"]

[project.entry-points."harness.{seam}"]
{point} = "{module}:{attribute}"
"""


class ThirdParty:
    """A project of a user who has installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "site"
        self.project = folder / "evals"

    def install(self, seam: str, point: str, attribute: str, code: str) -> None:
        """Builds a package of one module and installs it into the throw-away folder, without network."""
        module = f"third_{seam}"
        source = self.folder / module
        source.mkdir()
        text = _PROJECT.format(name=module, module=module, seam=seam, point=point, attribute=attribute)
        (source / "pyproject.toml").write_text(text, encoding="utf-8")
        (source / f"{module}.py").write_text(code, encoding="utf-8")
        words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(self.site)]
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words, "--disable-pip-version-check", str(source)],
            capture_output=True,
            text=True,
        )
        assert 0 == done.returncode, done.stderr

    def __call__(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """`harness` with the installed packages."""
        installed = {"PYTHONPATH": str(self.site), **(env or {})}
        return run_command("--project", str(self.project), *words, folder=self.folder, env=installed)


@pytest.fixture
def third_party(tmp_path: Path) -> ThirdParty:
    user = ThirdParty(tmp_path)
    done = run_command("init", str(user.project), folder=tmp_path)
    assert 0 == done.returncode, done.stderr
    return user
