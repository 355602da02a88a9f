"""`suite.yaml`: its fields, and the folders that hold one."""

from pathlib import Path

from pydantic import Field, JsonValue, ValidationError, field_validator

from harness.disk import is_file
from harness.errors import UsageError
from harness.suite.agents import AgentVersion, OptimiseSpec
from harness.suite.cases import CheckSpec, StateProbe
from harness.suite.conversations import UserSpec
from harness.suite.documents import Document, open_document
from harness.suite.hosts import HostSpec
from harness.suite.models import ModelSpec
from harness.suite.suites import AnswerRule, Gates, ToolServer
from harness.suite.task_folders import TASK_FILE, TASKS_PATTERN, is_tasks
from harness.values import Frozen, JsonObject

_EXAMPLE = "cases: cases.yaml, and the cases to that file"


class SuiteFile(Frozen):
    """`suite.yaml` as people write it; `tools` and `cases` are defined in it or in files that it names."""

    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    """It becomes the name of files and folders."""
    description: str = ""
    """A one-line description of the suite."""
    environment: str | None = None
    """Name of a folder in `images/` with an `environment.yaml`. None: the base image without services."""
    snapshot: str | None = None
    """Name of a state of that environment, which every trial starts from."""
    agents: dict[str, AgentVersion]
    """Version -> the agent under test. The first runs if the command line names none."""
    servers: dict[str, ToolServer] = {}
    """Name -> where the tools of that name are served. Tools of one server share their write state."""
    tools: JsonValue = []
    """A list of tools and of groups (`openapi`, `mcp`, `python`, `sandbox`, `browser`), or a file that holds one. The
    agent reads the text of a file `descriptions/TOOL.md` instead of the tool's own description."""
    model: ModelSpec | None = None
    """Which models the agent may reach. None: no model through the gateway."""
    user: UserSpec = UserSpec()
    """Who plays the users of the cases: scripts, if it says nothing."""
    hosts: tuple[HostSpec, ...] = ()
    """What the agent may reach over HTTP by itself; every other name is refused."""
    probes: tuple[StateProbe, ...] = ()
    """Reads that the harness makes after every trial, as evidence for checks."""
    checks: tuple[CheckSpec, ...] = ()
    """Verifiers that every case is checked with, beside its own."""
    metrics: tuple[str, ...] = ()
    """What the suite's own code measures: metrics of a trial (`measure`) and detectors of failures (`find`). Each is a
    class: `file.py:Name`, `module:Name` or an entry point."""
    secrets: tuple[str, ...] = ()
    """Names of environment variables that `${NAME}` may refer to, and whose values are never stored."""
    drift: dict[str, tuple[AnswerRule, ...]] = {}
    """Tool (a pattern such as `get_*`) -> how its answers are compared with their recordings."""
    gates: Gates = Gates()
    """What every run of the suite has to reach."""
    optimise: OptimiseSpec | None = None
    """What `harness optimise` may change. None: nothing."""
    limits: JsonObject = {}
    """Fields of a case's `limits`, for every case that does not set them itself."""
    clock: str | None = None
    """ISO 8601 instant at which the agent's wall clock starts, for cases that name none. None: the real time."""
    cases: str | tuple[str, ...] = "cases.yaml"
    """File, or files, that hold the cases; shell patterns are allowed. A `task.toml` is one case: a task folder of
    Harbor's format."""

    @field_validator("cases", mode="before")
    @classmethod
    def _cases_are_in_files(cls, cases: object) -> object:
        names = cases if isinstance(cases, list | tuple) else [cases]
        other = next((one for one in names if not isinstance(one, str)), None)
        if other is not None:
            kind = "a case" if isinstance(other, dict) else type(other).__name__
            raise ValueError(
                f"expected a file, or a list of files, that hold the cases; found {kind}: write {_EXAMPLE}"
            )
        return cases


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
