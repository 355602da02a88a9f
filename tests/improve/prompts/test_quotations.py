"""What no prompt may quote of the cases that it is measured by."""

from harness.improve.invocations import AgentInvocation
from harness.improve.opening import said_in
from harness.suite.cases import Case
from harness.suite.conversations import CaseUser, Conversation, UserTurn


def test_all_that_a_case_holds_in_words_is_kept_from_prompts():
    talk = Conversation(plan="Buy a kettle for the office.", turns=(UserTurn(say="A blue one."),))
    case = Case(id="a", task="Hello.", conversation=talk, user=CaseUser(withhold=("My name is Ana.",)))
    assert {"Hello.", "Buy a kettle for the office.", "A blue one.", "My name is Ana."} == set(said_in(case))


def test_the_requests_that_a_component_is_measured_by_are_kept_from_its_prompt():
    invocation = AgentInvocation(
        case_id="a", agent="cart", number=1, step=1, given="Add: two kettles.", before=(), calls=(), returned=None
    )
    assert ("A kettle.", "Add: two kettles.") == said_in(Case(id="a", task="A kettle."), [invocation])
