"""A sandbox provider of another package: found by its entry point, run by its name."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.sandbox.providers import isolates, open_provider, provider_names, provider_of
from tests.cli.starting import run_command

_PACKAGE = {
    "borrowed.py": """\
from harness.sandbox.local import LocalSandboxProvider

class BorrowedProvider(LocalSandboxProvider):
    name = "borrowed"
""",
    "borrowed-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: borrowed\nVersion: 1\n",
    "borrowed-1.dist-info/entry_points.txt": "[harness.sandbox]\nborrowed = borrowed:BorrowedProvider\n",
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package that is installed for the time being."""
    folder = tmp_path / "site"
    for name, text in _PACKAGE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("borrowed", None)


def test_it_is_found_by_its_name_and_by_its_module(installed: Path) -> None:
    assert ("docker", "docker-warm", "local", "borrowed") == provider_names()
    assert "borrowed" == provider_of("borrowed", "docker")
    typed = "borrowed:BorrowedProvider"
    assert typed == provider_of(typed, typed)
    for unknown in (typed, "lent"):  # a stored run chooses no code
        with pytest.raises(UsageError, match="--sandbox"):
            provider_of(unknown, "docker")
    assert [False, False, True] == [isolates(n) for n in ("borrowed", "borrowed:BorrowedProvider", "docker")]
    provider = open_provider("borrowed", run="third")
    assert "borrowed" == provider.name
    provider.close()


def test_a_name_that_nothing_has_is_refused_with_the_names_there_are(installed: Path) -> None:
    with pytest.raises(UsageError, match="borrowed, docker, docker-warm, local"):
        open_provider("lent", run="third")


@pytest.mark.slow
@pytest.mark.docker
def test_a_run_in_it_says_so(installed: Path, tmp_path: Path, base_image: str) -> None:
    env = {"PYTHONPATH": str(installed)}

    def harness(*words: str) -> subprocess.CompletedProcess[str]:
        return run_command(*words, folder=tmp_path, env=env)

    assert 0 == harness("init", "evals").returncode
    done = harness("--project", "evals", "run", "hello", "--sandbox", "borrowed", "--run-name", "r")
    assert 0 == done.returncode, done.stderr
    assert "`borrowed`: the agent is NOT" in done.stderr
    manifest = json.loads((tmp_path / "evals" / "runs" / "r" / "manifest.json").read_bytes())
    assert ("borrowed", False) == (manifest["provider"], manifest["isolates"])
    refused = harness("--project", "evals", "run", "hello", "--sandbox", "lent")
    assert 2 == refused.returncode
    assert "sandbox named 'lent'" in refused.stderr
