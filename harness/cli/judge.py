"""`harness judge`: rubrics, judges and their prompts. One module a subcommand, imported only when it is named."""

from importlib import import_module

import click

_COMMANDS = {
    "run": "Judge a stored run by a rubric, one criterion at a time.",
    "show": "Show what judges said about a run.",
    "compare": "Say which of two runs meets a criterion better, asked in both orders.",
    "ask": "Judge one answer: pass or fail, with or without a reference.",
    "agreement": "Hold what judges said against people's labels, or against any verdict.",
    "calibrate": "Revise a judge's prompt until it decides as people do.",
    "stability": "Ask a judge the same again, and count how often it changes its mind.",
    "redteam": "Plant texts that ask for a pass into trials that must fail, and count the passes.",
    "audit": "Let people label a blind sample of new verdicts.",
    "triage": "Say whose fault a flagged failure is, and count by release.",
    "rubric": "List, check and show rubrics.",
    "prompt": "List, show and label the versions of prompts.",
    "demo": "Show all of it on a suite, with the rule model: run, judge, compare with people, calibrate.",
    "send": "Send a run's verdicts to Langfuse as scores.",
    "rule-model": "Serve the rule model: a judge's double that follows only what its prompt says.",
}


class Judging(click.Group):
    """The module of `<name>` is `harness.cli.judge_<name>`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a user meets them."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"harness.cli.judge_{cmd_name.replace('-', '_')}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the subcommands without importing one."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group("judge", cls=Judging)
def command() -> None:
    """Judge what no check can decide.

    \b
    harness judge run tour-v2 --rubric tool_agent --model gpt-4.1
    harness judge show tour-v2 --rubric tool_agent
    harness judge rubric list
    """
