"""What of an agent can be chosen for a run: values of its variables, and versions of its prompts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from harness.errors import InvalidDocument, UsageError
from harness.judging.prompts import PRODUCTION, Prompt, PromptRegistry
from harness.suite.agents import AgentPrompt, VariableValue
from harness.suite.suites import Suite, prompt_texts
from harness.text import alternatives

_VALUE: Final = TypeAdapter[str](VariableValue)


def chosen_values(suite: Suite, agent: str | None, specs: Sequence[str]) -> dict[str, str]:
    """The typed values by variable.

    Raises UsageError for what is not `NAME=VALUE`, and for a variable that the agent does not declare or that is given
    twice.
    """
    chosen: dict[str, str] = {}
    for spec in specs:
        variable, value = _variable_and_value(spec)
        _refuse_undeclared(suite, agent or suite.default_agent, variable)
        if variable in chosen:
            raise UsageError(
                f"the variable {variable!r} is given twice", remedy="a run has one value of each: make a run of each"
            )
        chosen[variable] = value
    return chosen


def varied(suite: Suite, agent: str | None, values: Mapping[str, str]) -> Suite:
    """The suite whose agent has these values in place of its defaults. Agents are not part of a suite's digest.

    Raises UsageError for a variable that the agent does not declare.
    """
    if not values:
        return suite
    name = agent or suite.default_agent
    for variable in values:
        _refuse_undeclared(suite, name, variable)
    version = suite.agents[name]
    changed = version.model_copy(update={"variables": {**version.variables, **values}})
    return suite.model_copy(update={"agents": {**suite.agents, name: changed}})


def _variable_and_value(spec: str) -> tuple[str, str]:
    variable, equals, value = (part.strip() for part in spec.partition("="))
    if not equals or not variable or not value:
        raise UsageError(f"invalid --with {spec!r}: expected NAME=VALUE", remedy="for example --with model=gpt-5-mini")
    try:
        return variable, _VALUE.validate_python(value)
    except ValidationError:
        raise UsageError(
            f"--with {variable}: invalid value {value[:200]!r}",
            remedy="use letters, digits and . _ : / @ + = -, at most 200",
        ) from None


def _refuse_undeclared(suite: Suite, agent: str, variable: str) -> None:
    if agent not in suite.agents:
        raise UsageError(
            f"suite {suite.name!r} has no agent {agent!r} that declares the variable {variable!r}",
            remedy=alternatives(agent, suite.agents),
        )
    declared = suite.agents[agent].variables
    if variable in declared:
        return
    if not declared:
        raise UsageError(
            f"agent {agent!r} of suite {suite.name!r} declares no variables, but --with sets {variable!r}",
            remedy=f"under agents.{agent} of suite.yaml write `variables: {{{variable}: DEFAULT}}`, and"
            f" {{{variable}}} in its command or env",
        )
    raise UsageError(
        f"agent {agent!r} of suite {suite.name!r} declares no variable {variable!r}",
        remedy=alternatives(variable, declared),
    )


FALLBACK = "fallback"


def with_prompts(project: Path, suite: Suite, agent: str | None, chosen: Sequence[str] = ()) -> Suite:
    """The suite with the versions of its agent's prompts: those that `chosen` names (`NAME@VERSION`), the others by its
    label (`@LABEL`; default: `production`). A prompt without the label has `production`'s, and without that the
    newest version; without a version the file's own text is used, as the version `fallback`.

    Raises UsageError for a prompt that the agent does not declare, and for a version or label that does not exist.
    """
    name = agent or suite.default_agent
    declared = suite.agents[name].prompt_versions if name in suite.agents else {}
    versions = dict(map(_name_and_version, chosen))
    label = versions.pop("", None)
    for prompt in versions:
        if prompt not in declared.values():
            raise UsageError(
                f"agent {name!r} of suite {suite.name!r} declares no prompt {prompt!r} under `prompts`",
                remedy=alternatives(prompt, sorted(set(declared.values()))),
            )
    if not declared:
        if label is not None:
            raise UsageError(
                f"agent {name!r} of suite {suite.name!r} names no version under `prompts` to choose from",
                remedy=f"name them in suite.yaml (`prompts: {{FILE: NAME}}`), or omit --prompt @{label}",
            )
        return suite
    registry, own = PromptRegistry(project, packaged=False), prompt_texts(suite, name)
    labels = {PRODUCTION, *(known for prompt in declared.values() for known in registry.labels(prompt))}
    if label is not None and label not in labels:
        raise UsageError(f"no prompt of agent {name!r} has the label {label!r}", remedy=alternatives(label, labels))
    found = []
    for file, prompt in declared.items():
        if file not in own:
            raise InvalidDocument(
                suite.folder / "suite.yaml", f"there is no file {file!r}", field=f"agents.{name}.prompts"
            )
        version = versions.get(prompt)
        made = _prompt_from(registry, prompt, version, label, own[file])
        found.append(AgentPrompt(agent=name, file=file, name=prompt, version=made.version, text=made.text))
    return suite.model_copy(update={"agent_prompts": tuple(found)})


def _prompt_from(registry: PromptRegistry, name: str, version: str | None, label: str | None, own: str) -> Prompt:
    if version == FALLBACK:
        return Prompt(name=name, version=FALLBACK, text=own, source="fallback")
    if version is not None:
        return registry.version(name, version)
    return registry.get(name, fallback=own) if label is None else registry.get(name, label, fallback=own)


def _name_and_version(spec: str) -> tuple[str, str]:
    name, at, version = spec.partition("@")
    if not at or not version:
        raise UsageError(
            f"invalid --prompt {spec!r}: expected NAME@VERSION or @LABEL", remedy="for example --prompt greeting@3"
        )
    return name, version
