"""The two order takers, as programs of their own, against the real service."""

from statistics import fmean

import pytest
import yaml

from tests.suites.drive_thru.conftest import PROJECT

HELDOUT = PROJECT / "tests" / "suites" / "drive_thru" / "heldout.yaml"


@pytest.fixture(scope="module")
def served(suite, serve_guests):
    """Every case served by every version."""
    return {version: serve_guests(version, [case.task for case in suite.cases]) for version in suite.agents}


@pytest.mark.slow
def test_no_version_invents_an_item(suite, served, checks):
    for visits in served.values():
        for case, visit in zip(suite.cases, visits, strict=True):
            assert checks.NoHallucinatedItems().measure(visit.evidence(case, suite.tools))[0] == 1.0


@pytest.mark.slow
def test_the_same_guest_is_served_the_same_way_again(suite, served, serve_guests):
    again = serve_guests("v2", [case.task for case in suite.cases[-3:]])
    assert [(visit.calls, visit.replies, visit.thoughts) for visit in again] == [
        (visit.calls, visit.replies, visit.thoughts) for visit in served["v2"][-3:]
    ]


@pytest.mark.slow
def test_the_second_version_is_better_with_guests_that_it_was_not_written_for(suite, serve_guests, checks):
    guests = yaml.safe_load(HELDOUT.read_text(encoding="utf-8"))
    assert len(guests) == 40
    averages = {}
    for version in suite.agents:
        visits = serve_guests(version, [guest["message"] for guest in guests])
        scores = []
        for guest, visit in zip(guests, visits, strict=True):
            case = suite.cases[0].model_copy(update={"expected": guest["expected"]})
            scores.append(checks.OrderCorrectness().measure(visit.evidence(case, suite.tools))[0])
        averages[version] = round(fmean(scores), 3)
    assert averages == {"v1": 0.664, "v2": 0.857}


def test_a_menu_that_does_not_answer_is_told_to_the_guest(menu, suite, serve_guests):
    too_long = "I'd like " + "very " * 60 + "good pancakes"
    (visit,) = serve_guests("v2", [too_long])
    assert visit.calls[-1][2][0] == 422
    assert visit.replies[-1].startswith("I'm sorry, something is wrong with the menu")


def test_serving_goes_on_until_the_guest_has_said_everything(serve_guests):
    (visit,) = serve_guests("v2", ["Hi there, good morning!"])
    assert visit.replies == ["Good morning! What can I get for you?"]
    assert visit.calls == []
