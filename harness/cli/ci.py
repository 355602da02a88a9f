"""Workflows for continuous integration, written for the suites that a project has."""

from collections.abc import Iterable
from pathlib import Path

from harness.case import Suite, load_suite, suite_names
from harness.cli.ci_install import Installation, installation
from harness.errors import UsageError

_TEMPLATES = Path(__file__).parent / "template_github"
_PLACE = Path(".github/workflows")
_PULL_REQUEST, _NIGHTLY = "harness-pull-request.yml", "harness-nightly.yml"


def write_workflows(project: Path, install: str | None = None) -> dict[Path, str]:
    """Writes the missing workflows beside `.git`; returns for each path "wrote", or the reason why it was not
    written.
    """
    suites = [load_suite(project, name) for name in suite_names(project)]
    if not suites:
        raise UsageError(f"{project} has no suite", remedy="harness init FOLDER writes a project with one")
    root = _repository(project)
    setup = installation(install)
    chosen = {_PULL_REQUEST: suites, _NIGHTLY: [suite for suite in suites if _has_outside(suite)]}
    said: dict[Path, str] = {}
    for name, own in chosen.items():
        path = root / _PLACE / name
        if path.exists():
            said[path] = "is there already, and stays as it is"
        elif not own:
            said[path] = "not written: no suite has tools of a server yet; say it again when one has"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(name, own, project.resolve().relative_to(root), setup.commands), encoding="utf-8")
            said[path] = "wrote"
    if "wrote" in said.values():
        said |= _write_files(root, setup)
    return said


def _has_outside(suite: Suite) -> bool:
    """Whether a nightly run has anything to ask: the trial's own sandbox and browser do not drift."""
    return any(not (server.sandbox or server.browser) for server in suite.reached.values())


def _write_files(root: Path, setup: Installation) -> dict[Path, str]:
    said: dict[Path, str] = {}
    for name, content in setup.files.items():
        path = root / name
        if path.exists() and path.read_bytes() != content:
            said[path] = "is there already with another content, and stays as it is: remove it to have it written anew"
        elif not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            said[path] = "wrote"
    return said


def _repository(project: Path) -> Path:
    """The folder with `.git` at or above the project; without one, the project itself."""
    here = project.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _filled(name: str, suites: Iterable[Suite], within: Path, install: Iterable[str]) -> str:
    suites = list(suites)
    prefix = "" if within == Path() else f"{within.as_posix()}/"
    indented = {
        "SUITES": [f"          - {{suite: {suite.name}, options: {_quoted(_options(suite))}}}" for suite in suites],
        "PROJECT": [f"      HARNESS_PROJECT: {prefix[:-1]}"] if prefix else [],
        "INSTALL": [f"          {line}" for line in install],
        "KEYS": _keys(suites),
    }
    text = (_TEMPLATES / name).read_text(encoding="utf-8").replace("@@ROOT@@", prefix)
    for mark, lines in indented.items():
        text = text.replace(f"@@{mark}@@\n", "".join(f"{line}\n" for line in lines))
    return text


def _options(suite: Suite) -> str:
    """Tools are replayed, or looked at, by the verb; a model answers live, and never without a budget."""
    if suite.model is None:
        return ""
    return f"--model live {'--budget-usd 2' if suite.model.prices else '--budget-tokens 2000000'}"


def _keys(suites: Iterable[Suite]) -> list[str]:
    """The `env` of the only step that calls real services; no other step receives a key."""
    names = {name for suite in suites for name in (*suite.secrets, *(suite.model.secrets if suite.model else ()))}
    lines = [f"          {name}: ${{{{ secrets.{name} }}}}" for name in sorted(names)]
    return ["        env:", *lines] if lines else []


def _quoted(text: str) -> str:
    return f'"{text}"'
