"""The fields of a `task.toml` of Harbor's format, and those that have no meaning here."""

import re
from typing import Any, Final, Literal

from pydantic import Field, field_validator, model_validator

from harness.values import Frozen, JsonObject, JsonValue

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
