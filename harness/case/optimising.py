"""What of an agent an optimisation may change: the `optimise` section of a suite."""

from pathlib import PurePosixPath

from pydantic import Field, field_validator, model_validator

from harness.values import Frozen


class ComponentSpec(Frozen):
    """A part of the agent whose texts may change."""

    role: str = Field(min_length=1)
    """What it is for, in words; whatever revises its texts is told so."""
    called_by: tuple[str, ...] = ()
    """The components that call it. Empty: the user does."""
    files: tuple[str, ...] = ()
    """Its texts: prompts, policies and files of examples (few-shot), as paths in the folder of the agent's files, each
    among the agent's `prompts`."""
    tools: tuple[str, ...] = ()
    """Tools whose descriptions are its texts too; the suite's `descriptions` names a file for each."""

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

    agent: str | None = None
    """The version whose texts are the starting point. None: the default agent."""
    components: dict[str, ComponentSpec] = Field(min_length=1)
    """Component -> its texts. The name of a sub-agent is the one in its spans (`gen_ai.agent.name`)."""
    rubric: str | None = None
    """The rubric that scores trajectories. None: `--rubric` names it."""
    safety: tuple[str, ...] = ("safety",)
    """Domains of the rubric in which no candidate may be worse than the prompts in use."""
    window_tokens: int = Field(default=8_000, ge=1)
    """How long one text may become: tokens, one for every four bytes."""
