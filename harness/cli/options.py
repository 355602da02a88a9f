"""Options that several verbs share."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from harness.errors import UsageError
from harness.text import alternatives

if TYPE_CHECKING:
    from harness.plugins import Registry


Command = TypeVar("Command", bound=Callable[..., Any])

SANDBOXES = ("docker", "docker-warm", "local")


class ShardType(click.ParamType[tuple[int, int]]):
    """`2/4` as (2, 4)."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        number, _, count = str(value).partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            self.fail(f"invalid shard {value!r}: expected K/N, for example 1/4 ... 4/4", param, ctx)
        return int(number), int(count)


class SandboxType(click.ParamType[str]):
    """A sandbox provider; installed packages are searched only for a name that is not built in."""

    name = "sandbox"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value)
        if name in SANDBOXES:
            return name
        from harness.sandbox.providers import isolates

        try:
            isolates(name)
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return name


class PluginType(click.ParamType[str]):
    """A name of a registry; installed packages are searched only when a name is not built in."""

    def __init__(self, name: str, registry: "Callable[[], Registry]") -> None:
        """`name` is the noun of the messages; `registry` is called when help or a value needs it."""
        self.name = name
        self._registry = registry

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        del param, ctx
        return f"[{'|'.join(self._registry().built_in)}|NAME]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, registry = str(value), self._registry()
        if name not in registry.built_in and ":" not in name and name not in registry.names:
            self.fail(f"there is no {self.name} named {name!r}; {alternatives(name, registry.names)}", param, ctx)
        return name


def executors() -> "Registry":
    """The registry of executors, imported on first use."""
    from harness.runs.execution.executors import EXECUTORS

    return EXECUTORS


def importers() -> "Registry":
    """The registry of importers, imported on first use."""
    from harness.runs.foreign_runs import IMPORTERS

    return IMPORTERS


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
"""Of each verb that lists or shows."""


def joined(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """One decorator for several options, which the help lists in this order."""
    return lambda command: reduce(lambda known, option: option(known), reversed(options), command)


all_option = click.option("--all", "everything", is_flag=True, help="Show all figures, not only the first 25 lines.")
attempt_option = click.option(
    "--attempt", type=click.IntRange(1), default=1, show_default=True, help="Number of the attempt at the case."
)


selection_options = joined(
    click.option("--case", "cases", multiple=True, metavar="GLOB", help="Only cases with such an id (repeatable)."),
    click.option(
        "--only",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Only cases of this category or tag, as in category=modifiers; of several values of a"
        " field, one is enough (repeatable).",
    ),
    click.option("--failed-in", metavar="RUN", help="Only cases that did not succeed in RUN."),
)
"""Which cases."""


agent_options = joined(
    click.option(
        "--with",
        "variables",
        multiple=True,
        metavar="NAME=VALUE",
        help="Value of a variable that the agent declares (repeatable).",
    ),
    click.option(
        "--prompt",
        "prompts",
        multiple=True,
        metavar="[NAME@VERSION|@LABEL]",
        help="Version of one of the agent's prompts, or the label in prompts/ that selects the versions of all"
        " others; default: @production (repeatable).",
    ),
)
"""Values of the agent's variables, and versions of its prompts."""


_Form = TypeVar("_Form", bound=str)


def refuse_typed(ctx: click.Context, names: Iterable[str], mode: str) -> None:
    """Raises UsageError if an option of these names was typed, or set by its variable: it has no meaning with
    `mode`.
    """
    for parameter in ctx.command.params:
        if parameter.name in names and was_typed(ctx, parameter.name):
            label = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(ctx)
            raise UsageError(f"{label} has no meaning with {mode}", remedy="leave one of them out")


def refuse_all(ctx: click.Context, form: str) -> None:
    """Raises UsageError for `--all` with a format that has all figures anyway."""
    if form != "terminal":
        refuse_typed(ctx, ("everything",), form)


def form_of(ctx: click.Context, form: _Form, as_json: bool) -> _Form | Literal["json"]:
    """What `--format` or `--json` asks for. Raises UsageError for both."""
    if as_json:
        refuse_typed(ctx, ("form",), "--json")
    return "json" if as_json else form


def was_typed(ctx: click.Context, name: str) -> bool:
    """Whether the caller gave the parameter a value, on the command line or by an environment variable."""
    return ctx.get_parameter_source(name) in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def run_name(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The given name of a run. Raises UsageError before anything starts if it is not a valid folder name."""
    del ctx, parameter
    from harness.runs.store.manifest import check_run_name

    return None if value is None else check_run_name(value)


def sandbox_option(command: Command) -> Command:
    """The option for the sandbox provider."""
    return click.option(
        "--sandbox",
        type=SandboxType(),
        metavar=f"[{'|'.join(SANDBOXES)}|NAME]",
        default="docker",
        show_default=True,
        help="`docker`: a container for each trial. `docker-warm`: one container for many trials, each in namespaces"
        " of its own; starts in milliseconds. `local`: a plain process, no isolation. NAME: an installed provider.",
    )(command)


def page_port_option(command: Command) -> Command:
    """The option for the port of a local page."""
    return click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        show_default="a free port",
        help="Port of the page on the loopback interface.",
    )(command)


def open_option(command: Command) -> Command:
    """Whether the command opens its page in a browser."""
    return click.option(
        "--open/--no-open", "opens", default=True, show_default=True, help="Open the page in a browser."
    )(command)


def jobs_option(command: Command) -> Command:
    """The option for the number of parallel trials."""
    return click.option(
        "--jobs",
        "-j",
        type=click.IntRange(1, 256),
        default=None,
        show_default="as many as the machine can run",
        help="Trials that run in parallel. Default: one for each processor, plus as many as wait for live"
        " answers and fit into memory.",
    )(command)


# Options for what is really asked, for simulated users and budgets.

_ASKED: Final = {
    "tools": "the real tools and hosts",
    "sealed": "the suite's own services, restored for each trial",
    "model": "the models, the agent's and the simulated users'",
    "all": "tools and model",
    "record": "store their answers too",
    "none": "everything is replayed",
}
"""Word of `--live` -> its meaning."""


class Live(NamedTuple):
    """What `--live` says of both modes; None: the default of the verb or the suite holds."""

    tools: 'Literal["replay", "sealed", "live", "record"] | None' = None
    model: 'Literal["replay", "record", "live"] | None' = None


class LiveType(click.ParamType[frozenset[str]]):
    """Words with commas between them, as in `sealed,model`."""

    name = "live"

    def __init__(self, words: Iterable[str]) -> None:
        """`words`: those of `_ASKED` that the verb knows."""
        self._words = tuple(words)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        del param, ctx
        return f"[{'|'.join(self._words)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[str]:
        words = frozenset(word.strip() for word in str(value).split(","))
        if unknown := sorted(words - {*self._words}):
            self.fail(f"{unknown[0]!r} cannot be live; {alternatives(unknown[0], self._words)}", param, ctx)
        return words


def _together(ctx: click.Context, param: click.Parameter, given: tuple[frozenset[str], ...]) -> Live:
    """What all words say, whether they are typed with commas or with several options."""
    words = frozenset[str]().union(*given)
    tools, model = not words.isdisjoint({"tools", "all"}), not words.isdisjoint({"model", "all"})
    if "none" in words:
        if len(words) > 1:
            raise click.BadParameter("`none` stands alone: everything is replayed", ctx, param)
        return Live("replay", "replay")
    if tools and "sealed" in words:
        raise click.BadParameter("the tools are either real (`tools`) or restored (`sealed`)", ctx, param)
    if "record" in words and not (tools or model):
        raise click.BadParameter("nothing is left to record: add `tools`, `model` or `all`", ctx, param)
    asked: Literal["record", "live"] = "record" if "record" in words else "live"
    return Live(asked if tools else "sealed" if "sealed" in words else None, asked if model else None)


def live_option(
    default: str, words: Sequence[str] = ("tools", "sealed", "model", "all", "none")
) -> Callable[[Command], Command]:
    """The option for what is really asked; `default` says what is asked without it."""
    meaning = "; ".join(f"`{word}`: {_ASKED[word]}" for word in words)
    return click.option(
        "--live",
        type=LiveType(words),
        multiple=True,
        callback=_together,
        help=f"What is really asked, with commas between several; the rest is replayed. {meaning}. Default: {default}.",
    )


def budget_option(command: Command) -> Command:
    """The option for limits of the spending on real services."""
    return click.option(
        "--budget",
        multiple=True,
        metavar="KEY=VALUE",
        help="Stop when the models' cost reaches usd=2, when they have used tokens=100000, or before the real call 101"
        " of a tool with calls:TOOL=100 (repeatable).",
    )(command)


model_options = joined(
    click.option(
        "--user",
        metavar="KIND",
        help="Kind of simulated user: `script`, `model`, `logged`, `logged:RUN` (the conversations of RUN until"
        " the agent diverges), or the name of an installed one; default: the cases' setting.",
    ),
    budget_option,
)
"""The options for the simulated users and the run's budget."""
