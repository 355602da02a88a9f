"""One distribution name everywhere, and nothing installs by it alone: on an index it may be anybody's."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.plugins import DISTRIBUTION, extra_remedy
from tests.supply.licences import brought
from tests.supply.test_lock import pinned, unpinned

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = "|".join(PROJECT["optional-dependencies"])
CI_LOCK = (ROOT / "harness/cli/template_github/requirements.txt").read_text(encoding="utf-8")
INSTALLER = re.compile(
    r"\b(?:(?:pip3?|pipx|uv|poetry|pdm|conda|easy_install)\b[^\n|;&`]*?\b(?:install|add|run|download)|uvx)\b"
    r"(?P<rest>[^\n`]*)"
)
FROM = re.compile(r"--(?:from|spec)[\s=\"',]+(?P<source>[^\s\"',]+)")
"""What uvx and pipx install from; the words behind it are a command."""
WORD = re.compile(r"[^\s'\"`,()]+")
DEPENDENCIES = re.compile(r"^\s*(?:dependencies|requires)\s*=\s*\[(?P<rest>.*)\]")
WITH_EXTRA = re.compile(rf"(?P<name>[A-Za-z0-9][\w.-]*)\[(?:{EXTRAS})(?:,(?:{EXTRAS}))*\](?P<rest>.?.?.?)")


def by_bare_name(text: str) -> Iterator[str]:
    """The lines that would have an index decide what is installed as the harness."""
    own = {canonicalize_name(DISTRIBUTION), "agent-harness", "harness"}
    for line in text.splitlines():
        for installer in INSTALLER.finditer(line):
            source = FROM.search(installer["rest"])
            rest = installer["rest"] if source is None else source["source"]
            if any(_is_bare(word.group(), rest[word.end() :], own) for word in WORD.finditer(rest)):
                yield line
        for extra in WITH_EXTRA.finditer(line):
            if _is_bare(extra["name"], extra["rest"], own):
                yield line
        for declared in DEPENDENCIES.finditer(line):
            if any(_is_bare(one.strip(" '\""), "", own) for one in declared["rest"].split(",")):
                yield line


def _is_bare(word: str, after: str, own: set[str]) -> bool:
    name = re.split(r"[\[=<>~!;@]", word, maxsplit=1)[0]
    return canonicalize_name(name) in own and not after.lstrip().startswith("@") and "@" not in word


def texts() -> Iterator[tuple[str, str]]:
    """Every committed text file but this one and the locks."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path == Path(__file__) or path.suffix in {".lock", ".gz", ".png", ".db"} or not path.is_file():
            continue
        try:
            yield name, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.slow
def test_nothing_that_is_documented_said_or_generated_installs_by_a_bare_name() -> None:
    assert {} == {name: found for name, text in texts() if (found := list(by_bare_name(text)))}


@pytest.mark.parametrize(
    "line",
    [
        f"pip install {DISTRIBUTION}",
        f'        run: python -m pip install "{DISTRIBUTION}[github]"',
        "pip install 'agent-harness[otlp]'",
        "uvx harness run hello",
        f"uvx --from {DISTRIBUTION} harness run hello",
        f"pipx run --spec '{DISTRIBUTION}' harness run hello",
        f'dependencies = ["requests", "{DISTRIBUTION}>=0.1"]',
    ],
)
def test_a_bare_name_is_found(line: str) -> None:
    assert line in list(by_bare_name(line))


@pytest.mark.parametrize(
    "line",
    [
        f"python -m pip install --no-deps '{DISTRIBUTION}[ray] @ git+https://git.example.com/x@{'0' * 40}'",
        "pip install --editable '/path/to/the/source[github]'",
        "uvx --from dist/trial_harness-0.1.0-py3-none-any.whl harness --version",
        f'dependencies = ["requests", "{DISTRIBUTION} @ git+https://git.example.com/x@{"0" * 40}"]',
    ],
)
def test_a_place_is_no_bare_name(line: str) -> None:
    assert [] == list(by_bare_name(line))


def test_the_name_is_one() -> None:
    assert PROJECT["name"] == DISTRIBUTION == metadata.metadata(DISTRIBUTION)["Name"]
    assert f"`{DISTRIBUTION}`" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert [] == [name for name, text in texts() if "agent-harness" in text or "agent_harness" in text]


@pytest.mark.parametrize("extra", list(PROJECT["optional-dependencies"]))
def test_the_remedy_of_a_missing_extra_names_the_place_of_this_installation(extra: str) -> None:
    said = extra_remedy(extra)
    assert [] == list(by_bare_name(said))
    assert f"pip install --editable '{ROOT}[{extra}]'" == said


def test_what_workflows_install_is_pinned_by_hash_to_the_locked_versions_and_complete() -> None:
    assert [] == unpinned(CI_LOCK)
    assert "://" not in CI_LOCK
    lock = {line.split()[0] for line in pinned((ROOT / "requirements.lock").read_text(encoding="utf-8")) if line}
    assert [] == [one for line in pinned(CI_LOCK) if line and (one := line.split()[0]) not in lock]
    names = {canonicalize_name(Requirement(line.split(" ")[0]).name) for line in pinned(CI_LOCK) if line}
    assert brought(extras=("", "github")) | {"hatchling"} <= names
