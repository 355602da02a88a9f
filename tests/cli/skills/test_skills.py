"""Skills have the format that agents read, and the commands that they name work; who follows one finds the cause."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.skills.following import SKILLS, Unusable, read_skill
from tests.cli.skills.planted import CAUSES, RUN, measured, write_project
from tests.cli.starting import run_command
from tests.production.receiving import request, serving, span

NAMES = sorted(path.parent.name for path in SKILLS.glob("*/SKILL.md"))
VALUES = {
    "RUN": RUN,
    "BEFORE": "before",
    "SUITE": "shop",
    "CASE": "lazy-1",
    "ATTEMPT": "1",
    "SESSION": "default:s1",
    "AGENT": "v1",
}


def send_session(folder: Path) -> None:
    """A session of production that its suite has scored."""
    said = (("user", "slow: What is the state of order 101."), ("assistant", "That cannot be done now."))
    parts = [[{"role": role, "parts": [{"type": "text", "content": text}]}] for role, text in said]
    facts = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s1",
             "gen_ai.input.messages": json.dumps(parts[0]), "gen_ai.output.messages": json.dumps(parts[1])}  # fmt: skip
    (folder / "online.yaml").write_text("pause_s: 0\n", encoding="utf-8")
    with serving(folder / "online") as served:
        served.post("/v1/traces", request(span(1, 1, attributes=facts)))
    done = run_command("online", "score", "shop", folder=folder)
    assert 0 == done.returncode, done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of four cases, drift that was found in one of them, and a scored session of production."""
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    refreshed = run_command("tool", "refresh", "shop", folder=folder)
    assert 0 == refreshed.returncode, refreshed.stderr
    place = folder / "suites" / "shop" / "cases.yaml"
    kept = {f"{kind}-{number}" for kind in ("slow", "lazy") for number in (1, 2)}
    cases = [case for case in yaml.safe_load(place.read_text(encoding="utf-8")) if case["id"] in kept]
    place.write_text(yaml.safe_dump(cases), encoding="utf-8")
    for name in ("before", RUN):
        done = run_command("run", "shop", "--live", "tools", "--sandbox", "local", "--run-name", name, folder=folder)
        assert 0 == done.returncode, done.stderr
    report = {"suite": "shop", "run": RUN, "seen": "2026-01-01T00:00:00Z", "command": "harness drift shop",
              "findings": [], "exercised": {}}  # fmt: skip
    send_session(folder)
    (folder / "runs" / RUN / "drift.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_has_the_format_of_agent_skills(name: str) -> None:
    text = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---\n", 2)[1])
    assert {"name", "description"} == set(front)
    assert name == front["name"]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= 64
    assert 1 <= len(front["description"]) <= 1024


def test_the_documentation_lists_every_skill() -> None:
    page = (SKILLS.parent / "docs" / "how-to" / "coding-agents.md").read_text(encoding="utf-8")
    assert NAMES == sorted(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "command"), [(name, one) for name in NAMES for one in read_skill(name).commands])
def test_a_command_of_a_skill_works(project: Path, name: str, command: str) -> None:
    theme = theme_of(project) if "THEME" in command else ""
    words = read_skill(name).words(command, {**VALUES, "THEME": theme})
    assert "harness" == words[0]
    done = run_command(*words[1:], folder=project)
    assert done.returncode in (0, 1), f"{command}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    assert json.loads(done.stdout) is not None


def theme_of(project: Path) -> str:
    themes: list[dict[str, Any]] = json.loads(run_command("themes", RUN, "--json", folder=project).stdout)["themes"]
    return str(themes[0]["id"])


@pytest.mark.slow
def test_who_follows_the_skill_names_the_planted_cause(tmp_path: Path) -> None:
    told = measured(tmp_path)
    print(json.dumps(told))
    assert len(CAUSES) >= 10
    missed = {kind for kind, row in told["by_cause"].items() if not row["named"]}
    assert not missed, told["by_cause"]
    assert (told["promoted"], []) == (told["proven"], told["steered"])
    assert ["lazy"] == told["proposed"]


def test_a_value_that_the_skills_forbid_is_not_used() -> None:
    skill = read_skill("promote-trace")
    command = next(one for one in skill.commands if "--session" in one)
    words = skill.words(command, {"SESSION": "default:c; touch PWNED $(id)", "SUITE": "shop"})
    assert "default:c; touch PWNED $(id)" in words
    for hostile in ("c'; touch PWNED; '", "--store", 'a"b'):
        with pytest.raises(Unusable):
            skill.words(command, {"SESSION": hostile, "SUITE": "shop"})
