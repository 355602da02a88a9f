"""The verifier `reference_state` on evidence built by hand: what is compared, and what is not."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from harness.sandbox.tables import Table, changes
from harness.scoring.evidence import Evidence, ReferenceState
from harness.scoring.registry import VERIFIERS
from harness.suite.cases import SqlProbe, StateProbe
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.traces.trial import EndState, FileChange

Build = Callable[..., Evidence]
LOOK = ToolSpec.model_validate(
    {
        "name": "look",
        "effect": "read",
        "server": "s",
        "http": {"path": "/look"},
        "volatile": ["/now"],
        "generated_ids": ["/orders/*/id"],
    }
)
PROBE = StateProbe(name="shop", tool="look")
TABLES = StateProbe(name="shop", sql=SqlProbe(service="db", tables=("*",)))
QUERY = StateProbe(name="shop", sql=SqlProbe(service="db", query="select 1"))
ORDERS: dict[str, Any] = {
    "now": 1,
    "orders": [{"id": "o-1", "item": "tea", "n": 1}, {"id": "o-2", "item": "oats", "n": 2}],
}


def told(
    build: Build, got: Any, wanted: Any, probe: StateProbe = PROBE, **rule: Any
) -> tuple[bool | None, str, dict[str, Any]]:
    made = build(states={} if got is None else {"shop": got})
    reference = ReferenceState(case_id="c", asked_digest="a", digest="d", probes=(probe,), states={"shop": wanted})
    evidence = made.model_copy(update={"reference_state": reference, "tools": (LOOK,)})
    found: tuple[bool | None, str, dict[str, Any]] = VERIFIERS["reference_state"](**rule).verify(evidence)
    return found


def with_orders(**changed: Any) -> dict[str, Any]:
    first, second = ORDERS["orders"]
    return ORDERS | {"orders": [first, {**second, **changed}]}


def told_twice(build: Build, got: Any, wanted: Any, again: Any, probe: StateProbe = PROBE) -> tuple[bool | None, str]:
    reference = ReferenceState(
        case_id="c",
        asked_digest="a",
        digest="d",
        probes=(probe,),
        states={"shop": wanted},
        states_again={"shop": again},
    )
    made = build(states={"shop": got}).model_copy(update={"reference_state": reference, "tools": (LOOK,)})
    passed, reason, _ = VERIFIERS["reference_state"]().verify(made)
    return passed, reason


@pytest.mark.parametrize("at", [4, 5, 6])
def test_what_the_reference_does_not_leave_twice_is_undecided_and_named(evidence: Build, at: int) -> None:
    first, again = ({"n": 1, "at": one} for one in (4, 5))

    passed, reason = told_twice(evidence, {"n": 1, "at": at}, first, again)
    assert passed is None
    assert "shop/at is 5, and the reference leaves 4" in reason
    assert told_twice(evidence, {"n": 2, "at": at}, first, again)[0] is False
    assert told_twice(evidence, first, first, first)[0] is True


def test_the_order_of_a_set_and_a_time_in_a_row_are_undecided(evidence: Build) -> None:
    assert (
        told_twice(evidence, {"tags": ["c", "b", "a"]}, {"tags": ["a", "b", "c"]}, {"tags": ["b", "a", "c"]})[0] is None
    )
    row = {"id": 1, "item": "tea", "n": 1}
    first, again, got = ({"rows": [{**row, "at": at}]} for at in (1, 2, 3))
    assert told_twice(evidence, got, first, again, QUERY)[0] is None
    wrong = {"rows": [{**row, "at": 3, "n": 2}]}
    assert told_twice(evidence, wrong, first, again, QUERY)[0] is False


def test_a_pointer_that_matches_nothing_is_named(evidence: Build) -> None:
    passed, reason, _ = told(evidence, {"a": 1}, {"a": 1}, ignore={"shop": ("/b",)})

    assert passed is True
    assert reason.endswith("(pointers that match nothing: shop/b)")
    assert "match nothing" not in told(evidence, {"a": 1}, {"a": 2}, ignore={"shop": ("/a",)})[1]


def test_what_a_tool_declares_to_vary_is_left_out(evidence: Build) -> None:
    passed, _, _ = told(evidence, with_orders(id="o-77") | {"now": 2}, ORDERS)
    assert passed


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (with_orders(n=3), "shop/orders/1/n is 3, and the reference leaves 2"),
        (with_orders(n=True), "shop/orders/1/n is true, and the reference leaves 2"),
        (with_orders(gift=True), "shop/orders/1/gift is there, and the reference does not leave it"),
        (ORDERS | {"orders": ORDERS["orders"][:1]}, "shop/orders has 1 items, and the reference leaves 2"),
        ({"now": 1}, "shop/orders is not there, and the reference leaves it"),
        ([], "shop is [], and the reference leaves "),
    ],
)
def test_the_first_difference_of_a_value_is_named_by_its_pointer(evidence: Build, got: Any, said: str) -> None:
    passed, reason, seen = told(evidence, got, ORDERS)
    assert (False, True) == (passed, reason.startswith(said))
    assert [reason] == seen["differences"]


def test_lists_are_compared_in_order_unless_they_are_declared_unordered(evidence: Build) -> None:
    turned = ORDERS | {"orders": ORDERS["orders"][::-1]}
    assert not told(evidence, turned, ORDERS)[0]
    assert told(evidence, turned, ORDERS, unordered={"shop": ["/orders"]})[0]
    assert told(evidence, with_orders(n=5), ORDERS, ignore={"shop": ["/orders/*/n"]})[0]


def test_answers_of_mcp_servers_are_compared_inside_of_their_texts(evidence: Build) -> None:
    got = {"content": [{"type": "text", "text": '{"n": 1, "at": "09:00"}'}]}
    wanted = {"content": [{"type": "text", "text": '{"at": "08:00",  "n": 2}'}]}
    rule = {"ignore": {"shop": ["/content/0/text/at"]}}
    assert "shop/content/0/text/n is 1, and the reference leaves 2" == told(evidence, got, wanted, **rule)[1]


def test_rows_of_a_query_are_equal_in_any_order_and_as_often_as_they_are(evidence: Build) -> None:
    rows = [{"book": "Kindred"}, {"book": "Solaris"}, {"book": "Solaris"}]
    assert told(evidence, {"rows": rows[::-1]}, {"rows": rows}, QUERY)[0]
    passed, reason, _ = told(evidence, {"rows": rows[:2]}, {"rows": rows}, QUERY)
    assert (False, 'shop: row {"book":"Solaris"} is not there, and the reference leaves it') == (passed, reason)


def tables(*rows: tuple[int, str, str], ignore: tuple[str, ...] = ()) -> dict[str, Any]:
    """The changes since two loans were there."""
    before = {"loan": table((1, "Kindred", "May"), (2, "Solaris", "May"))}
    return {"tables": changes(before, {"loan": table(*rows)}, {"loan": ignore})}


def table(*rows: tuple[int, str, str]) -> Table:
    return Table(key=("id",), rows=tuple({"id": one, "book": book, "due": due} for one, book, due in rows))


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (
            tables((1, "Kindred", "July"), (2, "Solaris", "May")),
            'shop: table \'loan\', row {"id":1}, column \'due\' is "July", and the reference leaves "June"',
        ),
        (
            tables((1, "Kindred", "May"), (2, "Solaris", "May")),
            'shop: table \'loan\', row {"id":1}, column \'due\' is "May", and the reference leaves "June"',
        ),
        (tables((1, "Kindred", "June")), 'row {"book":"Solaris","due":"May","id":2} is not there'),
        (
            tables((1, "Kindred", "June"), (2, "Solaris", "May"), (3, "Dune", "July")),
            'row {"book":"Dune","due":"July","id":3} is there, and the reference does not leave it',
        ),
    ],
)
def test_the_first_difference_of_a_table_is_named_by_row_and_column(evidence: Build, got: Any, said: str) -> None:
    wanted = tables((1, "Kindred", "June"), (2, "Solaris", "May"))
    passed, reason, _ = told(evidence, got, wanted, TABLES)
    assert passed is False
    assert said in reason


def test_generated_keys_that_the_probe_leaves_out_do_not_count(evidence: Build) -> None:
    wanted = tables((1, "Kindred", "May"), (3, "Dune", "June"), (4, "Emma", "June"), ignore=("id",))
    got = tables((5, "Kindred", "May"), (7, "Emma", "June"), (8, "Dune", "June"), ignore=("id",))
    assert told(evidence, got, wanted, TABLES)[0]


def test_more_rows_than_are_listed_still_differ(evidence: Build) -> None:
    wanted = tables(*((number, "Dune", "May") for number in range(300)))
    got = tables(*((number, "Dune", "May") for number in range(1, 301)))
    passed, reason, _ = told(evidence, got, wanted, TABLES)
    assert passed is False
    assert "table 'loan' " in reason
    assert told(evidence, wanted, wanted, TABLES)[0]


def test_without_a_reference_state_or_an_answer_the_check_is_undecided(evidence: Build) -> None:
    passed, reason, seen = VERIFIERS["reference_state"]().verify(evidence(states={"shop": ORDERS}))
    assert (None, {}) == (passed, seen)
    assert "run again" in reason
    assert (None, {}) == told(evidence, None, ORDERS)[::2]


def test_what_the_agent_made_unmeasurable_is_its_own_doing(evidence: Build) -> None:
    assert {"unmeasured_by": "agent"} == told(evidence, {"unmeasurable": "no end"}, ORDERS)[2]


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ([FileChange(path="/work/a.txt", change="added", mode=0o644, size=2, sha256="x")], None),
        ([FileChange(path="/work/a.txt", change="added", mode=0o644, size=3, sha256="y")], "/work/a.txt has other"),
        ([FileChange(path="/work/a.txt", change="added", mode=0o755, size=2, sha256="x")], "has mode 755"),
        ([FileChange(path="/work/a.txt", change="added", kind="link", link="b")], "/work/a.txt is a link"),
        ([FileChange(path="/work/a.txt", change="deleted")], "/work/a.txt was deleted, and by the reference"),
        ([], "/work/a.txt was not added"),
    ],
)
def test_changed_files_are_compared(evidence: Build, left: list[FileChange], said: str | None) -> None:
    other = FileChange(path="/work/cache/x", change="added")
    end = FileChange(path="/work/a.txt", change="added", mode=0o644, size=2, sha256="x")
    reference = ReferenceState(case_id="c", asked_digest="a", digest="d", end_state=EndState(changes=(end,)))
    made = evidence(end_state=EndState(changes=(*left, other))).model_copy(update={"reference_state": reference})
    verifier = VERIFIERS["reference_state"](files=("**",), ignore_files=("cache/**",))
    passed, reason, _ = verifier.verify(made)
    assert (said is None, True) == (passed, (said or "") in reason)


def test_an_end_state_that_is_not_complete_passes_no_check(evidence: Build) -> None:
    reference = ReferenceState(case_id="c", asked_digest="a", digest="d", end_state=EndState())
    made = evidence(end_state=EndState(complete=False)).model_copy(update={"reference_state": reference})
    passed, _, seen = VERIFIERS["reference_state"](files=("**",)).verify(made)
    assert (None, {"unmeasured_by": "agent"}) == (passed, seen)


def test_null_is_not_the_same_as_no_column(evidence: Build) -> None:
    got, wanted = {"rows": [{"id": 1, "note": None}]}, {"rows": [{"id": 1}]}
    passed, reason, _ = told(evidence, got, wanted, QUERY)
    assert passed is False
    assert "column 'note' is there" in reason
    rule = {"unordered": {"shop": ["/rows"]}}
    assert told(evidence, got, wanted, **rule)[0] is False
    assert told(evidence, wanted, got, **rule)[0] is False


def test_each_ignored_index_is_one_of_the_whole_list(evidence: Build) -> None:
    ignored = {"ignore": {"shop": ["/0", "/1", "/10"]}}
    wanted = [*range(12)]
    assert told(evidence, [-1, -1, *wanted[2:10], -1, 11], wanted, **ignored)[0]
    assert told(evidence, [0, 1, 77, *wanted[3:]], wanted, **ignored)[0] is False


def test_many_rows_that_differ_take_little_time(evidence: Build) -> None:
    got = {"rows": [{"id": number, "note": "agent" * 4, "at": number} for number in range(3000)]}
    wanted = {"rows": [{"id": -number, "note": "other" * 4, "at": -number} for number in range(1, 1500)]}
    began = time.process_time()
    passed, _, seen = told(evidence, got, wanted, QUERY)
    assert (False, 50) == (passed, len(seen["differences"]))
    assert time.process_time() - began < 5


def test_a_difference_is_told_in_one_line_of_bounded_length(evidence: Build) -> None:
    passed, reason, _ = told(evidence, ORDERS | {"\x1b[2J\n" * 50_000: 1}, ORDERS)
    assert passed is False
    assert len(reason) < 1100
    assert not {"\x1b", "\n"} & {*reason}


def test_without_the_answer_that_the_reference_had_the_check_is_undecided(evidence: Build) -> None:
    passed, reason, _ = told(evidence, ORDERS, None)
    assert passed is None
    assert "probe 'shop'" in reason


SHOP = {"name": "shop", "tool": "find"}
DATABASE = {"name": "db", "sql": {"service": "db", "query": "select 1"}}


@pytest.mark.parametrize(
    ("probes", "rule", "field"),
    [
        ([], {}, "with"),
        ([], {"files": ["*.txt"]}, None),
        ([SHOP], {}, None),
        ([SHOP], {"probes": ["absent"]}, "absent"),
        ([SHOP], {"probes": ["shop"], "ignore": {"shop": ["/n"]}}, None),
        ([SHOP], {"ignore": {"absent": ["/n"]}}, "with.ignore"),
        ([SHOP], {"unordered": {"absent": ["/n"]}}, "with.unordered"),
        ([SHOP, DATABASE], {"probes": ["db"], "ignore": {"shop": ["/n"]}}, "with.ignore"),
        ([SHOP, DATABASE], {"unordered": {"shop": ["/n"], "db": ["/n"]}}, "with.unordered: 'db'"),
    ],
)
def test_a_check_that_names_no_state_that_is_compared_is_refused_before_the_run(
    suite: Callable[..., Suite], probes: list[dict[str, Any]], rule: dict[str, Any], field: str | None
) -> None:
    built = suite()
    own = Suite.model_validate({**built.model_dump(by_alias=True), "probes": probes})
    problem = VERIFIERS["reference_state"].model_validate(rule).problem_in(own)
    assert (field is None) == (problem is None)
    assert field is None or field in problem
