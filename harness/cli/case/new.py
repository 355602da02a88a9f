"""`harness case new`: asks five questions and writes a case from the answers."""

import re
from pathlib import Path
from typing import TypedDict, Unpack

import click

from harness.errors import UsageError


class Answers(TypedDict):
    """The questions, and the options that answer them in advance."""

    task: str
    answer: str
    required: str
    forbidden: str
    case_id: str | None


@click.command("new")
@click.argument("suite")
@click.option("--task", prompt="1. What is the agent's task?", help="The task, as the agent reads it.")
@click.option("--answer", prompt="2. What must its answer contain? (nothing: empty)", default="", show_default=False,
              help="Text that a correct answer contains; empty: the answer is not checked.")  # fmt: skip
@click.option("--required", prompt="3. Which tools must it call? (a, b; none: empty)", default="", show_default=False,
              help="Tools, separated by commas.")  # fmt: skip
@click.option("--forbidden", prompt="4. Which tools must it not call? (a, b; none: empty)", default="",
              show_default=False, help="Tools, separated by commas.")  # fmt: skip
@click.option(
    "--id", "case_id", metavar="ID", help="Id of the case; default: asked, with a proposal from the words of the task."
)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The case file to extend; default: the suite's.",
)
@click.pass_obj
def new(project: Path, /, suite: str, file: Path | None, **answers: Unpack[Answers]) -> None:
    """Ask five questions, and add a case to SUITE.

    \b
    harness case new hello
    harness case new hello --task "Greet Bo" --answer Bo --required "" --forbidden "" --id greet-bo

    The rest of the file is not changed. If the suite cannot be loaded with the case, nothing is written.
    """
    from harness.case import load_suite
    from harness.pipeline import add_new_case

    found = load_suite(project, suite)
    case_id = answers["case_id"] or click.prompt("5. What is the case called?", default=_proposed(answers["task"]))
    known = [tool.name for tool in found.tools]
    tools = {name: _tools(answers[name], known) for name in ("required", "forbidden")}
    added = add_new_case(project, found, _fields(case_id, answers, tools), file)
    click.echo(f"added {case_id} to {added.file}")
    if not added.listed:
        click.echo(f"name the file in suite.yaml: {added.line}")
    if not (answers["answer"] or any(tools.values()) or found.checks):
        click.echo("the case has no check: its success stays unknown until you add one")
    click.echo(f"next: harness run {suite} --case {case_id}")


def _fields(case_id: str, answers: Answers, tools: dict[str, list[str]]) -> dict[str, object]:
    checks: list[dict[str, object]] = []
    if answers["answer"]:
        checks.append({"name": "answer", "verifier": "final_answer", "with": {"contains": answers["answer"]}})
    checks += [{"name": f"{name}_tools", "verifier": f"{name}_tools"} for name, own in tools.items() if own]
    given = {f"{name}_tools": own for name, own in tools.items() if own}
    return {"id": case_id, "task": answers["task"], **given, "checks": checks}


def _tools(text: str, known: list[str]) -> list[str]:
    from harness.alternatives import alternatives

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UsageError(f"the suite has no tool {name!r}", remedy=alternatives(name, known))
    return names


def _proposed(task: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", task.lower())[:4]
    return "-".join(words) or "case-1"
