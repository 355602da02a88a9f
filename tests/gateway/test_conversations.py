"""The scripted user: what is said, when it is decided, and when it is over."""

import contextlib
import http.client
import threading
import time

import pytest

from harness.suite.cases import Case
from harness.suite.conversations import Conversation
from harness.traces.projection import trajectory_from


@pytest.fixture
def talk(case: Case):
    def made(**conversation: object) -> Case:
        return case.model_copy(update={"conversation": Conversation.model_validate(conversation)})

    return made


def chat(replies: list[str], heard: list[str], calls: dict[int, tuple[str, dict]] | None = None):
    """An agent that says these replies, one to each message."""

    def play(agent) -> None:
        for number, reply in enumerate([*replies, None]):
            status, turn = agent.ask("GET", "/turn")
            if status == 204:
                return
            heard.append(turn["message"])
            if calls and number in calls:
                agent.call(calls[number][0], **calls[number][1])
            assert reply is not None, "the user spoke more often than expected"
            agent.ask("POST", "/reply", {"message": reply})

    return play


def test_a_turn_is_said_when_its_condition_holds_and_only_once(run, talk) -> None:
    heard: list[str] = []
    case = talk(
        turns=[
            {"when": {"contains": "which size"}, "say": "Large."},
            {"when": {"contains": "ANYTHING else", "regex": "(?s)^(?!.*sorry)"}, "say": "That is all.", "end": True},
        ]
    )
    record = run("sealed", chat(["Which size?", "Large it is. Anything else?", "Bye."], heard), case=case)

    assert ["One egg, please.", "Large.", "That is all."] == heard
    assert ("Bye.", ()) == (record.final_reply, record.unsaid_turns)
    steps = trajectory_from(record.spans).steps
    assert ["user", "agent"] * 3 == [step.source for step in steps]


def test_what_the_agent_has_done_is_a_condition_and_a_refused_call_is_not_done(run, talk) -> None:
    heard: list[str] = []
    turns = [{"when": {"called": "add"}, "say": "Thanks."}, {"when": {"not_called": ["add"]}, "say": "Go on."}]
    calls = {0: ("add", {"wrong": 1}), 1: ("add", {"item": "egg"})}
    run("sealed", chat(["a", "b", "c"], heard, calls), case=talk(turns=turns))

    assert ["One egg, please.", "Go on.", "Thanks."] == heard


def test_no_condition_that_holds_ends_it_and_what_was_left_is_told(run, talk) -> None:
    heard: list[str] = []
    turns = [
        {"when": {"regex": r"total is \d+\.\d\d"}, "say": "Here you are."},
    ]
    record = run("sealed", chat(["I do not know."], heard), case=talk(turns=turns))

    assert ["One egg, please."] == heard
    assert 1 == len(record.unsaid_turns)
    assert record.unsaid_turns[0].startswith("Here you are.")


def test_no_more_messages_than_max_turns(run, talk) -> None:
    heard: list[str] = []
    case = talk(turns=[{"say": str(n)} for n in range(5)], max_turns=3)
    run("sealed", chat(["a"] * 5, heard), case=case)

    assert ["One egg, please.", "0", "1"] == heard


def test_a_plan_is_not_followed_and_the_record_says_so(run, talk) -> None:
    record = run("sealed", chat(["Hello."], []), case=talk(plan="Order as last time.", max_turns=4))

    assert ("the plan, which needs a user who is not a script: Order as last time.",) == record.unsaid_turns


def test_a_script_that_plays_a_plan_leaves_nothing_unsaid(run, talk) -> None:
    case = talk(plan="Order as last time.", turns=[{"say": "As last time."}], max_turns=4)
    record = run("sealed", chat(["Hello.", "Done."], []), case=case)

    assert () == record.unsaid_turns


def test_turn_waits_for_the_reply(run, agent, talk) -> None:
    def play(first) -> None:
        first.ask("GET", "/turn")
        waiting: list[tuple[int, object]] = []
        thread = threading.Thread(target=lambda: waiting.append(first.ask("GET", "/turn")))
        thread.start()
        time.sleep(0.2)
        assert [] == waiting
        second.append(agent(sockets[0]))
        second[0].ask("POST", "/reply", {"message": "hm"})
        thread.join(60)
        assert "More." == waiting[0][1]["message"]

    second: list = []
    sockets = []

    def with_socket(first) -> None:
        sockets.append(first._connection._path)
        play(first)

    run("sealed", with_socket, case=talk(turns=[{"say": "More."}]))


def test_a_trial_that_ends_lets_nobody_wait(run, talk) -> None:
    threads = []
    began = time.monotonic()

    def play(agent) -> None:
        agent.ask("GET", "/turn")

        def wait() -> None:
            with contextlib.suppress(OSError, http.client.HTTPException):  # the connection may end before the answer
                agent.ask("GET", "/turn")

        threads.append(threading.Thread(target=wait))
        threads[0].start()
        time.sleep(0.1)

    run("sealed", play, case=talk(turns=[{"say": "More."}]))
    threads[0].join(60)
    assert not threads[0].is_alive()
    assert time.monotonic() - began < 60
