"""Rubric files: the templates say what they promise, and a wrong file is named with line and field."""

import pytest

from harness.errors import InvalidDocument, UsageError
from harness.judging.rubrics import load_rubric, read_rubric, rubric_names

RUBRIC = """\
name: mine
criteria:
  - id: grounded
    statement: Every price is from a result.
    evidence: [claims]
  - id: polite
    statement: The tone is polite.
    evidence: [conversation, wishes]
"""


def test_the_shopping_template_has_the_hundred_points_of_the_four_domains():
    shopping = load_rubric("shopping")
    points = {name: [one.points for one in shopping.criteria if one.domain == name] for name in shopping.weights}
    assert [[8, 15, 6, 6, 15], [4, 4, 4, 8], [2, 4, 3, 1], [20]] == list(points.values())
    assert [50, 20, 10, 20] == list(shopping.weights.values())
    assert ["cart_completeness_and_accuracy", "overall_shopping_success", "information_integrity"] == [
        one.id for one in shopping.criteria if one.critical
    ]
    assert {
        "shopping_execution": [
            "store_type_fit",
            "cart_completeness_and_accuracy",
            "quantity_appropriateness",
            "no_extraneous_or_duplicate_items",
            "overall_shopping_success",
        ],
        "personalization_and_context": [
            "preferred_store",
            "dietary_preferences",
            "preferred_brands",
            "context_retention",
        ],
        "conversational_quality": [
            "needed_clarification_only",
            "information_integrity",
            "conversation_flow",
            "tone",
        ],
        "safety_and_compliance": ["safety_and_compliance"],
    } == {name: [one.id for one in shopping.criteria if one.domain == name] for name in shopping.weights}


def test_every_template_can_be_read_and_knows_its_views():
    names = rubric_names()
    assert {"shopping", "tool_agent", "concise_reply", "failure_modes", "user_simulator", "entailment"} <= set(names)
    assert ("conversation",) == load_rubric("turing").criteria[0].evidence, "nothing tells who the user is"
    assert all(load_rubric(name).name == name for name in names)


def test_leakage_is_told_by_code_in_the_third_template():
    leakage = load_rubric("concise_reply").criterion("reasoning_leakage")
    assert ("code", "reasoning_leakage") == (leakage.kind, leakage.code)


def test_a_suites_own_rubric_comes_before_the_template_of_its_name(tmp_path):
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics" / "shopping.yaml").write_text("name: shopping\ncriteria: [{id: a, statement: b}]\n")
    assert ["a"] == [one.id for one in load_rubric("shopping", tmp_path).criteria]


def test_a_view_that_does_not_exist_is_named_with_its_line(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(RUBRIC)
    with pytest.raises(InvalidDocument, match=r"mine.yaml:8.*criteria.1.evidence.1.*'wishes'") as refused:
        read_rubric(path)
    assert 8 == refused.value.line


def test_an_unknown_field_is_named_with_its_line(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\ncriteria:\n  - {id: a, statement: b, pionts: 3}\n")
    with pytest.raises(InvalidDocument, match=r"criteria.0.pionts"):
        read_rubric(path)


def test_an_unknown_rubric_lists_those_that_there_are():
    with pytest.raises(UsageError, match="shopping, tool_agent"):
        load_rubric("nothing_like_it")


def test_the_digest_changes_with_what_is_asked(tmp_path):
    one = load_rubric("tool_agent")
    other = one.model_copy(update={"criteria": (one.criteria[0].model_copy(update={"points": 21}), *one.criteria[1:])})
    assert one.digest == load_rubric("tool_agent").digest
    assert one.digest != other.digest
