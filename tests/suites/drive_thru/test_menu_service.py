"""The menu service over real HTTP, as its own process."""

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from tests.suites.drive_thru.conftest import MENU, MenuService, running_menu

_sessions = count()


@pytest.fixture
def session() -> str:
    return f"guest-{next(_sessions)}"


def found(menu: MenuService, words: str) -> list[tuple[str, str, list[str]]]:
    status, answer = menu.ask("GET", f"/menu/items?query={words.replace(' ', '+')}")
    assert status == 200
    return [(item["id"], item["match"], item["unmatched_words"]) for item in answer["items"]]


def line(item_id: str, **more: object) -> dict[str, object]:
    return {"item_id": item_id, "quantity": 1, **more}


def code(answer: tuple[int, dict]) -> tuple[int, str]:
    return answer[0], answer[1]["error"]["code"]


def test_a_lookup_shows_all_that_an_order_needs(menu):
    status, answer = menu.ask("GET", "/menu/items?query=fruit&limit=1")
    assert status == 200
    assert answer == {
        "query": "fruit",
        "items": [
            {
                "id": "fruit-cup",
                "name": "Fruit Cup",
                "category": "side",
                "price_cents": 299,
                "sizes": [{"name": "small", "price_cents": 299}, {"name": "large", "price_cents": 429}],
                "default_size": "small",
                "modifiers": [],
                "match": "exact",
                "unmatched_words": [],
            }
        ],
    }


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("OJ", ("orange-juice", "exact", [])),
        ("hashbrown", ("hash-browns", "exact", [])),
        ("SAUSAGE BISCUITS", ("sausage-biscuit", "exact", [])),
        ("sausage egg and cheese", ("sausage-egg-cheese-biscuit", "all_words", [])),
        ("oat milk latte", ("latte", "named", ["oat", "milk"])),
        ("chicken caesar wrap", ("chicken-biscuit", "some_words", ["caesar", "wrap"])),
    ],
)
def test_a_lookup_says_how_the_best_item_fits(menu, words, first):
    assert found(menu, words)[0] == first


@pytest.mark.parametrize(
    "query", ["", "query=", "query=+", "query=tea&limit=0", "query=tea&limit=11", "query=" + "a" * 201]
)
def test_a_lookup_without_words_or_with_a_bad_limit_is_refused(menu, query):
    assert code(menu.ask("GET", f"/menu/items?{query}")) == (422, "invalid_request")


def test_an_item_without_a_size_gets_its_default_and_the_price_of_its_changes(menu, session):
    body = line("latte", quantity=2, modifiers=["extra shot", "oat milk"])
    assert menu.ask("POST", "/order/items", body, session) == (
        200,
        {
            "status": "open",
            "items": [
                {
                    "item_id": "latte",
                    "name": "Latte",
                    "quantity": 2,
                    "size": "medium",
                    "modifiers": ["oat milk", "extra shot"],
                    "price_cents": 1118,
                }
            ],
            "total_cents": 1118,
        },
    )


def test_an_equal_line_grows_and_another_size_is_another_line(menu, session):
    for size in ("medium", None, "large"):
        menu.ask("POST", "/order/items", line("mocha", size=size), session)
    order = menu.ask("GET", "/order", session=session)[1]
    assert [(item["size"], item["quantity"]) for item in order["items"]] == [("medium", 2), ("large", 1)]


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (line("unicorn"), (404, "unknown_item")),
        (line("latte", size="jumbo"), (422, "size_not_offered")),
        (line("glazed-donut", size="large"), (422, "size_not_offered")),
        (line("latte", modifiers=["extra salsa"]), (422, "modifier_not_offered")),
        (line("latte", modifiers=["sugar", "sugar"]), (422, "invalid_request")),
        (line("latte", modifiers="sugar"), (422, "invalid_request")),
        (line("latte", quantity=0), (422, "invalid_request")),
        (line("latte", quantity=True), (422, "invalid_request")),
        (line("latte", quantity=51), (422, "invalid_request")),
        (line("latte", note="hot"), (422, "invalid_request")),
        ({"quantity": 1}, (422, "invalid_request")),
        ([], (400, "not_json")),
        (b"{", (400, "not_json")),
        (b"\xff", (400, "not_json")),
        (b"[" * 60_000, (400, "not_json")),
        (b" " * 70_000, (413, "too_large")),
    ],
)
def test_a_wrong_line_is_refused_and_orders_nothing(menu, session, body, refusal):
    assert code(menu.ask("POST", "/order/items", body, session)) == refusal
    assert menu.ask("GET", "/order", session=session) == (200, {"status": "open", "items": [], "total_cents": 0})


def test_an_empty_order_cannot_be_finalized(menu, session):
    assert code(menu.ask("POST", "/order/finalize", session=session)) == (409, "empty_order")


def test_a_finalized_order_takes_no_more_changes(menu, session):
    menu.ask("POST", "/order/items", line("oatmeal"), session)
    status, order = menu.ask("POST", "/order/finalize", session=session)
    assert (status, order["status"], order["total_cents"]) == (200, "finalized", 329)
    assert code(menu.ask("POST", "/order/items", line("oatmeal"), session)) == (409, "already_finalized")
    assert code(menu.ask("POST", "/order/finalize", session=session)) == (409, "already_finalized")
    assert menu.ask("GET", "/order", session=session) == (200, order)


def test_orders_of_sessions_at_the_same_time_stay_apart(menu, session):
    def order(number: int) -> list[tuple[str, int]]:
        own = f"{session}-{number}"
        for item_id in ("oatmeal", "milk", "oatmeal"):
            menu.ask("POST", "/order/items", line(item_id, quantity=number), own)
        return [(item["item_id"], item["quantity"]) for item in menu.ask("GET", "/order", session=own)[1]["items"]]

    with ThreadPoolExecutor(8) as pool:
        orders = list(pool.map(order, range(1, 17)))
    assert orders == [[("oatmeal", 2 * number), ("milk", number)] for number in range(1, 17)]


def test_a_session_without_a_name_is_the_default_one(tmp_path):
    with running_menu(tmp_path / "own.sqlite") as menu:
        menu.ask("POST", "/order/items", line("milk"))
        assert menu.ask("GET", "/order") == menu.ask("GET", "/order", session="default")
        assert menu.ask("GET", "/order", session="another")[1]["items"] == []


def test_no_answer_holds_the_session(menu):
    answers = [
        menu.ask("POST", "/order/items", line("milk"), "a-very-own-session"),
        menu.ask("POST", "/order/items", line("unicorn"), "a-very-own-session"),
        menu.ask("GET", "/order", session="a-very-own-session"),
    ]
    assert "a-very-own-session" not in str(answers)


def test_a_body_of_unknown_length_is_refused(menu):
    with socket.create_connection(("127.0.0.1", menu.port), timeout=60) as raw:
        raw.sendall(b"POST /order/items HTTP/1.1\r\nHost: menu\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        assert raw.makefile("rb").readline() == b"HTTP/1.1 411 Length Required\r\n"


def test_a_service_restored_from_a_dump_goes_on_where_it_stood_and_dumps_the_same(tmp_path):
    with running_menu(tmp_path / "first.sqlite") as first:
        first.ask("POST", "/order/items", line("latte", modifiers=["oat milk"]), "guest's")
        order = first.ask("GET", "/order", session="guest's")
        (tmp_path / "state.sql").write_text(first.dump(), encoding="utf-8")
    with running_menu(tmp_path / "second.sqlite", tmp_path / "state.sql") as second:
        assert second.ask("GET", "/order", session="guest's") == order
        assert second.dump() == (tmp_path / "state.sql").read_text(encoding="utf-8")
        assert second.ask("POST", "/order/finalize", session="guest's")[0] == 200


def test_orders_in_another_sequence_of_sessions_dump_the_same(tmp_path):
    dumps = []
    for sessions in (("a", "b"), ("b", "a")):
        with running_menu(tmp_path / "-".join(sessions)) as menu:
            for session in sessions:
                menu.ask("POST", "/order/items", line("milk"), session)
            dumps.append(menu.dump())
    assert dumps[0] == dumps[1]


@pytest.mark.parametrize(
    ("options", "says"), [((), "--seed"), (("--dump", "--database", "nowhere.sqlite"), "nowhere.sqlite")]
)
def test_a_command_that_cannot_work_says_why(options, says):
    command = [sys.executable, "-m", "menu_service", *options]
    done = subprocess.run(command, cwd=MENU, env={}, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_line_is_changed_or_taken_off_by_what_it_is(menu, session):
    for size in ("small", "large"):
        menu.ask("POST", "/order/items", line("iced-coffee", size=size, quantity=2), session)
    status, order = menu.ask("PUT", "/order/items", line("iced-coffee", size="large", quantity=5), session)
    assert (200, [("small", 2), ("large", 5)]) == (status, [(one["size"], one["quantity"]) for one in order["items"]])
    status, order = menu.ask("PUT", "/order/items", line("iced-coffee", size="small", quantity=0), session)
    assert (200, ["large"]) == (status, [one["size"] for one in order["items"]])
    assert order["total_cents"] == sum(one["price_cents"] for one in order["items"])


def test_a_change_of_what_is_not_there_or_is_finalized_is_refused(menu, session):
    menu.ask("POST", "/order/items", line("oatmeal"), session)
    change = line("oatmeal", quantity=0)
    assert (404, "not_on_order") == code(menu.ask("PUT", "/order/items", line("milk", quantity=1), session))
    assert (404, "unknown_item") == code(menu.ask("PUT", "/order/items", line("unicorn", quantity=1), session))
    assert (422, "invalid_request") == code(menu.ask("PUT", "/order/items", line("oatmeal", quantity=-1), session))
    assert (422, "invalid_request") == code(menu.ask("POST", "/order/items", change, session))
    menu.ask("POST", "/order/finalize", session=session)
    assert (409, "already_finalized") == code(menu.ask("PUT", "/order/items", change, session))
