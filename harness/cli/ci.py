"""Workflows for continuous integration, written for the suites that a project has."""

from collections.abc import Iterable
from pathlib import Path

from harness.case import Suite
from harness.case.loading import load_suite, suite_names
from harness.errors import UsageError

_TEMPLATES = Path(__file__).parent / "template_github"
_PLACE = Path(".github/workflows")
_PULL_REQUEST, _NIGHTLY = "harness-pull-request.yml", "harness-nightly.yml"


def write_workflows(project: Path) -> dict[Path, str]:
    """The workflows that are not there yet, written beside `.git`: path -> "wrote", or why it was not.

    Raises UsageError where the project has no suite.
    """
    suites = [load_suite(project, name) for name in suite_names(project)]
    if not suites:
        raise UsageError(f"{project} has no suite", remedy="harness init FOLDER writes a project with one")
    root = _repository(project)
    chosen = {_PULL_REQUEST: suites, _NIGHTLY: [suite for suite in suites if suite.reached]}
    said: dict[Path, str] = {}
    for name, own in chosen.items():
        path = root / _PLACE / name
        if path.exists():
            said[path] = "is there already, and stays as it is"
        elif not own:
            said[path] = "not written: no suite has tools of a server yet; say it again when one has"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(name, own, project.resolve().relative_to(root)), encoding="utf-8")
            said[path] = "wrote"
    return said


def _repository(project: Path) -> Path:
    """The folder with `.git` at or above the project; without one, the project itself."""
    here = project.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _filled(name: str, suites: Iterable[Suite], within: Path) -> str:
    suites = list(suites)
    prefix = "" if within == Path() else f"{within.as_posix()}/"
    indented = {
        "SUITES": [f"          - {{suite: {suite.name}, options: {_quoted(_options(suite))}}}" for suite in suites],
        "ENVIRONMENT": [*([] if not prefix else [f"      HARNESS_PROJECT: {prefix[:-1]}"]), *_secrets(suites)],
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


def _secrets(suites: Iterable[Suite]) -> Iterable[str]:
    names = {name for suite in suites for name in (*suite.secrets, *(suite.model.secrets if suite.model else ()))}
    return [f"      {name}: ${{{{ secrets.{name} }}}}" for name in sorted(names)]


def _quoted(text: str) -> str:
    return f'"{text}"'
