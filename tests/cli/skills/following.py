"""A coding agent by rules: it reads a SKILL.md, runs the commands that it names in their order, and answers by the
table of rules that it states. It knows nothing else of the harness.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SKILLS = Path(__file__).parents[3] / "skills"
_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"\b[A-Z]{3,}\b")
_CONDITION = re.compile(r"^`([a-z_.]+)` (is set|is not empty|is less than|is|begins with)(?: `([^`]*)`)?$")
Run = Callable[[list[str]], Any]
"""Runs a command and gives the JSON that it printed."""


@dataclass(frozen=True)
class Rule:
    """A row of the table: what must hold, and what follows."""

    field: str
    relation: str
    value: str
    cause: str
    mends: str = ""
    """The third cell."""

    def holds(self, theme: Mapping[str, Any]) -> bool:
        told = value_at(theme, self.field)
        match self.relation:
            case "is":
                return bool(told == self.value)
            case "begins with":
                return isinstance(told, str) and told.startswith(self.value)
            case "is less than":
                return told is not None and float(told) < float(self.value)
            case _:
                return bool(told)


@dataclass(frozen=True)
class Skill:
    """A SKILL.md."""

    name: str
    description: str
    commands: tuple[str, ...]
    rules: tuple[Rule, ...]

    def words(self, command: str, values: Mapping[str, str]) -> list[str]:
        """The words of a command with its places filled in, each in single quotes as every skill says.

        Raises Unusable for a value that the skills forbid to use.
        """
        return shlex.split(_PLACE.sub(lambda found: _quoted(values[found[0]]), command))


class Unusable(Exception):
    """A value that holds a quote, or begins with a dash."""


def _quoted(value: str) -> str:
    if "'" in value or '"' in value or value.startswith("-"):
        raise Unusable(value)
    return f"'{value}'"


def read_skill(name: str) -> Skill:
    text = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    told = yaml.safe_load(front)
    commands = [line.strip() for block in _BLOCK.findall(body) for line in block.splitlines() if line.strip()]
    return Skill(told["name"], told["description"], tuple(commands), tuple(_rules(body)))


def _rules(body: str) -> list[Rule]:
    """The rows of a table whose first cell is a condition that can be decided."""
    lines = [line.strip() for line in body.splitlines()]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    found = [(_CONDITION.match(row[0]), row) for row in rows]
    return [Rule(one[1], one[2], one[3] or "", *row[1:3]) for one, row in found if one is not None]


def rows_of(name: str, heading: str) -> list[tuple[str, str]]:
    """The first two cells of each row of the skill's table whose first column has this heading."""
    return [(row[0], row[1]) for row in cells_of(name, heading)]


def cells_of(name: str, heading: str) -> list[list[str]]:
    """All cells of each row of that table."""
    text = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")
    rows = text.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]


def value_at(theme: Mapping[str, Any], path: str) -> Any:
    told: Any = theme
    for name in path.split("."):
        told = told.get(name) if isinstance(told, dict) else None
    return told


@dataclass(frozen=True)
class Answer:
    """What the agent hands over."""

    cause: str
    confirmed: bool
    mends: str = ""


def investigate(run: str, theme_id: str, shell: Run) -> Answer:
    """Follows the skill `investigate-theme`."""
    skill = read_skill("investigate-theme")
    show, *looks = skill.commands
    values = {"RUN": run, "THEME": theme_id}
    theme = shell(skill.words(show, values))
    examples = []
    for example in theme["representative"][:2]:
        _, case, attempt = example["session"].rsplit("/", 2)
        told = [shell(skill.words(look, {**values, "CASE": case, "ATTEMPT": attempt})) for look in looks]
        examples.append(told[0])
    rule = next((one for one in skill.rules if one.holds(theme)), None)
    if rule is None:
        return Answer("unknown", False)
    cause = re.sub(r"\{([a-z_.]+)\}", lambda found: str(value_at(theme, found[1])), rule.cause)
    return Answer(cause, bool(examples) and all(_shows(one, theme["cause"]) for one in examples), rule.mends)


def cluster(run: str, shell: Run) -> list[str]:
    """Follows the skill `cluster-failures`: the ids of the themes of the agent by impact, the first to investigate
    first; faults of the harness stand apart. Every failed trial must be in a theme.
    """
    _, themes, _, failed = read_skill("cluster-failures").commands
    skill = read_skill("cluster-failures")
    found = shell(skill.words(themes, {"RUN": run}))["themes"]
    trials = shell(skill.words(failed, {"RUN": run}))
    members = {member.partition("/")[2] for theme in found for member in theme["members"]}
    missing = [one for one in trials if f"{one['case_id']}/{one['attempt']}" not in members]
    assert not missing, missing
    return [theme["id"] for theme in found if theme["fault"] is None]


def proposes_prompt(run: str, theme_id: str, answer: Answer, shell: Run) -> bool:
    """Follows the skill `draft-prompt-change` up to its decision: whether a change of the prompt is proposed. `answer`
    is what `investigate-theme` led to: the skill is used where a prompt mends the theme.
    """
    if "prompt" not in answer.mends or not answer.confirmed:
        return False
    skill = read_skill("draft-prompt-change")
    listed = shell(skill.words(skill.commands[0], {"RUN": run}))["themes"]
    (theme,) = [one for one in listed if one["id"] == theme_id]
    return not any(rule.holds(theme) for rule in skill.rules)


def promote(run: str, theme: Mapping[str, Any], shell: Run) -> bool:
    """Follows the skill `promote-trace` for the first representative example of a theme: whether the case is proven."""
    skill = read_skill("promote-trace")
    command = next(one for one in skill.commands if "from-trace RUN" in one)
    _, case, attempt = theme["representative"][0]["session"].rsplit("/", 2)
    made = shell(skill.words(command, {"RUN": run, "CASE": case, "ATTEMPT": attempt}))
    return bool(made["failing"] == "fails" and set(made["passing"].values()) <= {"passes"})


def _shows(explained: Mapping[str, Any], cause: Mapping[str, str]) -> bool:
    """A finding of the mode, or an observation of the tool with that error."""
    card, steps = explained["scorecard"], explained["trial"]["trajectory"]["steps"]
    modes = {f"{one['failure']}/{one['kind']}" for one in card["diagnoses"]} | {f"outcome/{card['outcome']}"}
    calls = {call["id"]: call["name"] for step in steps for call in step["calls"]}
    errors = {
        (calls.get(seen["call_id"]) if cause["tool"] else "", seen["error"]["type"])
        for step in steps
        for seen in step["observations"]
        if seen["error"] is not None
    }
    return (cause["tool"], cause["error"]) in errors if cause["error"] else cause["mode"] in modes


def harness(project: Path, run: Callable[[list[str]], str]) -> Run:
    """A shell in which only `harness` is there."""

    def shell(words: list[str]) -> Any:
        assert "harness" == words[0], words
        return json.loads(run(["--project", str(project), *words[1:]]))

    return shell
