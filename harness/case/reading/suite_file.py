"""The fields of suite.yaml, as people write them."""

from pydantic import Field, field_validator

from harness.case.agent import AgentVersion
from harness.case.answer import AnswerRule
from harness.case.case import CheckSpec
from harness.case.composite import CompositePart
from harness.case.conversation.user import UserSpec
from harness.case.endpoints.host import HostSpec
from harness.case.endpoints.model import ModelSpec
from harness.case.gates import Gates
from harness.case.optimising import OptimiseSpec
from harness.case.probe import StateProbe
from harness.case.suite import ToolServer
from harness.values import Frozen, JsonObject, JsonValue

_EXAMPLE = "cases: cases.yaml, and the cases to that file"


class Defaults(Frozen):
    """Settings of every case of the suite that does not override them."""

    limits: JsonObject = {}
    """Fields of a case's `limits`, for every case that does not set them itself."""
    clock: str | None = None
    """ISO 8601 instant at which the agent's wall clock starts. None: the real time."""


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
    """Version -> the agent under test."""
    default_agent: str | None = None
    """The version that runs where the command line names none. None: the first."""
    servers: dict[str, ToolServer] = {}
    """Name -> where the tools of that name are served. Tools of one server share their write state."""
    tools: JsonValue = []
    """A list of tools and of groups (`openapi`, `mcp`, `python`, `sandbox`, `browser`), or a file that holds one."""
    descriptions: dict[str, str] = {}
    """Tool -> a file in the suite's folder whose text the agent reads as the tool's description, instead of the one in
    `tools`."""
    model: ModelSpec | None = None
    """Which models the agent may reach. None: no model through the gateway."""
    user: UserSpec | None = None
    """Who plays the users of the cases. None: as the file `user.yaml` beside this one says, else scripts."""
    hosts: tuple[HostSpec, ...] = ()
    """What the agent may reach over HTTP by itself; every other name is refused."""
    probes: tuple[StateProbe, ...] = ()
    """Reads that the harness makes after every trial, as evidence for checks."""
    checks: tuple[CheckSpec, ...] = ()
    """Verifiers that every case is checked with, beside its own."""
    metrics: tuple[str, ...] = ()
    """Metrics of the suite's own: `file.py:Name`, `module:Name` or an entry point."""
    run_metrics: tuple[str, ...] = ()
    """Figures of the suite's own over a whole run, named in the same way."""
    detectors: tuple[str, ...] = ()
    """Detectors of failures of the suite's own, named in the same way."""
    composite: dict[str, CompositePart] = {}
    """Metric -> its weight in the figure `composite`. Empty: there is none."""
    secrets: tuple[str, ...] = ()
    """Names of environment variables that `${NAME}` may refer to, and whose values are never stored."""
    drift: dict[str, tuple[AnswerRule, ...]] = {}
    """Tool (a pattern such as `get_*`) -> how its answers are compared with their recordings."""
    gates: Gates = Gates()
    """What every run of the suite has to reach."""
    optimise: OptimiseSpec | None = None
    """What `harness optimise` may change. None: nothing."""
    defaults: Defaults = Defaults()
    """Settings of cases that do not override them."""
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
