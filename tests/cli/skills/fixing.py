"""A coding agent by rules that follows the skill `draft-fix`."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.skills.following import Run, read_skill

_AGENT = "v1"


@dataclass(frozen=True)
class Draft:
    """What the agent hands over."""

    patch: Path
    proven: bool
    """Whether every case of the theme is measured with the patch."""


def draft(project: Path, suite: str, run: str, theme_id: str, shell: Run) -> Draft | None:
    """None: the skill names no clear fix for the theme, or none that needs no person's decision first."""
    skill = read_skill("draft-fix")
    show, record, prove = skill.commands
    theme = shell(skill.words(show, {"RUN": run, "THEME": theme_id}))
    rule = next((one for one in skill.rules if one.holds(theme)), None)
    if rule is None or rule.cause != "record":
        return None
    cases = sorted({member.split("/")[-2] for member in theme["members"]})
    values = [{"SUITE": suite, "CASE": case, "AGENT": _AGENT} for case in cases]
    for one in values:
        shell(skill.words(record, one))
    proofs: list[dict[str, Any]] = [shell(skill.words(prove, one)) for one in values]
    patch = project / "fixes" / f"{theme_id}.patch"
    patch.parent.mkdir()
    changed = subprocess.run(["git", "diff", "cassettes"], cwd=project, capture_output=True, check=True).stdout
    patch.write_bytes(changed)
    return Draft(patch, all(not one["misses"] and not one["unmeasured"] for one in proofs))
