"""`harness judge`: rubrics, judges and their prompts. One module a subcommand, imported only when it is named."""

import click

from harness.cli.lazy_group import LazyGroup, Verb

_COMMANDS = {
    "run": "Judge a stored run by a rubric, one criterion at a time.",
    "show": "Show the verdicts on a run.",
    "compare": "Compare two runs by a criterion, in both orders.",
    "agreement": "Compare judges' verdicts with people's labels or with other verdicts.",
    "calibrate": "Revise a judge's prompt until it agrees with people's labels.",
    "rubric": "List, check and show rubrics.",
    "prompt": "List, show and label the versions of prompts.",
}


@click.group(
    "judge",
    cls=LazyGroup,
    verbs={name: Verb(f"judge.{name}", help=line) for name, line in _COMMANDS.items()},
)
def command() -> None:
    """Decide criteria that need a model as judge.

    \b
    harness judge run tour-v2 --rubric tool_agent --model gpt-4.1
    harness judge show tour-v2 --rubric tool_agent
    harness judge rubric list
    """
