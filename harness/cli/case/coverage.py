"""`harness case coverage`: tools, values and rules that the cases of a suite do not exercise."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.results import run_path

if TYPE_CHECKING:
    from harness.counterfactual import CoverageReport

_SHOWN = 12


@click.command("coverage")
@click.argument("suite")
@click.option(
    "--run", metavar="RUN", help="Also count what the trials of this run exercised; default: the references alone."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_obj
def coverage(project: Path, /, suite: str, run: str | None, as_json: bool) -> None:
    """Show which tools, parameters, values, errors, effects, rows, rules and failure modes SUITE exercises.

    \b
    harness case coverage drive_thru
    harness case coverage drive_thru --run tour-v2 --json

    No agent is run. An item counts as covered if the reference of a case or a trial of RUN uses it. Rules are ids that
    prompts of cases and agents name as `rule:<id>`; a tag or a check of that name covers them.
    """
    from harness.case import load_suite
    from harness.cli.output.console import print_json
    from harness.counterfactual import coverage_of
    from harness.errors import UsageError
    from harness.results import RunFolder
    from harness.visible_text import one_line

    loaded = load_suite(project, suite)
    folder = None if run is None else RunFolder.open(run_path(project, run))
    if folder is not None and folder.manifest.suite != loaded.name:
        raise UsageError(
            f"run {folder.manifest.run!r} is of suite {folder.manifest.suite!r}, not of {loaded.name!r}",
            remedy=f"name a run of {loaded.name!r}",
        )
    report = coverage_of(loaded, folder)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    for line in _lines(report):
        click.echo(one_line(line))


def _lines(report: "CoverageReport") -> list[str]:
    seen = "references alone" if report.run is None else f"references and {report.trials} trials of {report.run}"
    lines = [f"{report.suite}: {seen}"]
    for name, found in report.dimensions.items():
        every = len(found.touched) + len(found.untouched)
        lines.append(f"  {name:<16}{len(found.touched)} of {every}")
        if found.untouched:
            more = f" and {len(found.untouched) - _SHOWN} more" if len(found.untouched) > _SHOWN else ""
            lines.append(f"    not touched: {', '.join(found.untouched[:_SHOWN])}{more}")
    return lines
