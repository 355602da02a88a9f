"""The prompt registry: files by name and version, labels that move, versions that do not."""

import re

import pytest

from harness.errors import InvalidDocument, UsageError
from harness.judging.prompts import PromptRegistry


@pytest.fixture
def registry(tmp_path):
    return PromptRegistry(tmp_path)


def test_a_label_names_a_version(registry):
    registry.write("greeter", "1", "Say hello.")
    registry.write("greeter", "2", "Say good morning.")
    registry.set_label("greeter", "production", "1")
    registry.set_label("greeter", "candidate", "2")
    assert "Say hello." == registry.get("greeter").text
    assert ("2", "candidate") == (
        registry.get("greeter", "candidate").version,
        registry.get("greeter", "candidate").label,
    )


def test_a_label_that_nobody_set_is_refused_or_falls_back_to_production(registry):
    registry.write("greeter", "1", "Say hello.")
    registry.write("greeter", "2", "Say good morning.")
    registry.set_label("greeter", "production", "1")
    with pytest.raises(UsageError, match="no version of the prompt 'greeter' has the label 'candidate'"):
        registry.get("greeter", "candidate")
    assert "1" == registry.get("greeter", "candidate", fallback="Hi.").version


def test_without_labels_the_newest_version_counts_by_number(registry):
    for version in ("9", "10", "draft"):
        registry.write("greeter", version, f"Version {version}.")
    assert ("9", "10", "draft") == registry.versions("greeter")
    registry.set_label("greeter", "production", "10")
    assert "10" == registry.get("greeter").version


def test_a_prompt_that_is_nowhere_falls_back_to_the_callers_text(registry):
    assert ("fallback", "Hello.") == (
        registry.get("nobody", fallback="Hello.").version,
        registry.get("nobody", fallback="Hello.").text,
    )
    with pytest.raises(UsageError, match=r"prompts/nobody/1\.md"):
        registry.get("nobody")


def test_a_projects_prompt_comes_before_the_packages(registry):
    assert "package" == registry.get("judge").source
    registry.write("judge", "1", "Judge otherwise.")
    assert ("project", "Judge otherwise.") == (registry.get("judge").source, registry.get("judge").text)


def test_the_shopping_judge_is_there_in_two_versions():
    registry = PromptRegistry(__import__("pathlib").Path("/nonexistent"))
    assert {"plain", "grounded"} == set(registry.versions("shopping-judge"))
    assert "grounded" == registry.get("shopping-judge").version
    assert "Options that were shown" not in registry.version("shopping-judge", "plain").text


def test_a_version_never_changes(registry):
    registry.write("greeter", "1", "Say hello.")
    registry.write("greeter", "1", "Say hello.")
    with pytest.raises(UsageError, match="new version"):
        registry.write("greeter", "1", "Say goodbye.")


def test_a_label_cannot_name_what_is_not_there(registry):
    registry.write("greeter", "1", "Say hello.")
    with pytest.raises(UsageError, match="'2'"):
        registry.set_label("greeter", "production", "2")


@pytest.mark.parametrize("name", ["../secrets", "a/b", "", ".hidden", "a" * 200])
def test_a_name_cannot_leave_the_folder(registry, name):
    with pytest.raises(UsageError, match=re.escape(repr(name))):
        registry.get(name)


@pytest.mark.parametrize(("content", "problem"), [(b"\xff\xfe", "UTF-8"), (b"  \n", "is empty")])
def test_a_file_that_is_no_prompt_is_named(registry, tmp_path, content, problem):
    folder = tmp_path / "prompts" / "broken"
    folder.mkdir(parents=True)
    (folder / "1.md").write_bytes(content)
    with pytest.raises(InvalidDocument, match=problem):
        registry.get("broken")
