"""The interface of agents: whatever is under test becomes a program that a sandbox runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from harness.case import Case


@dataclass(frozen=True, kw_only=True)
class AgentProgram:
    """A program to run in a sandbox for one case; `{agent}`, `{work}` and `{task}` in `command` are filled by the
    runner.
    """

    command: tuple[str, ...]
    files: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    """Name of an image of the project to run in; None: the environment's."""
    answer: Literal["reply", "stdout"] = "reply"
    with_solution: bool = False
    """Whether its sandbox contains the solution of the case's task folder."""
    task: str | None = None
    """What takes the place of `{task}`; None: nothing does."""


class Agent(Protocol):
    """An agent under test."""

    @property
    def name(self) -> str:
        """The version's name in the suite, or the name of a built-in."""
        ...

    @property
    def digest(self) -> str:
        """Sha-256 over the agent's command, files with modes, and environment."""
        ...

    @property
    def prompt_digest(self) -> str | None:
        """Sha-256 over its declared prompt files; None where it declares none."""
        ...

    @property
    def code_digest(self) -> str | None:
        """The SHA-256 digest of the agent without its declared prompt files and its name; None where code versions are
        not distinguished.
        """
        ...

    def program(self, case: Case) -> AgentProgram:
        """The program to run for `case`."""
        ...
