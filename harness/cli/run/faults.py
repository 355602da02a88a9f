"""`harness run --faults all`: injects every error of every tool at every step, one per trial."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.counterfactual import CampaignReport
    from harness.pipeline import RunOptions

_SHOWN = 20
_NOT_TAKEN = {
    "trials": "--trials",
    "against": "--against",
    "stop_early": "--stop-early",
    "check_determinism": "--check-determinism",
    "run_name": "--run-name",
    "executor": "--executor",
    "shard": "--shard",
    "floors": "--fail-under",
    "no_worse_than": "--no-worse-than",
    "against_baseline": "--against-baseline",
    "allow_unmeasured": "--allow-unmeasured",
    "max_inconclusive": "--max-inconclusive",
}
"""Field of the options -> option that a fault campaign does not support: it has no gates and plans its trials itself.
"""


def carry_out_campaign(project: Path, options: "RunOptions", *, own_tools: bool) -> ExitCode:
    """Runs the fault campaign and prints it; `own_tools`: --tools is not given, so the suite's services answer."""
    from harness.case import load_suite
    from harness.cli.output.console import print_json, say
    from harness.counterfactual import run_campaign
    from harness.errors import UsageError
    from harness.pipeline import plan_of, variant_tool_mode
    from harness.visible_text import one_line

    if options.suite is None or options.resume is not None:
        raise UsageError("--faults all cannot resume a run", remedy="give the suite, without --resume")
    _refuse_not_taken(options)
    suite = load_suite(project, options.suite)
    update: dict[str, object] = {"trials": 1}
    if own_tools:
        update["tools"] = variant_tool_mode(suite)
    report = run_campaign(plan_of(project, options.model_copy(update=update)), say)
    if options.as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for line in _lines(report):
            click.echo(one_line(line))
    return ExitCode.DONE


def _refuse_not_taken(options: "RunOptions") -> None:
    from harness.errors import UsageError

    given = [
        name
        for field, name in _NOT_TAKEN.items()
        if getattr(options, field) != type(options).model_fields[field].default
    ]
    if given:
        raise UsageError(
            f"--faults all does not support {', '.join(given)}: a campaign has no gates and plans its trials itself",
            remedy="omit these options; --json prints recovery by tool and error",
        )


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
        lines.append(f"{report.unmet} faults were not measured: no call triggered them, or the trial was inconclusive")
    if report.not_passed:
        lines.append(f"skipped, because the agent fails without faults: {', '.join(report.not_passed)}")
    lines.append(f"stored as {report.run}")
    return lines
