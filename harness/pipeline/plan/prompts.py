"""Versions of an agent's prompts (`prompts/<name>/<version>.md`), chosen by label or by version."""

from collections.abc import Sequence
from pathlib import Path

from harness.alternatives import alternatives
from harness.case import AgentPrompt, Suite, prompt_texts
from harness.errors import UsageError
from harness.judge import Prompt, PromptRegistry

FALLBACK = "fallback"


def with_prompts(
    project: Path, suite: Suite, agent: str | None, label: str | None = None, chosen: Sequence[str] = ()
) -> Suite:
    """The suite with the versions of its agent's prompts: those that `chosen` names (`NAME@VERSION`), the others by the
    label (None: `production`). A missing label means `production`, and that the newest version; without a version the
    file's own text is used, as the version `fallback`.

    Raises UsageError for a prompt that the agent does not declare, and for a version that does not exist.
    """
    name = agent or suite.default_agent
    declared = suite.agents[name].prompt_versions if name in suite.agents else {}
    versions = dict(map(_parsed, chosen))
    for prompt in versions:
        if prompt not in declared.values():
            raise UsageError(
                f"agent {name!r} of suite {suite.name!r} declares no prompt {prompt!r} under `prompt_versions`",
                remedy=alternatives(prompt, sorted(set(declared.values()))),
            )
    if not declared:
        if label is not None:
            raise UsageError(
                f"agent {name!r} of suite {suite.name!r} declares no `prompt_versions` that a label could choose from",
                remedy="declare them in suite.yaml, or omit --prompt-label",
            )
        return suite
    registry, own = PromptRegistry(project, packaged=False), prompt_texts(suite, name)
    found = []
    for file, prompt in declared.items():
        if file not in own:
            raise UsageError(
                f"agent {name!r} of suite {suite.name!r}, field 'prompt_versions': there is no file {file!r}"
            )
        version = versions.get(prompt)
        made = _read(registry, prompt, version, label, own[file])
        found.append(AgentPrompt(agent=name, file=file, name=prompt, version=made.version, text=made.text))
    return suite.model_copy(update={"agent_prompts": tuple(found)})


def _read(registry: PromptRegistry, name: str, version: str | None, label: str | None, own: str) -> Prompt:
    if version == FALLBACK:
        return Prompt(name=name, version=FALLBACK, text=own, source="fallback")
    if version is not None:
        return registry.version(name, version)
    return registry.get(name, fallback=own) if label is None else registry.get(name, label, fallback=own)


def _parsed(spec: str) -> tuple[str, str]:
    name, at, version = spec.partition("@")
    if not at or not name or not version:
        raise UsageError(f"invalid --prompt {spec!r}: expected NAME@VERSION", remedy="for example --prompt greeting@3")
    return name, version
