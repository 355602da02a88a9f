"""The task folders that are compared: copies for a project of this harness, and for Harbor on a local image."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.suite.task_folders.conftest import MAP, TASKS

_TEMPLATE: Final = "harbor-template"
_FROM: Final = re.compile(r"^(FROM\s+)(\S+)(?:(\s+AS\s+)(\S+))?", re.IGNORECASE)
_COPY_FROM: Final = re.compile(r"(--from=)(\S+)")


def copy_tasks(project: Path, harbor: Path, only: list[str] | None) -> None:
    """The folders as tasks of a project, whose map replaces all their images by `base`."""
    (project / "images").mkdir(parents=True)
    (project / "images/map.yaml").write_text(MAP, encoding="utf-8")
    terminal = project / "terminal"
    shutil.copytree(TASKS, terminal)
    _copy_template(harbor, terminal / _TEMPLATE)
    for task in terminal.iterdir():
        if only is not None and task.name not in only:
            shutil.rmtree(task)


def names_of_tasks(project: Path) -> list[str]:
    return sorted(path.parent.name for path in project.glob("terminal/*/task.toml"))


def with_base_image(tasks: Path, target: Path, image: str) -> None:
    """The same folders for Harbor, which knows no map: the image takes the place of each name in the Dockerfiles."""
    shutil.copytree(tasks, target)
    for dockerfile in target.glob("*/environment/Dockerfile"):
        dockerfile.write_text(_replaced(dockerfile.read_text(encoding="utf-8"), image), encoding="utf-8")


def _replaced(text: str, image: str) -> str:
    stages: set[str] = set()
    return "".join(f"{_line(line, image, stages)}\n" for line in text.splitlines())


def _line(line: str, image: str, stages: set[str]) -> str:
    found = _FROM.match(line)
    if found is not None:
        kept = found[2] if found[2] in stages else image
        stages.add(found[4] or "")
        return f"{found[1]}{kept}{found[3] or ''}{found[4] or ''}{line[found.end() :]}"
    if line.upper().startswith("COPY"):
        return _COPY_FROM.sub(lambda one: one[0] if one[2] in stages else f"{one[1]}{image}", line)
    return line


def _copy_template(harbor: Path, target: Path) -> None:
    """The task of Harbor's package that needs neither a registry nor a network; its instruction is left to its user."""
    where = "import pathlib, harbor; print(pathlib.Path(harbor.__file__).parent)"
    done = subprocess.run(
        [harbor.parent / "python", "-c", where], check=True, capture_output=True, text=True, timeout=120
    )
    shutil.copytree(
        Path(done.stdout.strip()) / "cli/template-task",
        target,
        ignore=shutil.ignore_patterns("pytest-tests", "shared-pytest-tests", ".gitignore", "Dockerfile.*"),
    )
    (target / "tests/Dockerfile").unlink()  # of tests in an environment of their own, which task.toml does not ask for
    (target / "instruction.md").write_text("Do nothing.\n", encoding="utf-8")
