"""Where a simulated user has no message, the run says why, and what can be done about it."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import HarnessError, InvalidDocument
from qa.doubles.rule_user import RuleUser
from tests.users.test_steered_outcome import AGENT, CASES, SUITE, suite_of

MODEL = "user: {model: guest, base_url: 'URL', double: true}"
TALK = "- {id: latte, task: 'A latte, please.', conversation: {plan: Ask for a small one.}}"


def typed(project: Path, *words: str) -> Result:
    return CliRunner().invoke(harness, ["--project", str(project), "run", "talks", "--sandbox", "local", *words])


def words(text: str) -> str:
    """Without the line ends of a terminal."""
    return " ".join(text.split())


def test_a_message_that_is_not_recorded_is_recorded_by_the_command_that_is_shown(tmp_path: Path) -> None:
    agent = AGENT.replace("SAYS", "Which size?")
    with RuleUser() as model:
        suite_of(tmp_path, TALK, agent, SUITE.replace("user: {kind: logged}", MODEL.replace("URL", model.url)))
        missed = typed(tmp_path, "--user", "model", "--run-name", "missed")
        command = "harness run talks --agent v1 --user model --live model,record"
        assert 1 == missed.exit_code, missed.output
        assert "1 message(s)" in words(missed.output)
        assert "none of this tool" not in missed.output
        assert command in words(missed.output)
        assert f"`{command}`" in (tmp_path / "runs/missed/report/summary.md").read_text()

        recorded = typed(tmp_path, *command.split()[3:])
        assert 0 == recorded.exit_code, recorded.output
    assert 0 == typed(tmp_path, "--user", "model").exit_code


def test_where_a_log_was_left_no_recording_is_asked_for(tmp_path: Path) -> None:
    suite_of(tmp_path, CASES, AGENT.replace("SAYS", "We have no latte. A tea?"))

    left = typed(tmp_path, "--run-name", "left")

    assert 1 == left.exit_code, left.output
    said = words(left.output)
    assert "1 conversation(s) diverged" in said
    assert "`user: {model: NAME}`" in said
    assert "harness record" not in said
    assert "None(" not in said


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        ("turns: []", "has no turns, so that no user can be played back from it"),
        ("turns:\n  - {agent: Hello.}", "turns.0.user"),
    ],
    ids=["empty", "no-user"],
)
def test_a_log_that_cannot_be_played_back_is_refused_before_anything_runs(
    tmp_path: Path, log: str, problem: str
) -> None:
    suite_of(tmp_path, CASES)
    (tmp_path / "suites/talks/log.yaml").write_text(log)

    refused = typed(tmp_path)

    assert isinstance(refused.exception, HarnessError)
    assert problem in str(refused.exception)
    assert "log.yaml" in str(refused.exception)
    assert not (tmp_path / "runs").exists()
    assert "run " not in refused.output


def test_a_log_of_a_run_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    suite_of(tmp_path, CASES)
    refused = typed(tmp_path, "--user", "logged:earlier")
    assert isinstance(refused.exception, HarnessError)
    assert "earlier" in str(refused.exception)


def test_a_missing_key_of_the_users_model_is_refused_before_anything_runs(tmp_path: Path) -> None:
    keyed = MODEL.replace("URL", "http://127.0.0.1:9/v1").replace("double: true", "api_key: KEY_OF_NOBODY")
    suite_of(tmp_path, TALK, AGENT, SUITE.replace("user: {kind: logged}", keyed))

    refused = typed(tmp_path, "--user", "model", "--live", "model").exception

    assert isinstance(refused, HarnessError)
    assert "`user`" in refused.message
    assert "KEY_OF_NOBODY" in refused.message
    assert refused.remedy is not None
    assert refused.remedy.startswith("set it, or run with --live none")
    assert not (tmp_path / "runs").exists()


def test_a_persona_of_the_suite_that_does_not_exist_is_named_in_the_suites_file(tmp_path: Path) -> None:
    suite_of(tmp_path, TALK, AGENT, SUITE.replace("{kind: logged}", "{kind: script, persona: NOBODY}"))

    refused = typed(tmp_path).exception

    assert isinstance(refused, InvalidDocument)
    assert ("suite.yaml", "user.persona") == (refused.path.name, refused.field)
    assert 1 == str(refused).count("personas: EXPERT")
