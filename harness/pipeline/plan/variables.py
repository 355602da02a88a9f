"""Variables of an agent (`--with NAME=VALUE,...`): combinations of values, and a suite with one combination."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import TypeAdapter, ValidationError

from harness.alternatives import alternatives
from harness.case import Suite, VariableValue
from harness.errors import UsageError

MOST_COMBINATIONS: Final = 64
_VALUE: Final = TypeAdapter[str](VariableValue)


def combinations(suite: Suite, agent: str | None, specs: Sequence[str]) -> list[dict[str, str]]:
    """Each combination of the typed values, the first variable varying slowest; one without values where none is typed.

    Raises UsageError for what is not `NAME=VALUE[,VALUE...]`, for a variable that the agent does not declare, and for
    more than MOST_COMBINATIONS.
    """
    name = agent or suite.default_agent
    typed: dict[str, list[str]] = {}
    for spec in specs:
        variable, values = _parsed(spec)
        _refuse_undeclared(suite, name, variable)
        if variable in typed:
            raise UsageError(
                f"the variable {variable!r} is given twice",
                remedy=f"write {variable}={','.join([*typed[variable], *values])}",
            )
        typed[variable] = values
    found = [dict(zip(typed, values, strict=True)) for values in itertools.product(*typed.values())]
    if len(found) > MOST_COMBINATIONS:
        raise UsageError(
            f"--with gives {len(found)} combinations, at most {MOST_COMBINATIONS} are run at once",
            remedy="give fewer values, or run the parts one after another",
        )
    return found


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


def _parsed(spec: str) -> tuple[str, list[str]]:
    variable, equals, text = spec.partition("=")
    values = [value.strip() for value in text.split(",")]
    if not equals or not variable.strip() or not all(values):
        raise UsageError(
            f"invalid --with {spec!r}: expected NAME=VALUE, or NAME=VALUE,VALUE for a run with each",
            remedy="for example --with model=gpt-5,gpt-5-mini",
        )
    for value in values:
        try:
            _VALUE.validate_python(value)
        except ValidationError:
            raise UsageError(
                f"--with {variable.strip()}: invalid value {value[:200]!r}",
                remedy="use letters, digits and . _ : / @ + = -, at most 200",
            ) from None
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise UsageError(
            f"--with {variable.strip()} names {twice[0]!r} twice", remedy="name each value once; --trials repeats"
        )
    return variable.strip(), values


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
