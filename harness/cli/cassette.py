"""`harness cassette` and `harness tool`: recordings, and the listings of tools."""

from pathlib import Path
from typing import TypedDict, Unpack

import click

from harness.cli.console import print_json
from harness.cli.options import json_option

# `harness cassette`: checks, shows and refreshes recordings.


class RefreshValues(TypedDict):
    """The options of `harness cassette refresh` that select findings."""

    tools: tuple[str, ...]
    cases: tuple[str, ...]


@click.group("cassette")
def cassette_command() -> None:
    """Check, show and refresh recordings."""


@cassette_command.command("check")
@click.argument("suites", nargs=-1)
@json_option
@click.pass_context
def check(ctx: click.Context, suites: tuple[str, ...], as_json: bool) -> None:
    """Check the cassettes of SUITES (default: all suites).

    Each cassette must be readable by vcrpy, have the keys that follow from its calls, and contain no value of the
    suite's secrets. Exit 1 if one does not. Pointers of the suite (`volatile`, `generated_ids`, `ignore`, rules of
    `drift`) that match nothing are named.
    """
    from harness.cassettes.cassette import open_cassette
    from harness.cassettes.check import cassette_paths, check_cassette, unmatched_pointers
    from harness.errors import ExitCode
    from harness.runs.plan.plan import secret_values
    from harness.suite.loading import load_suite
    from harness.suite.suite_file import suite_names

    project: Path = ctx.obj
    checked, problems, notes = 0, list[str](), list[str]()
    for name in suites or suite_names(project):
        suite = load_suite(project, name)
        secrets, readable = secret_values(suite), []
        for path in cassette_paths(project / "cassettes", name):
            checked += 1
            findings = check_cassette(path, secrets)
            problems += map(str, findings)
            readable += [] if findings else [open_cassette(path)]
        notes += (f"{name}: {words}" for words in unmatched_pointers(suite, readable))
    if as_json:
        print_json({"checked": checked, "problems": problems, "notes": notes})
    else:
        click.echo("\n".join([*problems, *notes, f"{checked} cassettes checked, {len(problems)} problems"]))
    ctx.exit(ExitCode.VERDICT if problems else ExitCode.DONE)


@cassette_command.command("show")
@click.argument("suite")
@click.argument("case", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def show(project: Path, suite: str, case: str | None, as_json: bool) -> None:
    """Show the recordings of CASE, grouped by the preceding writes; without CASE, list the cassettes of SUITE.

    \b
    harness cassette show drive_thru
    harness cassette show drive_thru order-correctness-000

    Both say where recordings come from: a service, a double that the suite declares (`double: true`), an imported
    trajectory, or a person.
    """
    from harness.cassettes.cassette import cassette_path
    from harness.cassettes.check import cassette_paths, list_cassettes, provenance_words, show_cassette, shown_cassette
    from harness.errors import UsageError
    from harness.suite.loading import load_suite
    from harness.text import alternatives

    if case is not None:
        path = cassette_path(project / "cassettes", suite, case)
        if not path.exists():
            known = [one.stem for one in cassette_paths(project / "cassettes", suite)]
            raise UsageError(f"suite {suite!r} has no cassette of case {case!r}", remedy=alternatives(case, known))
        if as_json:
            click.echo(shown_cassette(path).model_dump_json(indent=1))
        else:
            click.echo(show_cassette(path), nl=False)
        return
    cassettes = list_cassettes(project / "cassettes", load_suite(project, suite).name)
    if as_json:
        print_json([cassette.model_dump(mode="json") for cassette in cassettes])
        return
    for cassette in cassettes:
        whence = provenance_words(cassette.provenance)
        click.echo(
            f"{cassette.case:40} {cassette.recordings:5} recordings  {', '.join(cassette.tools)}  ({whence or 'empty'})"
        )


@cassette_command.command("refresh")
@click.argument("suite")
@click.option("--from", "source", metavar="RUN", required=True, help="A run or probe that found drift.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool's answers (repeatable).")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case's cassette (repeatable).")
@click.pass_obj
def refresh_cassettes(project: Path, /, suite: str, source: str, **options: Unpack[RefreshValues]) -> None:
    """Replace recordings by the current answers of tools whose drift RUN has confirmed.

    \b
    harness cassette refresh drive_thru --from nightly
    harness cassette refresh drive_thru --from nightly --tool lookup_menu_item

    Only recordings whose answer changed are replaced; secrets are removed from the new answers. `git diff` shows what
    changed, for review.
    """
    from harness.cassettes.refresh import write_refreshed
    from harness.cli.console import say
    from harness.drift.flips import RefreshPlan, refreshed
    from harness.runs.store.drift_report import read_drift
    from harness.runs.store.folder import run_path

    found = run_path(project, source)
    run = found.parent if found.is_file() else found
    cassettes = refreshed(project, suite, run, read_drift(found), RefreshPlan(**options))
    for cassette in cassettes:
        say(f"{cassette.path}: {cassette.replaced} recordings")
    if not cassettes:
        say("no recording has confirmed drift; nothing to refresh")
    write_refreshed(cassettes)


# `harness tool`: lists the tools of a suite and updates the stored listings.

_SHOWN = 110


@click.group("tool")
def tool_command() -> None:
    """List a suite's tools; update the stored listings of their sources."""


@tool_command.command("list")
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, help="Print the tools with their schemas as JSON.")
@click.pass_obj
def list_tools(project: Path, suite: str, as_json: bool) -> None:
    """List the tools of SUITE: server, source, effect and arguments; then what its OpenAPI documents declare and no
    tool has, and its pointers that match nothing recorded.

    \b
    harness tool list drive_thru
    harness tool list drive_thru --json
    """
    from harness.cassettes.check import unmatched_in
    from harness.suite.loading import load_suite, tool_groups
    from harness.suite.tools import signature
    from harness.suite.tools_section import notes_of

    loaded = load_suite(project, suite)
    tools = loaded.tools
    if as_json:
        print_json([tool.model_dump(mode="json", exclude_defaults=True) for tool in tools])
        return
    for tool in tools:
        name = signature(tool)
        click.echo(f"{tool.server}  {tool.source}  {tool.effect:5}  {name}")
        first = tool.description.strip().partition("\n")[0]
        if first:
            click.echo(f"    {first if len(first) <= _SHOWN else first[: _SHOWN - 3] + '...'}")
    folder, groups, _ = tool_groups(project, suite)
    for words in (*notes_of(groups, folder), *unmatched_in(project / "cassettes", loaded)):
        click.echo(words)
    click.echo(f"{len(tools)} tools")


@tool_command.command("refresh")
@click.argument("suite")
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 1 if the listing of a source differs from the stored one."
)
@click.pass_context
def refresh_listings(ctx: click.Context, suite: str, check: bool) -> None:
    """Read the tool listings of the sources of SUITE (MCP servers, Python files, remote documents) and store them.

    The listings are stored in the suite's folder `tools/`, so that a replay needs no server.
    """
    from harness.errors import ExitCode
    from harness.runs.listings import refresh_tools

    changed = False
    for source in refresh_tools(ctx.obj, suite, write=not check):
        click.echo(f"{source.server}: {source.tools} tools, {len(source.changes)} changes  {source.path}")
        for change in source.changes:
            changed = True
            click.echo(f"  {change.what} {change.tool}")
    ctx.exit(ExitCode.VERDICT if check and changed else ExitCode.DONE)
