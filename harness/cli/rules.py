"""`harness rules`: rules that passing trials of a suite always keep."""

from pathlib import Path

import click

from harness.runs.store.folder import run_path


@click.group("rules")
def rules_command() -> None:
    """Learn what passing trials of a suite always do."""


@rules_command.command("learn")
@click.argument("suite")
@click.option(
    "--from", "sources", multiple=True, metavar="RUN", help="A run to learn from (repeatable); default: all of SUITE."
)
@click.option("--update", is_flag=True, help="Write the file although it exists; pinned rules stay.")
@click.option(
    "--all", "every", is_flag=True, help="Keep all rules, not only the best 40 of each case, category and suite."
)
@click.option("--json", "as_json", is_flag=True, help="Print the rules and their support as JSON.")
@click.pass_context
def learn_command(
    ctx: click.Context, suite: str, sources: tuple[str, ...], update: bool, every: bool, as_json: bool
) -> None:
    """Write `suites/SUITE/rules.yaml`: what all passing trials of SUITE did, by case, category or for the whole suite.

    \b
    harness run library_desk --trials 3
    harness rules learn library_desk
    harness rules learn library_desk --update

    Every later scorecard says which rules were kept and which were broken. A broken rule is a change of behaviour, not
    a failure. If the file exists, the verb prints the differences and ends with 1; --update writes them.
    """
    from harness.cli.console import print_json
    from harness.errors import ExitCode, UsageError
    from harness.runs.rule_learning import learn_rules
    from harness.runs.store.baseline import runs_in
    from harness.runs.store.folder import RunFolder

    project: Path = ctx.obj
    if sources:
        folders = [RunFolder.open(run_path(project, name)) for name in sources]
    else:
        folders = [folder for folder in runs_in(project / "runs") if folder.manifest.suite == suite]
    if not folders:
        raise UsageError(f"no run of suite {suite!r} is stored", remedy=f"harness run {suite} --trials 3")
    learning = learn_rules(project, suite, folders, most=None if every else 40)
    write = learning.is_new or update
    if write:
        learning.write()
    learned, changes = learning.learned, learning.update.changes
    if as_json:
        found = learning.update.file.model_dump(mode="json")
        print_json({"rules": found, "changes": [*changes], "cases": learned.cases, "written": write})
    else:
        for line in changes:
            click.echo(line)
        _tell(learned.cases, learned.flagged_cases, "cases")
        if learned.trials:
            _tell(learned.trials, learned.flagged_trials, "trials")
        many = sum(map(len, learning.update.file.scopes.values()))
        shown = learning.path.relative_to(project)
        if write:
            click.echo(f"{many} rules in {shown}")
        elif changes:
            click.echo(f"{shown} was not changed: read the differences, then use --update")
        else:
            click.echo(f"{shown} is current: {many} rules")
    ctx.exit(ExitCode.DONE if write or not changes else ExitCode.VERDICT)


def _tell(many: int, flagged: int, units: str) -> None:
    """How often a passing trial will be flagged, as far as so many can say."""
    share = f"{flagged} of {many} passing {units} broke a rule that the others teach"
    click.echo(f"{share}; so many {units} cannot promise less than {100 * min(1.0, 3 / many):.0f} %")
