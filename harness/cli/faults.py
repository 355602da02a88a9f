"""`harness run --faults all`: every error of every tool at every step, one a trial."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.counterfactual import CampaignReport
    from harness.pipeline import RunOptions

_SHOWN = 20


def carry_out_campaign(project: Path, options: "RunOptions", *, own_tools: bool) -> ExitCode:
    """Runs the campaign and prints it; `own_tools`: nobody said who answers, so the suite's services do."""
    from harness.case import load_suite
    from harness.cli.cleaning import visible
    from harness.cli.console import print_json, say
    from harness.counterfactual import run_campaign
    from harness.errors import UsageError
    from harness.pipeline import plan_of, variant_tool_mode

    if options.suite is None or options.resume is not None:
        raise UsageError("--faults all runs a suite from its beginning", remedy="name the suite, without --resume")
    suite = load_suite(project, options.suite)
    update: dict[str, object] = {"trials": 1}
    if own_tools:
        update["tools"] = variant_tool_mode(suite)
    report = run_campaign(plan_of(project, options.model_copy(update=update)), say)
    if options.as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for line in _lines(report):
            click.echo(visible(line))
    return ExitCode.DONE


def _lines(report: "CampaignReport") -> list[str]:
    total = report.total
    lines = [
        f"{report.suite} {report.agent}: recovered from {total.recovered} of {total.faults} faults"
        + (f" ({total.rate:.0%}, 95 % {total.low:.0%} to {total.high:.0%})" if total.faults else ""),
        "by tool, the worst first",
    ]
    lines += [f"  {name:<28}{one.recovered} of {one.faults}" for name, one in report.tools.items()]
    lines.append("by error")
    lines += [f"  {name:<28}{one.recovered} of {one.faults}" for name, one in report.errors.items() if one.faults]
    lines += [f"lost {one}" for one in report.lost[:_SHOWN]]
    if len(report.lost) > _SHOWN:
        lines.append(f"and {len(report.lost) - _SHOWN} more; --json has all")
    if report.unmet:
        lines.append(f"{report.unmet} faults were met by no call, or their trials could not be measured")
    if report.not_passed:
        lines.append(f"not passed without any fault, so not struck: {', '.join(report.not_passed)}")
    lines.append(f"kept as {report.run}")
    return lines
