"""Writes CI workflows for the suites of a project."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from harness.case import Suite, load_suite, suite_names
from harness.cli.project.ci_install import Installation, installation
from harness.errors import UsageError

Service = Literal["github", "gitlab"]

_PLACES: Final = {"github": ".github/harness", "gitlab": ".gitlab/harness"}
"""Folder of the requirements and the wheel in the repository."""
_NIGHTLY: Final = "harness-nightly.yml"
"""Name of the nightly workflow, which calls real services."""
_FILES: Final = {
    "github": {
        ".github/workflows/harness-pull-request.yml": "template_github/harness-pull-request.yml",
        f".github/workflows/{_NIGHTLY}": f"template_github/{_NIGHTLY}",
    },
    "gitlab": {
        ".gitlab/harness.yml": "template_gitlab/harness.yml",
        f".gitlab/{_NIGHTLY}": f"template_gitlab/{_NIGHTLY}",
        ".gitlab-ci.yml": "template_gitlab/gitlab-ci.yml",
    },
}
"""Path in the repository -> its template."""


def write_workflows(project: Path, service: Service, install: str | None = None) -> dict[Path, str]:
    """Writes the missing workflows beside `.git`; returns for each path "wrote", or the reason why it was not
    written.
    """
    suites = [load_suite(project, name) for name in suite_names(project)]
    if not suites:
        raise UsageError(f"{project} has no suite", remedy="harness init FOLDER writes a project with one")
    root = _repository(project)
    setup = installation(install, _PLACES[service])
    said: dict[Path, str] = {}
    for name, template in _FILES[service].items():
        path = root / name
        own = [suite for suite in suites if _has_outside(suite)] if path.name == _NIGHTLY else suites
        if path.exists():
            said[path] = "exists already and was not changed" + _included(path)
        elif not own:
            said[path] = "not written: no suite uses tools of a server; run the command again when one does"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            within = project.resolve().relative_to(root)
            path.write_text(_filled(template, own, within, setup.commands), encoding="utf-8")
            said[path] = "wrote"
    if "wrote" in said.values():
        said |= _write_files(root, setup)
    return said


def _included(path: Path) -> str:
    """A hint for GitLab, which reads only one file: an existing one has to include the new file."""
    if path.name != ".gitlab-ci.yml" or ".gitlab/harness" in path.read_text(encoding="utf-8", errors="replace"):
        return ""
    return ': add to it\n  include:\n    - local: "/.gitlab/harness*.yml"'


def _has_outside(suite: Suite) -> bool:
    """Whether the suite calls a server in a nightly run; the sandbox and its browser cannot drift."""
    return any(not (server.sandbox or server.browser) for server in suite.reached.values())


def _write_files(root: Path, setup: Installation) -> dict[Path, str]:
    said: dict[Path, str] = {}
    for name, content in setup.files.items():
        path = root / name
        if path.exists() and path.read_bytes() != content:
            said[path] = "exists already with other content and was not changed: remove it to create it again"
        elif not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            said[path] = "wrote"
    return said


def _repository(project: Path) -> Path:
    """The folder with `.git` at or above the project; without one, the project itself."""
    here = project.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _filled(template: str, suites: Sequence[Suite], within: Path, install: Iterable[str]) -> str:
    prefix = "" if within == Path() else f"{within.as_posix()}/"
    text = (Path(__file__).parent / template).read_text(encoding="utf-8").replace("@@ROOT@@", prefix)
    blocks = _gitlab_blocks if template.startswith("template_gitlab") else _github_blocks
    for mark, lines in blocks(suites, prefix, install).items():
        text = text.replace(f"@@{mark}@@\n", "".join(f"{line}\n" for line in lines))
    return text


def _github_blocks(suites: Sequence[Suite], prefix: str, install: Iterable[str]) -> dict[str, list[str]]:
    project = f"HARNESS_PROJECT: {prefix[:-1]}"
    return {
        "SUITES": [f"          - {{suite: {suite.name}, options: {_quoted(_options(suite))}}}" for suite in suites],
        "COMMENT_PROJECT": ["    env:", f"      {project}"] if prefix else [],
        "PROJECT": [f"      {project}"] if prefix else [],
        "INSTALL": [f"          {line}" for line in install],
        "KEYS": _keys(suites),
    }


def _gitlab_blocks(suites: Sequence[Suite], prefix: str, install: Iterable[str]) -> dict[str, list[str]]:
    return {
        "SUITES": [f"      - {{SUITE: {suite.name}, OPTIONS: {_quoted(_options(suite))}}}" for suite in suites],
        "PROJECT": [f"    HARNESS_PROJECT: {prefix[:-1]}"] if prefix else [],
        "INSTALL": [f"    - {line}" for line in install],
    }


def _options(suite: Suite) -> str:
    """Options of the workflow: the model answers live, always with a budget."""
    if suite.model is None:
        return ""
    return f"--model live {'--budget-usd 2' if suite.model.prices else '--budget-tokens 2000000'}"


def _keys(suites: Iterable[Suite]) -> list[str]:
    """The `env` of the step that calls real services; no other step receives a key."""
    names = {name for suite in suites for name in (*suite.secrets, *(suite.model.secrets if suite.model else ()))}
    lines = [f"          {name}: ${{{{ secrets.{name} }}}}" for name in sorted(names)]
    return ["        env:", *lines] if lines else []


def _quoted(text: str) -> str:
    return f'"{text}"'
