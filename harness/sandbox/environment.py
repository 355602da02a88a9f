"""An environment as people write it: `images/<environment>/environment.yaml`.

    image: base                        # the image of its sandboxes; the built-in `base` if it is left out
    services:                          # the containers next to the agent's; only the gateway can reach them
      menu:
        image: menu                    # images/<environment>/menu/Dockerfile, else images/menu/Dockerfile
        port: 8000                     # the port inside its container
        wait: {http: /health}          # or {log: <regular expression>}: the condition for readiness
        restore: /restore/menu.sql     # where its state is mounted, read-only: the seed at first, the dump later
        dump: {command: [python3, -m, menu_service, --dump]}   # prints its canonical state
        needs: [database]              # ready before this service starts, and reached by it under that name
        database: sqlite:///tmp/menu.sqlite    # the database that probes with `sql` query
    states:
      breakfast:
        files: states/breakfast        # mirrors the sandbox's root: states/breakfast/work/a.txt is /work/a.txt
        services: {menu: menu/seed.sql}

Every path is relative to the environment's folder. An image is a folder with a Dockerfile, its name the folder's path
under `images/`; it begins with `ARG BASE=<name of the image it builds on>` and `FROM ${BASE}`, and the harness gives
`BASE` that image's tag. If a `requirements.txt` with hashes is beside the Dockerfile, `BASE` holds its wheels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Self
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from harness.disk import is_file
from harness.errors import UsageError
from harness.suite.documents import read_document
from harness.values import Frozen

BASE_IMAGE = "base"
DEFAULT_PLACES = ("/work", "/tmp")
_RESERVED = ("/agent", "/harness", "/run/harness", "/proc", "/sys", "/dev")


def _absolute(path: str) -> str:
    parts = PurePosixPath(path)
    if not parts.is_absolute() or ".." in parts.parts or str(parts) in {"/", "//"}:
        raise ValueError(f"{path!r} is not an absolute path below /")
    return str(parts)


def _checked_path(path: str) -> str:
    plain = _absolute(path)
    if any(PurePosixPath(plain).is_relative_to(taken) for taken in _RESERVED):
        raise ValueError(f"{path!r} is the harness's own; it cannot be a writable place")
    return plain


def _path_inside(path: str) -> str:
    parts = PurePosixPath(path)
    longest = max(map(len, parts.parts), default=0)
    if parts.is_absolute() or ".." in parts.parts or not 0 < longest < 256 or "\0" in path or len(path) > 4000:
        raise ValueError(f"{path[:200]!r} is not a path inside the environment's folder")
    return str(parts)


AbsolutePath = Annotated[str, AfterValidator(_absolute)]
Place = Annotated[str, AfterValidator(_checked_path)]
InsidePath = Annotated[str, AfterValidator(_path_inside)]
ImageName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._/-][a-z0-9]+)*$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Value = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]


class Wait(Frozen):
    """When a service is ready: a path that answers 200, or a line of its log. Exactly one of the two."""

    http: str | None = Field(default=None, pattern=r"^/")
    """Path that answers 200 when the service is ready."""
    log: str | None = None
    """Regular expression searched in what the service prints."""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.http is None) == (self.log is None):
            raise ValueError("give exactly one of `http` and `log`")
        return self


class Dump(Frozen):
    """The command, run in the service's container, that prints the canonical state: equal states, equal bytes."""

    command: tuple[str, ...] = Field(min_length=1)
    """Program and its arguments."""
    timeout_s: float = Field(default=60.0, gt=0)
    """Seconds within which it must have printed the state."""


@dataclass(frozen=True, kw_only=True)
class DatabasePlace:
    """How the rows of a service's database are queried. Exactly one of `postgresql` and `sqlite` is set."""

    postgresql: str | None = None
    """The name of the database, which `psql` queries read-only in the service's own container."""
    role: str = "postgres"
    sqlite: str | None = None
    """The file in the container, of which a copy is queried."""

    @classmethod
    def of(cls, address: str) -> "DatabasePlace":
        """Raises ValueError for an address that is neither `postgresql://[ROLE@]/NAME` nor `sqlite:///PATH`."""
        parts = urlsplit(address)
        name = unquote(parts.path).removeprefix("/")
        plain = not (parts.hostname or parts.password or parts.query or parts.fragment)
        if plain and parts.scheme == "postgresql" and name:
            return cls(postgresql=name, role=unquote(parts.username or "postgres"))
        if plain and parts.scheme == "sqlite" and not parts.username:
            return cls(sqlite=_absolute(f"/{name}"))
        raise ValueError(f"expected `postgresql:///NAME` or `sqlite:///PATH`, found {address[:200]!r}")


class Service(Frozen):
    """One service of the environment, in a container of its own."""

    image: ImageName
    """Folder with a Dockerfile, in the environment's folder or in `images/`."""
    port: int = Field(gt=0, lt=65_536)
    """Port that the service listens on inside its container."""
    wait: Wait
    """When the service is ready."""
    command: tuple[str, ...] | None = None
    """None: the image's own."""
    env: dict[Variable, Value] = {}
    """Environment variables of the container."""
    restore: AbsolutePath | None = None
    """The file in the container at which the state is mounted: the seed while the snapshot is built, in a trial the
    output of `dump`. The service reads it before it is ready. None declares that it has no state.
    """
    dump: Dump | None = None
    """How the service's state is read for a snapshot, in a form that `restore` takes. None: it has none."""
    needs: tuple[Name, ...] = ()
    """Services that are ready before this one is started. It reaches all of its environment by their names."""
    database: str | None = None
    """How probes of kind `sql` ask for rows: `postgresql://[ROLE@]/NAME` (by `psql` in the service's own container, as
    `postgres` if no role is named), or `sqlite:///PATH` of a file in the container that is not on a tmpfs. None: they
    cannot.
    """
    timeout_s: float = Field(default=60.0, gt=0)
    """Within which it must be ready."""
    memory_mb: int = Field(default=512, ge=32)
    """Memory of the container."""
    processes: int = Field(default=256, ge=4)
    """Processes and threads of the container at one time."""

    @field_validator("database")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None:
            DatabasePlace.of(value)
        return value


class BrowserState(Frozen):
    """The page and the profile of a new browser."""

    base_url: str | None = None
    """Where every browser of a trial begins: the page of a host that the suite declares."""
    files: InsidePath | None = None
    """JSON file of the cookies and the local storage that browsers begin with, in Playwright's form (`storage_state`);
    None: an empty profile."""


class DeclaredState(Frozen):
    """One state to take a snapshot of."""

    files: InsidePath | None = None
    """A folder that mirrors the sandbox's root. Links are stored as links; of the mode only the owner's x bit counts,
    since a checkout keeps no other bits.
    """
    env: dict[Variable, Value] = {}
    """Environment variables of the agent's sandbox."""
    browser: BrowserState = BrowserState()
    """What the browsers of a trial begin with."""
    writable: tuple[Place, ...] = DEFAULT_PLACES
    """The places that the agent may write; snapshot files are inside them."""
    services: dict[str, InsidePath] = {}
    """Service -> the file of the state that it starts from, mounted at its `restore`."""


class EnvironmentFile(Frozen):
    """The content of `environment.yaml`."""

    image: ImageName = BASE_IMAGE
    """Image that the agent's sandbox runs in."""
    services: dict[Name, Service] = {}
    """Name -> a service beside the agent, reached through the gateway only."""
    states: dict[Name, DeclaredState] = {}
    """Name -> a state that `harness snapshot build` turns into a snapshot."""

    @model_validator(mode="after")
    def _services_fit(self) -> Self:
        for name, service in self.services.items():
            for needed in service.needs:
                if needed not in self.services:
                    raise ValueError(f"service {name!r} needs a service that is not declared: {needed!r}")
        self.start_order(tuple(self.services))
        return self

    def start_order(self, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The services and all that they need, in groups: each group needs only services of earlier groups."""
        missing = self._with_needs(names)
        groups: list[tuple[str, ...]] = []
        while missing:
            group = tuple(name for name in missing if not set(self.services[name].needs) & set(missing))
            if not group:
                raise ValueError(f"services need each other in a circle: {', '.join(missing)}")
            groups.append(group)
            missing = [name for name in missing if name not in group]
        return tuple(groups)

    def _with_needs(self, names: Sequence[str]) -> list[str]:
        found = list(dict.fromkeys(names))
        for name in found:  # grows while it is read
            found += [needed for needed in self.services[name].needs if needed not in found]
        return [name for name in self.services if name in found]

    @model_validator(mode="after")
    def _states_fit(self) -> Self:
        for name, state in self.states.items():
            self._seeds_fit(name, state)
        return self

    def _seeds_fit(self, name: str, state: DeclaredState) -> None:
        for service in state.services:
            if service not in self.services:
                raise ValueError(f"state {name!r} seeds a service that is not declared: {service!r}")
            if self.services[service].restore is None or self.services[service].dump is None:
                raise ValueError(f"state {name!r} seeds service {service!r}, which needs both `restore` and `dump`")


class Environment(EnvironmentFile):
    """A loaded environment. `folder` is its location."""

    name: str
    folder: Path

    def image_of(self, service: str) -> str:
        """The full name of a service's image: the environment's own if there is one."""
        image = self.services[service].image
        own = self.folder / image / "Dockerfile"
        return f"{self.name}/{image}" if is_file(own) else image


def load_environment(project: Path, name: str) -> Environment:
    """The environment `images/<name>/environment.yaml` of a project.

    Raises InvalidDocument for a malformed file, UsageError that lists what there is for an unknown name.
    """
    path = project / "images" / name / "environment.yaml"
    if not is_file(path):
        known = ", ".join(environment_names(project)) or "none"
        raise UsageError(f"there is no environment {name!r}: {path} is missing", remedy=f"known: {known}")
    plain = read_document(path, EnvironmentFile)
    return Environment(name=name, folder=path.parent, **dict(plain))


def environment_names(project: Path) -> tuple[str, ...]:
    """The environments of a project, sorted."""
    return tuple(sorted(path.parent.name for path in (project / "images").glob("*/environment.yaml")))
