"""The agent under test as a suite declares it, and what of it an optimisation may change."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from harness.values import Frozen

# The agent under test as a suite declares it: never part of a snapshot, mounted read-only at `/agent`.

VariableName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
VariableValue = Annotated[str, Field(pattern=r"^(?:-?[0-9.]|[A-Za-z/@_])[A-Za-z0-9._:/@+=-]{0,199}$")]
"""No character of a shell, and no option of a program: run folders of others hold values, too."""

PromptName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_FILLED_BY_THE_HARNESS = frozenset({"agent", "work", "port"})


def stands_for(secret: str) -> str:
    """The placeholder that an agent has for a secret: letters that no encoding of a request changes."""
    return f"secret-{secret}"


class ChatEndpoint(Frozen):
    """How an agent that is an HTTP chat endpoint is talked to, inside its sandbox."""

    path: str = Field(default="/chat", pattern="^/")
    """Path that a message is posted to."""
    port: int | None = Field(default=None, ge=1, le=65535)
    """The port of the endpoint; None chooses a free one, which the agent receives as `{port}` in its command and as the
    environment variable PORT.
    """
    send: JsonValue = {"message": "{message}"}
    """The request's body; `{message}`, `{messages}` (role and content of all so far), `{system}`, `{profile}` and
    `{conversation}` are replaced if they are whole texts.
    """
    reply: str = Field(default="/message", pattern=r"^(/[^/]*)+$")
    """JSON pointer to the agent's reply in its answer."""


class AgentVersion(Frozen):
    """One version of the agent.

    In `command`, `{agent}` is the folder of the agent's files and `{work}` its working directory, so that one
    declaration serves every sandbox; `{task}` is the case's task, for a program that takes it as an argument.
    """

    command: tuple[str, ...] = Field(min_length=1)
    """Program and its arguments."""
    files: str | None = None
    """Folder with the agent's files, relative to the suite; its digest names the agent in every manifest. None: the
    image holds all that the command needs, and `{agent}` is an empty folder."""
    prompts: tuple[str, ...] | dict[str, PromptName | None] = ()
    """Files inside `files` that hold prompts: they get a digest of their own, so that a change is attributed. As a
    mapping, file -> name of a prompt in the project's `prompts/`, whose version takes the place of the file's text;
    without a name or a version the file's own text is used.
    """
    env: dict[str, str] = {}
    """Environment variables of the agent, which the manifest stores. For `${NAME}`, a secret of the suite, the agent
    has a placeholder, and the gateway puts the value into the agent's requests to hosts."""
    variables: dict[VariableName, VariableValue] = {}
    """Variable -> its default. `{name}` in `command` and in the values of `env` is replaced by its value, which
    `harness run --with name=value` chooses.
    """
    image: str | None = None
    """An image of its own to run in; None: the environment's."""
    answer: Literal["reply", "stdout"] = "reply"
    """Where the final answer is read: the last `/reply`, or standard output."""
    chat: ChatEndpoint | None = None
    """Of an agent that does not request the user's turns itself: where its HTTP chat endpoint is. It is driven by a
    program of the harness inside the sandbox (needs its python3)."""

    @model_validator(mode="after")
    def _prompts_lie_in_files(self) -> "AgentVersion":
        if self.prompts and self.files is None:
            raise ValueError("`prompts` are files inside `files`, which is not given")
        return self

    @model_validator(mode="after")
    def _variables_are_used(self) -> "AgentVersion":
        taken = sorted(self.variables.keys() & _FILLED_BY_THE_HARNESS)
        if taken:
            raise ValueError(f"the variable {taken[0]!r} has another meaning in commands: choose another name")
        used = {name for text in (*self.command, *self.env.values()) for name in _PLACEHOLDER.findall(text)}
        unused = sorted(self.variables.keys() - used)
        if unused:
            raise ValueError(
                f"the variable {unused[0]!r} is used nowhere: write {{{unused[0]}}} into `command` or a value of `env`"
            )
        return self

    @property
    def prompt_versions(self) -> dict[str, str]:
        """File -> the prompt whose version takes the place of its text."""
        named = self.prompts if isinstance(self.prompts, dict) else {}
        return {file: name for file, name in named.items() if name is not None}

    def filled(self, text: str) -> str:
        """The text with the values of the variables; other braces stay as they are."""
        return _PLACEHOLDER.sub(lambda found: self.variables.get(found[1], found[0]), text)


class AgentPrompt(Frozen):
    """The version of a prompt that takes the place of a file of an agent."""

    agent: str
    file: str
    """As `prompts` names it."""
    name: str
    version: str
    """`fallback`: there is no version, and the text is the file's own."""
    text: str

    @property
    def identity(self) -> str:
        """As it is named in manifests and reports."""
        return f"{self.name}@{self.version}"


class ComponentSpec(Frozen):
    """A part of the agent whose texts may change."""

    role: str = Field(min_length=1)
    """What it is for, in words, and who calls it; whatever revises its texts receives this description."""
    files: tuple[str, ...] = ()
    """Its texts: prompts, policies and files of examples (few-shot), as paths in the folder of the agent's files, each
    among the agent's `prompts`."""
    tools: tuple[str, ...] = ()
    """Tools whose descriptions are its texts too, each in a file `descriptions/TOOL.md` of the suite."""

    @field_validator("files")
    @classmethod
    def _lie_in_the_folder(cls, files: tuple[str, ...]) -> tuple[str, ...]:
        for one in files:
            path = PurePosixPath(one)
            if not one or path.is_absolute() or ".." in path.parts or str(path) != one:
                raise ValueError(f"{one!r} is not a plain relative path in the folder of the agent's files")
        return files

    @model_validator(mode="after")
    def _has_a_text(self) -> "ComponentSpec":
        if not self.files and not self.tools:
            raise ValueError("names no text: `files`, `tools` or both")
        return self


class OptimiseSpec(Frozen):
    """What an optimisation may change, and by what it is measured; everything else is frozen."""

    components: dict[str, ComponentSpec] = Field(min_length=1)
    """Component -> its texts. The name of a sub-agent is the one in its spans (`gen_ai.agent.name`)."""
    checks: float = Field(default=0.5, gt=0, lt=1)
    """Weight of the suite's checks in the objective; the rubric's score, from 0 to 1, has the rest."""
