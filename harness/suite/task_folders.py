"""Folders of Harbor's format (task.toml, instruction.md, environment/, solution/, tests/) read as cases."""

import copy
import hashlib
import math
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from harness.disk import is_file
from harness.errors import InvalidDocument
from harness.suite.cases import TESTS_CHECK, Case, TaskFolder, place_problem
from harness.suite.documents import Document
from harness.values import Frozen, JsonObject, digest_of

TASK_FILE: Final = "task.toml"
TASKS_PATTERN: Final = f"*/{TASK_FILE}"

_LIMITS: Final[Mapping[str, float]] = {
    "seconds": 900,
    "steps": 1000,
    "memory_mb": 2048,
    "processes": 512,
    "disk_mb": 256,
}
"""Of a task that tells none, in a suite that tells none: such tasks take longer, and more, than calls of tools do."""
_DISK_MOST_MB: Final = 1024
"""Each writable place is in memory."""
_NEEDED: Final = {
    "instruction.md": "write the agent's task to it",
    "tests/test.sh": "write a script that writes 0 or 1 to /logs/verifier/reward.txt",
}
_COMPOSE: Final = ("docker-compose.yaml", "docker-compose.yml")


def is_tasks(folder: Path) -> bool:
    """Whether the folder is a task, or has tasks in it."""
    return is_file(folder / TASK_FILE) or any(folder.glob(TASKS_PATTERN))


def read_task(source: Document, suite_folder: Path, defaults: JsonObject) -> Case:
    """The case of the folder whose `task.toml` is open; `defaults` are the suite's limits.

    Raises InvalidDocument that names file, field and remedy for a missing file, and for what cannot be followed here.
    """

    task = source.shaped(TaskFile, _supported(source))
    folder = source.path.parent
    _refuse_incomplete(folder, task.environment)
    own = source.shaped(HarnessTable, task.metadata.get("harness") or {}, "metadata", "harness")
    _refuse_places(source, own, task.environment.workdir)
    digest = _digest(folder)
    told: dict[str, Any] = {
        "id": folder.name,
        "task": _instruction(folder / "instruction.md"),
        **_metadata_of(task),
        "limits": {**_LIMITS, **defaults, **_limits(task)},
        "checks": [{"name": TESTS_CHECK, "verifier": "task_tests", "with": _check(task, digest)}],
        "task_folder": TaskFolder(
            folder=str(PurePosixPath(folder.relative_to(suite_folder))),
            digest=digest,
            image=task.environment.docker_image,
            workdir=task.environment.workdir,
            env=task.environment.env,
            solution_env=task.solution.env,
            has_solution=is_file(folder / "solution" / "solve.sh"),
            writable=own.writable,
        ).model_dump(),
    }
    return Document(path=source.path, data=told, lines={}).shaped(Case)


def _supported(source: Document) -> Any:
    """The content without empty fields that have no meaning here; raises InvalidDocument for one that is not empty."""

    data = copy.deepcopy(source.data)
    for (*above, name), remedy in REFUSED.items():
        section = data
        for part in above:
            section = section.get(part) if isinstance(section, dict) else None
        if isinstance(section, dict) and section.pop(name, None):
            source.refuse(*above, name, problem="cannot be followed here", remedy=remedy)
    return data


def _refuse_incomplete(folder: Path, environment: "TaskEnvironment") -> None:
    needed = dict(_NEEDED)
    if environment.docker_image is None:
        needed["environment/Dockerfile"] = "write it, or name an image in task.toml: `docker_image` of [environment]"
    if (folder / "solution").is_dir():
        needed["solution/solve.sh"] = "write it, or remove solution/"
    for name, remedy in needed.items():
        _refuse_missing(folder / name, remedy)
    _refuse_link(folder / "environment" / "Dockerfile")
    for name in _COMPOSE:
        if is_file(folder / "environment" / name):
            raise InvalidDocument(
                folder / "environment" / name,
                "describes services, which a task folder cannot have here",
                remedy="make a suite with an environment of it: docs/how-to/services.md",
            )


def _refuse_missing(path: Path, remedy: str) -> None:
    if not is_file(path):
        raise InvalidDocument(path, "is missing from the task folder", remedy=remedy)
    _refuse_link(path)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise InvalidDocument(path, "is a link, which is not followed", remedy="put the file there")


def _refuse_places(source: Document, own: "HarnessTable", workdir: str | None) -> None:
    named = {("metadata", "harness", "writable"): own.writable, ("environment", "workdir"): (workdir or "/",)}
    for at, places in named.items():
        for place in places:
            problem = None if place == "/" and at[-1] == "workdir" else place_problem(place)
            if problem is not None:
                source.refuse(*at, problem=problem, remedy="name a folder of the task's own, such as /app")


def _instruction(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise InvalidDocument(path, f"is not UTF-8 ({error.reason} at byte {error.start})") from None
    if not text:
        raise InvalidDocument(path, "is empty", remedy=_NEEDED["instruction.md"])
    return text


def _metadata_of(task: "TaskFile") -> JsonObject:
    """What reports group and select by; metadata of another shape is nobody's error."""
    found: JsonObject = {}
    metadata = task.metadata
    description = (task.task or {}).get("description")
    if isinstance(description, str):
        found["description"] = " ".join(description.split())
    if isinstance(metadata.get("category"), str) and metadata["category"]:
        found["category"] = metadata["category"]
    listed = metadata.get("tags")
    tags = [*(listed if isinstance(listed, list) else ()), metadata.get("difficulty")]
    found["tags"] = [tag for tag in tags if isinstance(tag, str)]
    return found


def _limits(task: "TaskFile") -> JsonObject:
    given = task.environment
    storage = None if given.storage_mb is None else min(given.storage_mb, _DISK_MOST_MB)
    told = {"seconds": task.agent.timeout_sec, "cpus": given.cpus, "memory_mb": given.memory_mb, "disk_mb": storage}
    return {name: value for name, value in told.items() if value is not None}


def _check(task: "TaskFile", digest: str) -> JsonObject:
    timeout_s = task.verifier.timeout_sec
    return {
        "digest": digest,
        "timeout_s": timeout_s if math.isfinite(timeout_s) else 86_400.0,
        "env": dict(task.verifier.env),
    }


def _digest(folder: Path) -> str:
    """Over names, x bits and contents; a link counts by where it leads, and is not followed."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found.append([name, "link", str(path.readlink())])
        elif path.is_file():
            kind = "program" if path.stat().st_mode & 0o100 else "file"
            found.append([name, kind, hashlib.sha256(path.read_bytes()).hexdigest()])
    return digest_of(found)


def task_document(source: Document, suite_folder: Path, defaults: JsonObject) -> Document:
    """A task folder as the file of one case, so that it is checked as every other case is."""
    case = read_task(source, suite_folder, defaults)
    return Document(path=source.path, data=[case.model_dump(mode="json", by_alias=True)], lines={})


def refuse_task_folders(source: Document) -> None:
    """Raises InvalidDocument for a case file that sets by hand what only a task.toml sets."""
    for index, case in enumerate(source.data if isinstance(source.data, list) else ()):
        if isinstance(case, dict) and "task_folder" in case:
            source.refuse(
                index,
                "task_folder",
                problem="is set if a task.toml is read, not by hand",
                remedy="name the task.toml in suite.yaml: `cases: [cases.yaml, tasks/*/task.toml]`",
            )


_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([GMK])", re.IGNORECASE)
_IN_MB: Final = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
_TEMPLATE = re.compile(r"\$\{(\w+)(?::-(.*))?\}", re.DOTALL)

REFUSED: Final[dict[tuple[str, ...], str]] = {
    ("steps",): "make a case of each step",
    ("multi_step_reward_strategy",): "make a case of each step",
    ("verifier", "environment"): "put what the tests need into environment/Dockerfile",
    ("verifier", "collect"): "let the tests read the files themselves",
    ("environment", "gpus"): "no sandbox has a GPU: remove the field, or leave the task out",
    ("environment", "gpu_types"): "no sandbox has a GPU: remove the field, or leave the task out",
    ("environment", "tpu"): "no sandbox has a TPU: remove the field, or leave the task out",
    ("environment", "healthcheck"): "a sandbox runs no service before the agent: remove the field",
    ("environment", "mcp_servers"): "declare MCP servers in suite.yaml: `tools: [{mcp: ...}]`",
    ("environment", "skills_dir"): "put the skills into the agent's own files",
}
"""Fields of the format that cannot be followed here, and what to do instead. Empty ones say nothing."""


def literal_variables(variables: dict[str, str]) -> dict[str, str]:
    """`${NAME:-value}` becomes `value`; raises ValueError for `${NAME}`, because nothing of this machine enters."""
    found = {}
    for name, value in variables.items():
        template = _TEMPLATE.fullmatch(value)
        if template is not None and template[2] is None:
            raise ValueError(
                f"{name} takes {value} from this machine's environment, of which nothing enters a sandbox:"
                f" write the value, or ${{{template[1]}:-default}}"
            )
        found[name] = value if template is None else template[2]
    return found


class _Section(Frozen):
    """A section with environment variables."""

    env: dict[str, str] = {}

    @field_validator("env")
    @classmethod
    def _takes_nothing_from_here(cls, env: dict[str, str]) -> dict[str, str]:
        return literal_variables(env)


class TaskAgent(Frozen):
    """`[agent]`"""

    timeout_sec: float | None = Field(default=None, gt=0)
    user: str | int | None = None
    network_mode: str | None = None
    allowed_hosts: tuple[str, ...] | None = None


class TaskVerifier(_Section):
    """`[verifier]`"""

    timeout_sec: float = Field(default=600.0, gt=0)
    user: str | int | None = None
    network_mode: str | None = None
    allowed_hosts: tuple[str, ...] | None = None
    environment_mode: Literal["shared", "separate"] | None = None


class TaskEnvironment(_Section):
    """`[environment]`"""

    build_timeout_sec: float | None = None
    docker_image: str | None = Field(default=None, min_length=1)
    os: Literal["linux"] = "linux"
    cpus: float | None = Field(default=None, gt=0)
    memory_mb: int | None = Field(default=None, ge=32)
    storage_mb: int | None = Field(default=None, ge=1)
    workdir: str | None = Field(default=None, pattern="^/")
    allow_internet: bool | None = None
    network_mode: str | None = None
    allowed_hosts: tuple[str, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _sizes_in_words(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        plain = dict(data)
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            if old in plain:
                plain.setdefault(new, _megabytes(old, plain.pop(old)))
        if isinstance(plain.get("os"), str):
            plain["os"] = plain["os"].lower()
        return plain


class TaskSolution(_Section):
    """`[solution]`"""


class TaskFile(Frozen):
    """The content of `task.toml`."""

    schema_version: str | None = None
    version: str | None = None
    task: JsonObject | None = None
    metadata: JsonObject = {}
    source: str | None = None
    artifacts: tuple[JsonValue, ...] = ()
    agent: TaskAgent = TaskAgent()
    verifier: TaskVerifier = TaskVerifier()
    environment: TaskEnvironment = TaskEnvironment()
    solution: TaskSolution = TaskSolution()


class HarnessTable(Frozen):
    """`[metadata.harness]`, which Harbor ignores."""

    writable: tuple[str, ...] = ()


def _megabytes(name: str, size: object) -> int:
    found = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if found is None:
        raise ValueError(f"`{name}` is {size!r}: write a number with G, M or K, such as '2G'")
    return int(float(found[1]) * _IN_MB[found[2].upper()])
