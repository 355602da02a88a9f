"""Agents as programs, frozen by content."""

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.runs.plan.variables import varied
from harness.runs.trial.agents import open_agent
from harness.suite.loading import load_suite
from harness.suite.suites import Suite

SUITE = """\
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agent, prompts: [prompt.txt]}
cases: cases.yaml
"""
CASES = """\
- {id: hello, task: Say hello, reference: [], expected_output: Hello}
- {id: open, task: Say something}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    folder = tmp_path / "suites" / "greeter"
    (folder / "agent").mkdir(parents=True)
    (folder / "agent" / "main.py").write_text("print('hi')\n")
    (folder / "agent" / "prompt.txt").write_text("Be kind.\n")
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "cases.yaml").write_text(CASES)
    return load_suite(tmp_path, "greeter")


def test_an_agents_files_are_frozen_and_readable_by_everybody(suite: Suite, tmp_path: Path) -> None:
    source = suite.folder / "agent" / "main.py"
    source.chmod(0o700)
    files = open_agent(suite, "v1", tmp_path / "staging").program(suite.cases[0]).files
    assert files is not None
    source.write_text("print('edited')\n")
    assert "print('hi')\n" == (files / "main.py").read_text()
    assert (0o755, 0o755) == (files.stat().st_mode & 0o777, (files / "main.py").stat().st_mode & 0o777)


def test_any_change_of_the_agent_changes_its_digest_and_only_a_prompt_changes_the_prompts(
    suite: Suite, tmp_path: Path
) -> None:
    def digests() -> tuple[str, str | None]:
        agent = open_agent(suite, "v1", tmp_path / "staging")
        return agent.digest, agent.prompt_digest

    first = digests()
    (suite.folder / "agent" / "main.py").write_text("print('edited')\n")
    second = digests()
    (suite.folder / "agent" / "prompt.txt").write_text("Be brief.\n")
    third = digests()
    assert 3 == len({first[0], second[0], third[0]})
    assert first[1] == second[1] != third[1]


def test_a_value_of_a_variable_changes_the_digest_and_not_the_code(suite: Suite, tmp_path: Path) -> None:
    path = suite.folder / "suite.yaml"
    with_variable = SUITE.replace('main.py"]', 'main.py", "{tone}"]').replace(
        "prompts:", "variables: {tone: calm}, prompts:"
    )
    path.write_text(with_variable)
    declared = load_suite(tmp_path, "greeter")
    agents = [
        open_agent(one, "v1", tmp_path / "staging") for one in (declared, varied(declared, "v1", {"tone": "loud"}))
    ]
    assert ["calm", "loud"] == [agent.program(declared.cases[0]).command[-1] for agent in agents]
    assert 2 == len({agent.digest for agent in agents})
    assert 1 == len({agent.code_digest for agent in agents})


def test_bytecode_is_no_part_of_an_agent(suite: Suite, tmp_path: Path) -> None:
    before = open_agent(suite, "v1", tmp_path / "staging").digest
    (suite.folder / "agent" / "__pycache__").mkdir()
    (suite.folder / "agent" / "__pycache__" / "main.pyc").write_bytes(b"x")
    assert before == open_agent(suite, "v1", tmp_path / "staging").digest


def test_a_declared_prompt_that_is_missing_is_named(suite: Suite, tmp_path: Path) -> None:
    (suite.folder / "agent" / "prompt.txt").unlink()
    with pytest.raises(UsageError, match=r"prompt\.txt"):
        _ = open_agent(suite, "v1", tmp_path / "staging").prompt_digest


def test_an_unknown_agent_is_answered_with_the_ones_there_are(suite: Suite, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="v2") as refused:
        open_agent(suite, "v2", tmp_path / "staging")
    assert all(name in str(refused.value.remedy) for name in ("v1", "oracle", "nop"))


def test_the_oracle_refuses_a_case_without_a_reference(suite: Suite, tmp_path: Path) -> None:
    oracle = open_agent(suite, "oracle", tmp_path / "staging")
    assert "Hello" in oracle.program(suite.cases[0]).env["HARNESS_ORACLE"]
    with pytest.raises(UsageError, match=r"'open'(.|\n)*`reference:`"):
        oracle.program(suite.cases[1])
