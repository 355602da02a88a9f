"""Where suites are: folders with a `suite.yaml`, and folders of task folders without one."""

from pathlib import Path

from pydantic import ValidationError

from harness.case.document import Document, open_document
from harness.case.reading.suite_file import SuiteFile
from harness.case.reading.task_folders import TASK_FILE, TASKS_PATTERN, is_tasks
from harness.disk import is_file
from harness.errors import UsageError


def suite_names(project: Path) -> list[str]:
    """The suites of a project, by folder name: folders with a `suite.yaml`, and folders of task folders."""
    suites = project / "suites"
    declared = {path.parent.name for path in suites.glob("*/suite.yaml")}
    return sorted(declared | {path.parent.parent.name for path in suites.glob(f"*/{TASKS_PATTERN}")})


def suite_folder(project: Path, name: str) -> Path:
    """The folder of a suite: one with a `suite.yaml`, or with task folders. Raises UsageError that lists the suites."""
    for folder in (project / "suites" / name, Path(name)):
        if (folder / "suite.yaml").is_file() or (name and is_tasks(folder)):
            return folder.resolve()
    known = ", ".join(suite_names(project)) or "none yet: `harness init` writes one"
    raise UsageError(f"there is no suite {name!r} in {project / 'suites'}", remedy=f"suites here: {known}")


def read_suite_file(folder: Path) -> tuple[Document, SuiteFile]:
    """`suite.yaml` of a suite; of a folder of tasks without one, what it would say: no agent, and all of the tasks."""
    path = folder / "suite.yaml"
    if path.is_file():
        document = open_document(path)
        raw = document.shaped(SuiteFile)
        if not raw.agents:
            document.refuse("agents", problem="names no agent", remedy="declare at least one version under `agents:`")
        return document, raw
    document = Document(path=path, data={}, lines={})
    said = {"name": folder.name, "agents": {}, "cases": TASK_FILE if is_file(folder / TASK_FILE) else TASKS_PATTERN}
    try:
        return document, SuiteFile.model_validate(said)
    except ValidationError:
        raise UsageError(
            f"the folder's name {folder.name!r} cannot be the name of a suite",
            remedy="rename it: letters, digits, dots, hyphens and underscores",
        ) from None
