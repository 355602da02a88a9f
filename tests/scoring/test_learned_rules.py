"""Rules learned from passing trials: what is learned, which change of behaviour breaks one, and where."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.runs.store.folder import RunFolder
from harness.scoring.rules.language import has_words
from tests.walks.conftest import Walk, walk

__all__ = ["walk"]

Calls = list[tuple[str, dict[str, Any], Any]]
Change = Callable[[Calls], Calls]


def refund_calls(number: int) -> Calls:
    """What a passing agent does: it reads the order, checks the policy of its product, and pays what is allowed."""
    order, product, limit = f"ORD-{4100 + 7 * number}", f"prod_{chr(97 + number % 26)}{number}", 20.5 + 3 * number
    read = {"order": {"id": order, "lines": [{"product": product, "price": limit + 1.25}]}, "max_refund": limit}
    return [
        ("get_order", {"order_id": order}, read),
        ("check_policy", {"product": product}, {"product": product, "days": 30}),
        ("refund", {"order_id": order, "amount": limit}, {"done": True}),
    ]


TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("get_order", "check_policy", "refund", "close_account")
]


def conversation(number: int, calls: Calls, reward: int = 1) -> str:
    order = refund_calls(number)[0][1]["order_id"]
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"I want my money back for {order}, all 99 of it."}]
    for place, (name, arguments, answer) in enumerate(calls):
        call = {"id": f"c{place}", "type": "function"}
        call["function"] = {"name": name, "arguments": json.dumps(arguments)}  # type: ignore[assignment]
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{place}", "content": json.dumps(answer)})
    messages.append({"role": "assistant", "content": "Done."})
    return json.dumps({"id": f"case-{number:02}", "messages": messages, "tools": TOOLS, "reward": reward})


def imported(walk: Walk, run: str, records: Sequence[str]) -> None:
    path = walk.folder / "trials.jsonl"
    path.write_text("\n".join(records) + "\n", encoding="utf-8")
    walk("import", "openai-chat", path.name, "--suite", "refunds", "--run-name", run)


def broken(walk: Walk, run: str) -> dict[str, int | None]:
    """The broken rules of a run's first trial, by text, with their steps."""
    (card, *_) = RunFolder.open(walk.folder / "runs" / run).scorecards()
    return {one.rule: one.step for one in card.rules if one.state == "broken"}


def without(name: str) -> Change:
    return lambda calls: [call for call in calls if call[0] != name]


def argument(name: str, key: str, value: Any) -> Change:
    return lambda calls: [
        (tool, {**given, key: value} if tool == name else given, answer) for tool, given, answer in calls
    ]


def lacking(name: str, key: str) -> Change:
    return lambda calls: [
        (tool, {at: one for at, one in given.items() if (tool, at) != (name, key)}, answer)
        for tool, given, answer in calls
    ]


def swapped(calls: Calls) -> Calls:
    return [calls[0], calls[2], calls[1]]


def with_extra(name: str, arguments: dict[str, Any]) -> Change:
    return lambda calls: [*calls, (name, arguments, {"done": True})]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """A project with the rules of ten passing trials of as many cases."""
    walk = Walk(tmp_path_factory.mktemp("learned"))
    imported(walk, "base", [conversation(number, refund_calls(number)) for number in range(10)])
    walk("rules", "learn", "refunds", "--from", "base")
    imported(walk, "same", [conversation(10, refund_calls(10))])
    assert not broken(walk, "same")
    return walk


@pytest.mark.parametrize(
    ("change", "rule", "step"),
    [
        (without("check_policy"), "require check_policy", 3),
        (swapped, "check_policy before refund", 2),
        (argument("refund", "amount", 99), "refund(amount) is get_order->max_refund of the same order_id", 3),
        (argument("refund", "order_id", "ORD-1"), "refund(order_id) is the user's", 3),
        (
            argument("check_policy", "product", "prod_zz"),
            "check_policy(product) is get_order->order.lines.*.product",
            2,
        ),
        (with_extra("close_account", {"order_id": "ORD-4170"}), "only check_policy, get_order, refund", 4),
        (without("refund"), "last refund", 2),
        (lacking("refund", "amount"), "refund(amount) is get_order->max_refund of the same order_id", 3),
    ],
    ids=["skipped", "late", "amount", "other order", "invented", "other tool", "stopped early", "lacking"],
)
def test_a_change_of_behaviour_breaks_a_rule_at_its_step(
    learned: Walk, change: Change, rule: str, step: int, request: pytest.FixtureRequest
) -> None:
    run = request.node.callspec.id.replace(" ", "-")
    imported(learned, run, [conversation(10, change(refund_calls(10)))])

    found = broken(learned, run)

    assert any(text.startswith(rule) and at == step for text, at in found.items()), found
    assert rule in learned("explain", run, "case-10").stdout


@pytest.mark.parametrize(
    ("change", "step"),
    [(swapped, 2), (argument("refund", "amount", 99), 3), (with_extra("close_account", {}), 4)],
    ids=["late", "amount", "other tool"],
)
def test_a_failed_trial_is_explained_by_the_first_call_that_breaks_a_rule_of_its_case(
    walk: Walk, change: Change, step: int
) -> None:
    imported(walk, "base", [conversation(1, refund_calls(1))] * 3)
    walk("rules", "learn", "refunds")
    imported(walk, "failed", [conversation(1, change(refund_calls(1)), reward=0)])

    (first, *_) = json.loads(walk("explain", "failed", "case-01", "--json").stdout)["suspects"]

    assert ("broken_rule", step) == (first["kind"], first["step"])
    assert "held in 3 of 3 passing trials of 1 case" in first["reason"]


def test_a_call_with_other_arguments_is_named_and_not_the_end(walk: Walk) -> None:
    twice = [*refund_calls(1), *refund_calls(2)]
    imported(walk, "base", [conversation(1, twice)] * 3)
    walk("rules", "learn", "refunds")

    imported(walk, "other", [conversation(1, [*refund_calls(1), *argument("refund", "amount", 9)(refund_calls(2))])])
    imported(walk, "short", [conversation(1, twice[:-1])])

    (other,), (short,) = (
        {at for text, at in broken(walk, run).items() if text.startswith("require refund{")}
        for run in ("other", "short")
    )
    assert (6, 6) == (other, short)  # the call itself; nothing was made instead, so that the end is named


def test_only_passing_trials_teach_and_reads_in_another_order_are_no_change(walk: Walk) -> None:
    varied = [conversation(number, refund_calls(number)[:: -1 if number % 2 else 1]) for number in range(10)]
    failed = [conversation(number, [], reward=0) for number in range(10, 20)]
    imported(walk, "base", [*varied, *failed])
    walk("rules", "learn", "refunds")

    imported(walk, "next", [conversation(30, refund_calls(30)[::-1])])

    assert not broken(walk, "next")
    assert "before" not in (walk.folder / "suites/refunds/rules.yaml").read_text()


def test_a_file_is_changed_only_on_request_and_pinned_rules_stay(walk: Walk) -> None:
    imported(walk, "base", [conversation(number, refund_calls(number)) for number in range(10)])
    walk("rules", "learn", "refunds")
    path = walk.folder / "suites/refunds/rules.yaml"
    first = path.read_text()
    walk("rules", "learn", "refunds")  # the same trials teach the same, to the byte

    pinned = first.replace("'last refund', cases: 10, trials: 10", "'last refund', cases: 10, trials: 10, pinned: true")
    path.write_text(pinned.replace("'require check_policy'", "'require check_policies'"))
    imported(
        walk, "more", [conversation(number, [*refund_calls(number), refund_calls(number)[0]]) for number in (1, 2)]
    )
    said = walk("rules", "learn", "refunds", status=1).stdout
    kept = path.read_text()
    walk("rules", "learn", "refunds", "--update")

    assert "new     suite: require check_policy" in said
    assert "gone    suite: require check_policies" in said
    assert "'require check_policies'" in kept
    assert "'last refund', cases: 10, trials: 10, pinned: true" in path.read_text()
    assert "check_policies" not in path.read_text()


def test_comparisons_and_gates_see_a_change_that_success_does_not_show(walk: Walk) -> None:
    cases = range(10)
    imported(walk, "base", [conversation(number, refund_calls(number)) for number in cases])
    walk("rules", "learn", "refunds")
    walk("score", "base")
    imported(walk, "hasty", [conversation(number, without("check_policy")(refund_calls(number))) for number in cases])

    found = json.loads(walk("compare", "base", "hasty", "--json").stdout)
    rates = {one["metric"]: (one["before"], one["after"], one["p_corrected"]) for one in found["rules"]}
    before, after, p = rates["require check_policy"]

    assert (0.0, 1.0) == (before, after)
    assert p < 0.05
    assert found["success"]["before"] == found["success"]["after"]
    assert {one["metric"]: one["after"] for one in found["metrics"]}["rules_held"] < 1
    walk("report", "hasty")
    walk("report", "hasty", "--html", "-o", "hasty.html")
    written = [walk.folder / "runs/hasty/report/junit.xml", walk.folder / "runs/hasty/report/summary.md"]
    shown = [*(path.read_text() for path in (*written, walk.folder / "hasty.html"))]
    for text in (*shown, walk("compare", "base", "hasty", "--format", "comment").stdout):
        assert "require check" in text.replace("\\", "")
        assert "held in 10 of 10 passing trials" in text


def test_a_wrong_line_is_refused_with_its_place(walk: Walk) -> None:
    imported(walk, "base", [conversation(number, refund_calls(number)) for number in range(5)])
    path = walk.folder / "suites/refunds/rules.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("suite:\n  - {rule: refund after check_policy}\n")

    said = walk("score", "base", status=2).stderr

    assert "suites/refunds/rules.yaml:2" in said
    assert "suite.0.rule" in said


def test_without_passing_trials_there_is_nothing_to_learn(walk: Walk) -> None:
    imported(walk, "base", [conversation(1, refund_calls(1), reward=0)])

    assert "no trial of suite 'refunds' passed" in walk("rules", "learn", "refunds", status=2).stderr
    assert "no run of suite 'others'" in walk("rules", "learn", "others", status=2).stderr


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("order W1000001.", True),
        ("w1000001", True),
        ("order W10000012", False),
        ("order XW1000001", False),
        ("W10000012, not W1000001", True),
    ],
)
def test_a_value_is_named_if_it_stands_by_itself(text: str, stands: bool) -> None:
    assert stands is has_words(text, "W1000001")
